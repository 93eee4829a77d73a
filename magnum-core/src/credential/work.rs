//! The credential in force, as the secret store keeps it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::CredentialError;
use crate::id::ClusterId;
use crate::secret::Secret;
use crate::secret_store::{SecretStore, SecretStoreError};

/// Under which purpose the secret store keeps the credential that a cluster is worked on with.
pub const WORK_CREDENTIAL: &str = "engine.credential";

/// The credential that a cluster is worked on with. Session sources of drivers read it with [`load`](Self::load).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkCredential {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// What proves its possession.
    pub secret: Secret,
}

impl fmt::Debug for WorkCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkCredential")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    id: String,
    secret: String,
}

impl WorkCredential {
    pub(crate) fn new(name: String, id: String, secret: Secret) -> Self {
        Self { name, id, secret }
    }

    /// The cluster's, or `None` where it has none.
    ///
    /// # Errors
    /// [`CredentialError::Secret`].
    pub async fn load(
        secrets: &dyn SecretStore,
        cluster: ClusterId,
    ) -> Result<Option<Self>, CredentialError> {
        let Some(stored) = secrets.get(cluster, WORK_CREDENTIAL).await? else {
            return Ok(None);
        };
        let damaged = || SecretStoreError::Damaged {
            cluster,
            purpose: WORK_CREDENTIAL.to_owned(),
        };
        let stored: Stored = serde_json::from_slice(stored.expose()).map_err(|_| damaged())?;
        let secret = BASE64_STANDARD.decode(stored.secret);
        Ok(Some(Self {
            name: stored.name,
            id: stored.id,
            secret: Secret::new(secret.map_err(|_| damaged())?),
        }))
    }

    pub(crate) async fn save(
        &self,
        secrets: &dyn SecretStore,
        cluster: ClusterId,
    ) -> Result<(), CredentialError> {
        let stored = Stored {
            name: self.name.clone(),
            id: self.id.clone(),
            secret: BASE64_STANDARD.encode(self.secret.expose()),
        };
        let bytes = serde_json::to_vec(&stored).expect("three texts are always JSON");
        Ok(secrets
            .put(cluster, WORK_CREDENTIAL, Secret::new(bytes))
            .await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret_store::MemorySecretStore;

    #[tokio::test]
    async fn ms_04_a_credential_is_kept_whole_and_shows_its_name_only() {
        let store = MemorySecretStore::default();
        let cluster = ClusterId::from_uuid(uuid::Uuid::from_u128(1));
        assert_eq!(WorkCredential::load(&store, cluster).await.unwrap(), None);
        let secret = Secret::new(vec![0, 159, 146, 150]);
        let made = WorkCredential::new("n".to_owned(), "the-id".to_owned(), secret);
        made.save(&store, cluster).await.unwrap();
        let read = WorkCredential::load(&store, cluster).await.unwrap();
        assert_eq!(read, Some(made.clone()));
        assert!(!format!("{made:?}").contains("the-id"));
        let broken = Secret::new("no JSON");
        store.put(cluster, WORK_CREDENTIAL, broken).await.unwrap();
        let error = WorkCredential::load(&store, cluster).await.unwrap_err();
        assert!(error.to_string().contains(WORK_CREDENTIAL), "{error}");
    }
}
