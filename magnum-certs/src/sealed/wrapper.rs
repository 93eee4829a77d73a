//! The seam to whatever keeps the key-encryption key.

use std::fmt::Debug;

use async_trait::async_trait;
use zeroize::Zeroizing;

/// A data key in wrapped form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// Which key-encryption key wrapped it; at most 255 bytes of text.
    pub key_id: String,
    /// The wrapped bytes; at most 64 KiB.
    pub bytes: Vec<u8>,
}

/// Why a data key could not be wrapped or unwrapped. Holds no key bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WrapError {
    /// The key-encryption key of that id is not there (any more).
    #[error("no key-encryption key {0:?}")]
    UnknownKey(String),
    /// The wrapped bytes were altered, or wrapped by another key.
    #[error("the wrapped key does not open")]
    Damaged,
    /// The key service did not answer; trying again may help.
    #[error("the key service is not available: {0}")]
    Unavailable(String),
}

/// Wraps the random data keys under which values are sealed: [`crate::SealingKey`] in memory, or a key service (KMS, Vault, Barbican).
///
/// Implementations keep old key-encryption keys for unwrapping until [`crate::Envelope::rewrap`] has gone over every stored value.
#[async_trait]
pub trait KeyWrapper: Debug + Send + Sync + 'static {
    /// The id of the key-encryption key that [`wrap`](Self::wrap) uses now.
    fn current_key_id(&self) -> String;

    /// Wraps a data key of 32 bytes under the current key-encryption key. Cancel safe: nothing is kept.
    ///
    /// # Errors
    /// [`WrapError::Unavailable`].
    async fn wrap(&self, data_key: &Zeroizing<[u8; 32]>) -> Result<WrappedKey, WrapError>;

    /// Unwraps what [`wrap`](Self::wrap) gave under this or an earlier key-encryption key. Cancel safe: nothing is kept.
    ///
    /// # Errors
    /// [`WrapError::UnknownKey`], [`WrapError::Damaged`], [`WrapError::Unavailable`].
    async fn unwrap(&self, wrapped: &WrappedKey) -> Result<Zeroizing<[u8; 32]>, WrapError>;
}
