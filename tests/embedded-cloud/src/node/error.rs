//! Errors of the simulator itself (a node's failure is a signal, not an error).

use std::path::PathBuf;

/// Why a simulator could not start or reach its cloud.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulatorError {
    /// A listening socket could not be opened.
    #[error("cannot listen on {address} for the {what}")]
    Listen {
        /// What was to listen.
        what: &'static str,
        /// Address and port.
        address: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The journal could not be read or written.
    #[error("journal {path}: {reason}")]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The OpenStack did not answer as expected.
    #[error("{operation}: {reason}")]
    Cloud {
        /// What was asked.
        operation: String,
        /// What came back.
        reason: String,
    },
    /// A Kubernetes stand-in could not be started.
    #[error("Kubernetes stand-in of cluster {cluster}: {reason}")]
    Kubernetes {
        /// Cluster id.
        cluster: String,
        /// Cause in words.
        reason: String,
    },
}
