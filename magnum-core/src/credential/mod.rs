//! Credentials with which the engine goes on working for a cluster when the requester's token has long gone.
//!
//! Without a [`CredentialProvider`] the embedder's drivers work with whatever login the embedder gave them, which is the simplest way and
//! enough where one service user may act in all projects. With one, every cluster has a credential of its own, made before the first
//! call of its driver, replaced by [`Engine::rotate_credential`](crate::Engine::rotate_credential) and removed when its cluster is deleted.

mod log;
mod work;

use std::fmt;

use async_trait::async_trait;

pub(crate) use log::CredentialLog;
pub use work::{WORK_CREDENTIAL, WorkCredential};

use crate::driver::Leftover;
use crate::model::Cluster;
use crate::retry::Retry;
use crate::secret::Secret;
use crate::secret_store::SecretStoreError;

/// What a provider is asked to make.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CredentialRequest<'a> {
    /// The cluster that it is for; its project is the credential's scope.
    pub cluster: &'a Cluster,
    /// Its name, unique in the cloud, persisted before this call: `magnum-work-<cluster id>-<generation>`.
    pub name: String,
    /// The requester's token, for providers that [need](CredentialProvider::needs_token) one; none where it was used up by an earlier call.
    pub token: Option<Secret>,
}

/// A credential as the engine remembers it. Nothing in it lets anybody log in, but the id of a trust or credential is half of one, so
/// `Debug` shows the name only (rule `MS-04`).
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CredentialRef {
    /// Its name.
    pub name: String,
    /// Its id; none where it is not known whether it was ever made.
    pub id: Option<String>,
}

impl fmt::Debug for CredentialRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialRef")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A credential that was just made.
#[derive(Clone)]
pub struct IssuedCredential {
    /// Its id.
    pub id: String,
    /// What proves its possession.
    pub secret: Secret,
}

impl fmt::Debug for IssuedCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedCredential").finish_non_exhaustive()
    }
}

/// Why a credential was not made or removed. No variant carries secret text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// It will not be given: trying again does not help.
    #[error("the cluster's credential was refused: {reason}")]
    Refused {
        /// Why, in words that the requester can act on.
        reason: String,
        /// The error behind.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The identity service did not answer; trying again may help.
    #[error("the identity service is not available: {reason}")]
    Unavailable {
        /// What happened.
        reason: String,
        /// What it said about trying again.
        retry: Retry,
        /// The error behind.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// It could not be put into the secret store, or read from it.
    #[error(transparent)]
    Secret(#[from] SecretStoreError),
}

impl CredentialError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        match self {
            Self::Refused { .. } => Retry::Never,
            Self::Unavailable { retry, .. } => *retry,
            Self::Secret(error) => error.retry(),
        }
    }

    /// A refusal without an error behind it.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
            source: None,
        }
    }
}

/// Makes and removes the credentials that clusters are worked on with. The kit has implementations on Keystone.
///
/// The engine calls it under the lease of an operation: before the first call of a driver for a new cluster, at
/// [`Change::RotateCredential`](crate::driver::Change::RotateCredential), after a deletion's last step, and for lists of what is left.
/// What is made is in the cluster's secrets under [`WORK_CREDENTIAL`] until it is replaced or removed.
#[async_trait]
pub trait CredentialProvider: fmt::Debug + Send + Sync + 'static {
    /// Its name in texts, such as `application credentials of a service user`.
    fn name(&self) -> &str;

    /// Whether it needs the requester's own token, as trusts and a user's own application credentials do. Requests that make or replace
    /// a credential are refused without one then; the token is kept, sealed, from acceptance to first use.
    fn needs_token(&self) -> bool;

    /// Makes the credential with this name.
    ///
    /// - *Called when* its name has been persisted; again after every error and every crash, until it has succeeded once.
    /// - *Must do*: limit it to the cluster's project. One of that name that exists already was made by a call whose answer was lost: its
    ///   secret is unknown, so it is removed and made anew.
    /// - *Idempotency*: at most one of the name exists afterwards.
    ///
    /// Cancel safety: the engine may drop the future at any await.
    ///
    /// # Errors
    /// [`CredentialError::Refused`] ends the operation with its text; others are tried again.
    async fn issue(
        &self,
        request: &CredentialRequest<'_>,
    ) -> Result<IssuedCredential, CredentialError>;

    /// Removes a credential. One that is gone already, or whose owner is, is success (rule `MS-05`).
    ///
    /// # Errors
    /// As [`issue`](Self::issue).
    async fn remove(
        &self,
        cluster: &Cluster,
        credential: &CredentialRef,
    ) -> Result<(), CredentialError>;

    /// Lists what exists for the cluster; also for one that is gone (rule `OP-06`).
    ///
    /// # Errors
    /// As [`issue`](Self::issue).
    async fn list(&self, cluster: &Cluster) -> Result<Vec<Leftover>, CredentialError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_04_debug_of_credentials_shows_neither_id_nor_secret() {
        let reference = CredentialRef {
            name: "magnum-work-x-1".to_owned(),
            id: Some("half-of-a-login".to_owned()),
        };
        let issued = IssuedCredential {
            id: "half-of-a-login".to_owned(),
            secret: Secret::new("other-half"),
        };
        let text = format!("{reference:?} {issued:?}");
        assert!(text.contains("magnum-work-x-1"));
        assert!(!text.contains("half-of-a-login") && !text.contains("other-half"));
    }
}
