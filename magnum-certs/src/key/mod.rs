//! Key pairs: generation, PEM, signing.

mod algorithm;
mod private_key;
mod public_key;
mod signer;

pub use algorithm::{KeyAlgorithm, SignatureScheme};
pub use private_key::PrivateKey;
pub use public_key::PublicKey;
pub use signer::Signer;

/// Lower-case hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
