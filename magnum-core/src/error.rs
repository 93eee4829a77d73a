//! Why a call of the engine was not carried out.

use crate::credential::CredentialError;
use crate::driver::{Capability, ChangeKind, DriverError, RegistryError};
use crate::id::OperationId;
use crate::model::Problems;
use crate::retry::Retry;
use crate::secret_store::SecretStoreError;
use crate::state::Status;
use crate::store::StoreError;

/// Why a call was not carried out. Texts are safe to show to users; what is behind is the error's source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input breaks rules; all of them at once.
    #[error("{0}")]
    Invalid(#[from] Problems),
    /// There is none, or it belongs to another project, which looks the same.
    #[error("no {kind} is named {name:?}")]
    NotFound {
        /// What was looked for.
        kind: &'static str,
        /// The name or id.
        name: String,
    },
    /// Several have the name.
    #[error("several {kind}s are named {name:?}: use an id: {}", ids.join(", "))]
    Ambiguous {
        /// What was looked for.
        kind: &'static str,
        /// The name.
        name: String,
        /// The ids of those that have it.
        ids: Vec<String>,
    },
    /// Another operation has what this change needs.
    #[error("cluster {cluster}: {change} has to wait for operation {operation} ({running})")]
    Conflict {
        /// The cluster's name.
        cluster: String,
        /// What was asked for.
        change: ChangeKind,
        /// The operation that runs.
        operation: OperationId,
        /// What that one brings about.
        running: ChangeKind,
    },
    /// The cluster's status does not allow it.
    #[error("cluster {cluster} is {status}: {change} is not possible")]
    WrongStatus {
        /// The cluster's name.
        cluster: String,
        /// Its status.
        status: Status,
        /// What was asked for.
        change: ChangeKind,
    },
    /// A living cluster or group has the name.
    #[error("a {kind} named {name:?} exists already")]
    NameTaken {
        /// What has the name.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The driver does not do this.
    #[error("driver {driver} does not support {capability}")]
    Unsupported {
        /// The driver.
        driver: String,
        /// What it lacks.
        capability: Capability,
    },
    /// A limit of the project is reached.
    #[error("quota of {resource} reached: {used} of {limit} used")]
    QuotaReached {
        /// What is limited.
        resource: &'static str,
        /// How many there are.
        used: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The caller may not do this.
    #[error("not allowed: {what}")]
    Forbidden {
        /// What.
        what: String,
    },
    /// Something still uses it.
    #[error("{kind} {name:?} is in use by {by}")]
    InUse {
        /// What.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What uses it.
        by: String,
    },
    /// No driver fits.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The driver could not carry out a look-up.
    #[error(transparent)]
    Driver(DriverError),
    /// A secret could not be read or written.
    #[error(transparent)]
    Secret(#[from] SecretStoreError),
    /// A cluster's credentials could not be listed.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The sealing key is not the one that the store was written with: nothing sealed can be read with it.
    #[error(
        "the sealing key is not the one that the store was written with: start with that key, or with a key ring that holds it"
    )]
    SealingKey,
    /// The store did not do it.
    #[error(transparent)]
    Store(StoreError),
}

impl Error {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Conflict { .. } => Retry::Later,
            Self::Secret(error) => error.retry(),
            Self::Driver(error) => error.retry(),
            Self::Credential(error) => error.retry(),
            Self::Store(error) => error.retry(),
            _ => Retry::Never,
        }
    }

    pub(crate) fn not_found(kind: &'static str, name: impl Into<String>) -> Self {
        Self::NotFound {
            kind,
            name: name.into(),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NameTaken { name } => Self::NameTaken {
                kind: "cluster",
                name,
            },
            StoreError::QuotaReached {
                resource,
                used,
                limit,
            } => Self::QuotaReached {
                resource,
                used,
                limit,
            },
            other => Self::Store(other),
        }
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Invalid(problems) => Self::Invalid(problems),
            other => Self::Driver(other),
        }
    }
}
