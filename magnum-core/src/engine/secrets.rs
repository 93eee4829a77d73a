//! Clusters' secrets in the engine's own store, sealed.

use std::sync::Arc;

use async_trait::async_trait;

use super::{ClusterKey, Deed, Engine, RequestContext};
use crate::error::Error;
use crate::id::ClusterId;
use crate::sealer::{SealContext, SealError, Sealer};
use crate::secret::Secret;
use crate::secret_store::{SecretStore, SecretStoreError};
use crate::store::{Store, StoreError};

/// A [`SecretStore`] over a [`Store`]: what it writes has passed the [`Sealer`].
#[derive(Debug, Clone)]
pub struct SealedSecrets {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
}

impl SealedSecrets {
    /// Secrets in `store`, sealed by `sealer`.
    pub fn new(store: Arc<dyn Store>, sealer: Arc<dyn Sealer>) -> Self {
        Self { store, sealer }
    }

    async fn seal(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: &Secret,
    ) -> Result<Vec<u8>, SecretStoreError> {
        let context = context(cluster, purpose);
        let sealed = self.sealer.seal(&context, secret).await;
        sealed.map_err(|error| seal_error(error, cluster, purpose, "written"))
    }

    async fn open(
        &self,
        cluster: ClusterId,
        purpose: &str,
        sealed: &[u8],
    ) -> Result<Secret, SecretStoreError> {
        let opened = self.sealer.open(&context(cluster, purpose), sealed).await;
        opened.map_err(|error| seal_error(error, cluster, purpose, "read"))
    }
}

fn context(cluster: ClusterId, purpose: &str) -> SealContext {
    SealContext::new(cluster, format!("secret/{purpose}"))
}

fn seal_error(
    error: SealError,
    cluster: ClusterId,
    purpose: &str,
    action: &'static str,
) -> SecretStoreError {
    match error {
        SealError::DoesNotOpen { .. } => SecretStoreError::Damaged {
            cluster,
            purpose: purpose.to_owned(),
        },
        SealError::KeyUnavailable { reason } => SecretStoreError::Unavailable {
            cluster,
            purpose: purpose.to_owned(),
            action,
            reason,
        },
    }
}

fn unavailable(
    cluster: ClusterId,
    purpose: &str,
    action: &'static str,
) -> impl Fn(StoreError) -> SecretStoreError {
    move |error| SecretStoreError::Unavailable {
        cluster,
        purpose: purpose.to_owned(),
        action,
        reason: error.to_string(),
    }
}

#[async_trait]
impl SecretStore for SealedSecrets {
    async fn get(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Secret>, SecretStoreError> {
        let read = self.store.secret(cluster, purpose).await;
        match read.map_err(unavailable(cluster, purpose, "read"))? {
            Some(sealed) => self.open(cluster, purpose, &sealed).await.map(Some),
            None => Ok(None),
        }
    }

    async fn put_if_absent(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<Secret, SecretStoreError> {
        let sealed = self.seal(cluster, purpose, &secret).await?;
        let put = self.store.put_secret(cluster, purpose, sealed, false).await;
        let stored = put.map_err(unavailable(cluster, purpose, "written"))?;
        self.open(cluster, purpose, &stored).await
    }

    async fn put(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<(), SecretStoreError> {
        let sealed = self.seal(cluster, purpose, &secret).await?;
        let put = self.store.put_secret(cluster, purpose, sealed, true).await;
        put.map_err(unavailable(cluster, purpose, "written"))?;
        Ok(())
    }

    async fn delete(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        let done = self.store.delete_secret(cluster, purpose).await;
        done.map_err(unavailable(cluster, purpose, "deleted"))
    }

    async fn purposes(&self, cluster: ClusterId) -> Result<Vec<String>, SecretStoreError> {
        let read = self.store.secret_purposes(cluster).await;
        read.map_err(unavailable(cluster, "*", "listed"))
    }
}

impl Engine {
    /// The secrets of all clusters, without a check of who asks: for drivers and for trusted code of the embedder.
    #[must_use]
    pub fn secret_store(&self) -> Arc<dyn SecretStore> {
        Arc::clone(&self.0.secrets)
    }

    /// Removes what a deletion has left of a cluster's secrets, wherever they are kept: no driver has to know all of them.
    pub(super) async fn forget_secrets(&self, cluster: ClusterId) -> Result<(), SecretStoreError> {
        for purpose in self.0.secrets.purposes(cluster).await? {
            self.0.secrets.delete(cluster, &purpose).await?;
        }
        Ok(())
    }

    /// The secrets of one cluster, after a check of who asks: the cluster's id and where its secrets are.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Store`].
    pub async fn secrets(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<(ClusterId, Arc<dyn SecretStore>), Error> {
        let cluster = self.find(cx, &cluster.into().0).await?;
        self.demand(cx, Deed::ReadSecrets, &cluster.project_id)?;
        Ok((cluster.id, self.secret_store()))
    }
}
