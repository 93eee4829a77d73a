//! What the engine lends a driver for one call.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use rand::rngs::SmallRng;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DriverError;
use crate::clock::{self, Clock};
use crate::id::{ClusterId, NodeGroupId, OperationId};
use crate::model::{ClusterFacts, Member};
use crate::retry::Retry;
use crate::secret::Secret;
use crate::secret_store::SecretStore;

/// Which memo of a cluster. Memos outlive operations; the cluster's deletion removes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoKey {
    /// What concerns the whole cluster: infrastructure, control plane. Written by operations with the exclusive scope only.
    Cluster,
    /// What concerns one node group. Written by operations with that group's scope, or the exclusive one.
    NodeGroup(NodeGroupId),
}

impl MemoKey {
    /// Its name in the store.
    #[must_use]
    pub fn as_text(&self) -> String {
        match self {
            Self::Cluster => "cluster".to_owned(),
            Self::NodeGroup(id) => format!("node_group/{id}"),
        }
    }
}

/// Why a checkpoint did not happen. **No effect may follow without it.**
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Another engine has taken the operation over, or it has ended.
    #[error("operation {operation} is no longer this engine's")]
    LeaseLost {
        /// The operation.
        operation: OperationId,
    },
    /// The memo's scope is not the operation's.
    #[error("memo {memo} is outside the scope of operation {operation}")]
    OutOfScope {
        /// The operation.
        operation: OperationId,
        /// The memo.
        memo: String,
    },
    /// The store did not do it; trying again may help.
    #[error("the store is not available: {reason}")]
    Store {
        /// What it said.
        reason: String,
    },
    /// What is stored cannot be read as what the driver expects.
    #[error("memo {memo} cannot be read: {reason}")]
    Unreadable {
        /// The memo.
        memo: String,
        /// Why.
        reason: String,
    },
}

impl CheckpointError {
    /// Whether calling again may help.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Store { .. } => Retry::Later,
            Self::LeaseLost { .. } | Self::OutOfScope { .. } | Self::Unreadable { .. } => {
                Retry::Never
            }
        }
    }
}

/// The engine's side of a [`DriverContext`]. Drivers never see it; tests of drivers may implement it.
#[async_trait]
pub trait OperationPort: Debug + Send + Sync {
    /// Reads a memo, opened.
    async fn load_memo(&self, key: &MemoKey) -> Result<Option<Secret>, CheckpointError>;
    /// Seals and writes a memo under the operation's fence.
    async fn store_memo(&self, key: &MemoKey, memo: Secret) -> Result<(), CheckpointError>;
    /// Replaces what is known of the cluster, under the fence.
    async fn report_facts(&self, facts: &ClusterFacts) -> Result<(), CheckpointError>;
    /// Replaces what is known of a group's members, under the fence. Changes become events.
    async fn report_members(
        &self,
        group: NodeGroupId,
        members: &[Member],
    ) -> Result<(), CheckpointError>;
    /// Adds a warning to the operation's log and the events.
    async fn warn(&self, text: &str) -> Result<(), CheckpointError>;
}

/// What the engine lends a driver for one call: time, randomness, the cluster's secrets and memos, and the ways to report.
#[derive(Debug, Clone)]
pub struct DriverContext {
    /// The operation.
    pub operation: OperationId,
    /// The cluster.
    pub cluster: ClusterId,
    /// When the operation must have ended.
    pub deadline: DateTime<Utc>,
    /// Whether a later request asked for the operation to end early. A driver that sees it stops starting new things,
    /// lets what is in flight settle, and returns [`Advance::Failed`](super::Advance::Failed) with [`CauseKind::Cancelled`](super::CauseKind::Cancelled).
    pub cancelled: bool,
    clock: Arc<dyn Clock>,
    secrets: Arc<dyn SecretStore>,
    port: Arc<dyn OperationPort>,
}

impl DriverContext {
    /// A context over the given effects. Called by the engine and by tests of drivers.
    pub fn new(
        operation: OperationId,
        cluster: ClusterId,
        deadline: DateTime<Utc>,
        cancelled: bool,
        clock: Arc<dyn Clock>,
        secrets: Arc<dyn SecretStore>,
        port: Arc<dyn OperationPort>,
    ) -> Self {
        Self {
            operation,
            cluster,
            deadline,
            cancelled,
            clock,
            secrets,
            port,
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// A random generator for names and pauses. Not for keys.
    #[must_use]
    pub fn rng(&self) -> SmallRng {
        clock::rng(&*self.clock)
    }

    /// The cluster's secrets.
    #[must_use]
    pub fn secrets(&self) -> &Arc<dyn SecretStore> {
        &self.secrets
    }

    /// Reads a memo that a checkpoint wrote, in this or an earlier operation.
    ///
    /// # Errors
    /// [`CheckpointError::Unreadable`] where it is not a `T`; [`CheckpointError::Store`].
    pub async fn load<T: DeserializeOwned>(&self, key: &MemoKey) -> Result<Option<T>, DriverError> {
        let Some(memo) = self.port.load_memo(key).await? else {
            return Ok(None);
        };
        serde_json::from_slice(memo.expose())
            .map(Some)
            .map_err(|error| {
                CheckpointError::Unreadable {
                    memo: key.as_text(),
                    reason: error.to_string(),
                }
                .into()
            })
    }

    /// Writes a memo, sealed, with the operation's fence. Names of everything that is about to be created go in **before** the call that creates it.
    ///
    /// Cancel safety: dropped before it ends, the memo may or may not be written.
    ///
    /// # Errors
    /// [`CheckpointError::LeaseLost`] when another engine has taken over: return it at once, without any further effect.
    pub async fn checkpoint<T: Serialize + Sync>(
        &self,
        key: &MemoKey,
        memo: &T,
    ) -> Result<(), DriverError> {
        let bytes = serde_json::to_vec(memo).map_err(|error| DriverError::Internal {
            what: format!("memo {} cannot be written: {error}", key.as_text()),
            source: None,
        })?;
        Ok(self.port.store_memo(key, Secret::new(bytes)).await?)
    }

    /// Reports what is known of the cluster; it replaces what was reported before.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint).
    pub async fn report_facts(&self, facts: &ClusterFacts) -> Result<(), DriverError> {
        Ok(self.port.report_facts(facts).await?)
    }

    /// Reports the members of a group; they replace those reported before.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint).
    pub async fn report_members(
        &self,
        group: NodeGroupId,
        members: &[Member],
    ) -> Result<(), DriverError> {
        Ok(self.port.report_members(group, members).await?)
    }

    /// Warns whoever watches, without failing anything.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint).
    pub async fn warn(&self, text: impl AsRef<str> + Send) -> Result<(), DriverError> {
        Ok(self.port.warn(text.as_ref()).await?)
    }
}
