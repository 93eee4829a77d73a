//! Why a store did not do what was asked.

use crate::id::{ClusterId, ClusterTemplateId, OperationId};
use crate::retry::Retry;

/// Why a store did not do what was asked. Nothing was written then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database did not answer; trying again may help.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// What it said, free of secrets.
        reason: String,
        /// The error behind.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The reading on which the decision rests is out of date: read and decide again.
    #[error("cluster {cluster} has changed since it was read")]
    Stale {
        /// The cluster.
        cluster: ClusterId,
    },
    /// The template has changed since it was read: read and decide again.
    #[error("cluster template {template} has changed since it was read")]
    TemplateStale {
        /// The template.
        template: ClusterTemplateId,
    },
    /// Another engine has the operation, or it has ended.
    #[error("operation {operation} is no longer this engine's")]
    LeaseLost {
        /// The operation.
        operation: OperationId,
    },
    /// A living cluster of the project has the name.
    #[error("a cluster named {name:?} exists")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A request with the same key came first.
    #[error("the idempotency key has been used")]
    KeyUsed {
        /// The cluster that it made.
        cluster: ClusterId,
    },
    /// A limit of the project is reached.
    #[error("quota of {resource} reached: {used} of {limit}")]
    QuotaReached {
        /// What is limited.
        resource: &'static str,
        /// How many there are.
        used: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Clusters use the template.
    #[error("the template is used by {clusters} clusters")]
    TemplateInUse {
        /// How many.
        clusters: u64,
    },
    /// The database was written by a newer version of this library.
    #[error(
        "the database has schema version {found}, this library knows versions up to {known}: use a newer library"
    )]
    NewerSchema {
        /// The version in the database.
        found: i64,
        /// The newest known version.
        known: i64,
    },
    /// The database is not one of this library's, or is damaged.
    #[error("the database at {place} cannot be used: {reason}")]
    Unusable {
        /// Where it is, without credentials.
        place: String,
        /// Why.
        reason: String,
    },
    /// What is stored cannot be read.
    #[error("{what} cannot be read: {reason}")]
    Corrupt {
        /// What it is.
        what: String,
        /// Why.
        reason: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Unavailable { .. } | Self::Stale { .. } | Self::TemplateStale { .. } => {
                Retry::Later
            }
            _ => Retry::Never,
        }
    }
}
