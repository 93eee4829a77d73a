//! What can be wrong with the input of a rendering.

use thiserror::Error;

/// A rendering was refused.
///
/// Nothing here is worth a retry with the same input: every variant names what has to change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The input is contradictory or malformed. All problems are listed.
    #[error("node bootstrap of {subject}: {}", problems.join("; "))]
    Invalid {
        /// The node group or the node.
        subject: String,
        /// Every problem found, one sentence each, without secrets.
        problems: Vec<String>,
    },
    /// The user-data is longer than Nova accepts.
    #[error(
        "user-data of {subject} has {actual} bytes, Nova takes {limit} (65535 after base64); \
         the largest parts are {}",
        largest.iter().map(|(path, bytes)| format!("{path} ({bytes} bytes)")).collect::<Vec<_>>().join(", ")
    )]
    TooLarge {
        /// The node group or the node.
        subject: String,
        /// Bytes of the rendered text, the signal map included.
        actual: usize,
        /// Bytes allowed.
        limit: usize,
        /// The largest files of the text with their rendered size, largest first.
        largest: Vec<(String, usize)>,
    },
    /// A parameter that the shared text wants was not given, or one was given that it does not know.
    #[error("user-data of {subject}: {problem}")]
    Parameters {
        /// The node.
        subject: String,
        /// What is missing or superfluous.
        problem: String,
    },
    /// A document could not be serialised.
    #[error("could not write {document}: {reason}")]
    Serialize {
        /// The document, for instance `kubeadm.yaml`.
        document: &'static str,
        /// The serialiser's reason.
        reason: String,
    },
}
