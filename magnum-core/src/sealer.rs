//! The seam through which everything that can hold a secret passes before it is stored.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::id::ClusterId;
use crate::secret::Secret;

/// What sealed bytes belong to. It is bound into the seal: bytes moved to another cluster or purpose do not open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SealContext {
    /// The cluster.
    pub cluster: ClusterId,
    /// What the bytes are for, such as `secret/pki.ca` or `memo/cluster`.
    pub purpose: String,
}

impl SealContext {
    /// A context for one purpose of one cluster.
    pub fn new(cluster: ClusterId, purpose: impl Into<String>) -> Self {
        Self {
            cluster,
            purpose: purpose.into(),
        }
    }
}

/// Why sealing or opening failed. No variant carries secret text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The bytes were sealed under another key, for another context, or were changed.
    #[error(
        "sealed data for {purpose} of cluster {cluster} does not open: wrong key, wrong owner, or damaged"
    )]
    DoesNotOpen {
        /// The cluster.
        cluster: ClusterId,
        /// The purpose.
        purpose: String,
    },
    /// The key service did not answer; trying again may help.
    #[error("the sealing key is not available: {reason}")]
    KeyUnavailable {
        /// What the key service said, free of secrets.
        reason: String,
    },
}

/// Seals and opens bytes at rest. `Engine::builder()` requires one; `magnum-certs` has the standard implementation.
#[async_trait]
pub trait Sealer: Debug + Send + Sync + 'static {
    /// Encrypts `plain`, bound to `context`.
    ///
    /// # Errors
    /// [`SealError::KeyUnavailable`] when the key cannot be had now.
    async fn seal(&self, context: &SealContext, plain: &Secret) -> Result<Vec<u8>, SealError>;

    /// Decrypts what [`seal`](Self::seal) gave for the same context.
    ///
    /// # Errors
    /// [`SealError::DoesNotOpen`] for any other bytes or context; [`SealError::KeyUnavailable`] when the key cannot be had now.
    async fn open(&self, context: &SealContext, sealed: &[u8]) -> Result<Secret, SealError>;
}
