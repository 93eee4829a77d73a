//! Where a cluster's secrets (keys, certificates, credentials) are kept.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::id::ClusterId;
use crate::retry::Retry;
use crate::secret::Secret;

/// Why a secret could not be read or written. No variant carries secret text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretStoreError {
    /// The store or key service behind did not do it; trying again may help.
    #[error("secret {purpose} of cluster {cluster} could not be {action}: {reason}")]
    Unavailable {
        /// The cluster.
        cluster: ClusterId,
        /// The purpose.
        purpose: String,
        /// `read`, `written`, `deleted` or `listed`.
        action: &'static str,
        /// Why, free of secrets.
        reason: String,
    },
    /// The store behind does not allow it, or does not take such a secret. Trying again does not help until somebody changes something there.
    #[error("secret {purpose} of cluster {cluster} may not be {action}: {reason}")]
    Refused {
        /// The cluster.
        cluster: ClusterId,
        /// The purpose.
        purpose: String,
        /// `read`, `written`, `deleted` or `listed`.
        action: &'static str,
        /// Why, free of secrets.
        reason: String,
    },
    /// It was stored, and is not there any more: somebody has removed it behind the store's back.
    #[error("secret {purpose} of cluster {cluster} was stored and is gone")]
    Lost {
        /// The cluster.
        cluster: ClusterId,
        /// The purpose.
        purpose: String,
    },
    /// What is stored does not open: wrong key or damage. Trying again does not help.
    #[error("secret {purpose} of cluster {cluster} is damaged or was sealed under another key")]
    Damaged {
        /// The cluster.
        cluster: ClusterId,
        /// The purpose.
        purpose: String,
    },
}

impl SecretStoreError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Unavailable { .. } => Retry::Later,
            Self::Refused { .. } | Self::Lost { .. } | Self::Damaged { .. } => Retry::Never,
        }
    }
}

/// Keeps secrets by cluster and purpose (such as `pki.ca`, `pki.sa`, `cloud.credential`).
///
/// All methods are idempotent. Implementations: the engine's own (sealed rows in the engine's store), [`MemorySecretStore`], and Barbican in the driver kit.
#[async_trait]
pub trait SecretStore: Debug + Send + Sync {
    /// The secret, or `None` where none was put.
    async fn get(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Secret>, SecretStoreError>;

    /// Stores `secret` unless one is there already, and gives back the one that is stored afterwards.
    /// This makes "make a key once" safe against crashes and second writers.
    async fn put_if_absent(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<Secret, SecretStoreError>;

    /// Stores `secret`, replacing any.
    async fn put(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<(), SecretStoreError>;

    /// Removes the secret; none there is success.
    async fn delete(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError>;

    /// The purposes for which the cluster has secrets, sorted; also such for which only a remainder of an interrupted write is
    /// left. Deleting each of them leaves nothing behind.
    async fn purposes(&self, cluster: ClusterId) -> Result<Vec<String>, SecretStoreError>;
}

/// Keeps secrets in memory only: for tests and for embedders that hold them elsewhere.
#[derive(Debug, Default)]
pub struct MemorySecretStore {
    secrets: Mutex<BTreeMap<(ClusterId, String), Secret>>,
}

impl MemorySecretStore {
    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<(ClusterId, String), Secret>> {
        self.secrets.lock().expect("no holder of this lock panics")
    }
}

#[async_trait]
impl SecretStore for MemorySecretStore {
    async fn get(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Secret>, SecretStoreError> {
        Ok(self.locked().get(&(cluster, purpose.to_owned())).cloned())
    }

    async fn put_if_absent(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<Secret, SecretStoreError> {
        Ok(self
            .locked()
            .entry((cluster, purpose.to_owned()))
            .or_insert(secret)
            .clone())
    }

    async fn put(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<(), SecretStoreError> {
        self.locked().insert((cluster, purpose.to_owned()), secret);
        Ok(())
    }

    async fn delete(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        self.locked().remove(&(cluster, purpose.to_owned()));
        Ok(())
    }

    async fn purposes(&self, cluster: ClusterId) -> Result<Vec<String>, SecretStoreError> {
        Ok(self
            .locked()
            .keys()
            .filter(|(owner, _)| *owner == cluster)
            .map(|(_, purpose)| purpose.clone())
            .collect())
    }
}
