//! Cloud credentials: the one that a cluster's own controllers use, and, in [`WorkCredentials`], the one that the engine works with.
//!
//! By default an application credential per cluster: it holds at most the roles that load balancers, addresses and volumes need, cannot
//! make further credentials, and goes with the cluster. Its secret is in the secret store under [`PURPOSE`] and nowhere else.

mod application;
mod work;

pub use application::{ensure, remove};
pub use work::{CredentialOwner, WorkCredentials};

use std::fmt;

use magnum_core::Secret;
use magnum_core::driver::DriverError;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

/// Under which purpose the secret store keeps it.
pub const PURPOSE: &str = "cloud.credential";

/// Where a cluster's cloud credential comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CredentialMode {
    /// An application credential of the session's user, with those of these roles that the session holds.
    Application {
        /// Names of roles.
        roles: Vec<String>,
    },
    /// One that the embedder gives to every cluster.
    Provided(CloudCredential),
    /// None: no cloud controller is installed.
    None,
}

impl Default for CredentialMode {
    fn default() -> Self {
        Self::Application {
            roles: vec!["member".to_owned(), "load-balancer_member".to_owned()],
        }
    }
}

/// An application credential with its secret.
#[derive(Clone)]
pub struct CloudCredential {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: SecretString,
}

impl fmt::Debug for CloudCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudCredential")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    id: String,
    secret: String,
}

impl CloudCredential {
    fn to_secret(&self) -> Secret {
        let stored = Stored {
            id: self.id.clone(),
            secret: self.secret.expose_secret().to_owned(),
        };
        Secret::new(serde_json::to_vec(&stored).expect("two texts are always JSON"))
    }

    fn from_secret(secret: &Secret) -> Result<Self, DriverError> {
        let stored: Stored = serde_json::from_slice(secret.expose())
            .map_err(|_| DriverError::internal("the stored cloud credential cannot be read"))?;
        Ok(Self {
            id: stored.id,
            secret: stored.secret.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_04_a_credential_shows_its_id_only() {
        let credential = CloudCredential {
            id: "abc".into(),
            secret: "topsecret".into(),
        };
        assert!(!format!("{credential:?}").contains("topsecret"));
        let read = CloudCredential::from_secret(&credential.to_secret()).unwrap();
        assert_eq!(read.secret.expose_secret(), "topsecret");
    }
}
