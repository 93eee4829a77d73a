//! Why a driver call could not be carried out this time.

use crate::model::Problems;
use crate::retry::Retry;
use crate::secret_store::SecretStoreError;

use super::CheckpointError;

/// An error of one driver call, as opposed to the failure of a change ([`Failure`](super::Failure)): after most of these the engine calls again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The input names things that do not exist or do not fit; all problems at once.
    #[error("{0}")]
    Invalid(#[from] Problems),
    /// The driver does not do this.
    #[error("driver {driver} does not support {what}")]
    Unsupported {
        /// The driver.
        driver: String,
        /// What it does not do.
        what: String,
    },
    /// A service did not answer, or asked for patience. Counted, shown, and tried again until the change's deadline (rule `SM-08`).
    #[error("{service} is not available: {reason}")]
    Unavailable {
        /// The service.
        service: String,
        /// What happened, free of secrets.
        reason: String,
        /// What the service said about trying again.
        retry: Retry,
        /// The error behind.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The lease is lost: stop, another engine goes on.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A secret could not be read or written.
    #[error(transparent)]
    Secret(#[from] SecretStoreError),
    /// The driver met what it cannot explain; the change fails with this text.
    #[error("{what}")]
    Internal {
        /// What happened, free of secrets.
        what: String,
        /// The error behind.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl DriverError {
    /// Whether calling again may help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Invalid(_) | Self::Unsupported { .. } | Self::Internal { .. } => Retry::Never,
            Self::Unavailable { retry, .. } => *retry,
            Self::Checkpoint(error) => error.retry(),
            Self::Secret(error) => error.retry(),
        }
    }

    /// A driver's own fault, with a text.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal {
            what: what.into(),
            source: None,
        }
    }
}
