//! The seam to whatever signs.

use std::fmt;

use super::{PublicKey, SignatureScheme};
use crate::Error;

/// Something that signs with an authority's key: a key in memory, or a remote one (KMS, HSM, Vault).
///
/// Calls may block; the async doors of this crate make them on a blocking thread.
pub trait Signer: fmt::Debug + Send + Sync {
    /// The key that verifies the signatures.
    fn public_key(&self) -> &PublicKey;

    /// How signatures are made.
    fn scheme(&self) -> SignatureScheme;

    /// Signs `message` (hashing included).
    ///
    /// # Errors
    /// [`Error::Crypto`] when the key cannot be used now.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error>;
}
