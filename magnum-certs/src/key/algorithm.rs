//! Key types and signature schemes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::der;

/// Key types that this crate generates.
///
/// ECDSA P-256 is the default: a whole cluster's keys in about a millisecond, and small enough that a control
/// plane's secrets stay far below Nova's limit for user-data. RSA takes from a third of a second (2048) to
/// several seconds (4096) of CPU: generate it on a blocking thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum KeyAlgorithm {
    /// ECDSA on NIST P-256, signing with SHA-256.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// ECDSA on NIST P-384, signing with SHA-384.
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    /// RSA with 2048 bits, signing with SHA-256.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA with 3072 bits, signing with SHA-256.
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    /// RSA with 4096 bits, signing with SHA-256.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
    /// Ed25519. Good for users' certificates; kubeadm takes neither an authority nor a service-account key of this kind.
    #[serde(rename = "ed25519")]
    Ed25519,
}

impl KeyAlgorithm {
    /// Every algorithm, for tests and forms.
    pub const ALL: [Self; 6] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
        Self::Ed25519,
    ];

    /// Whether kubeadm accepts an authority or a service-account key of this kind ("neither in RSA nor ECDSA format" otherwise).
    #[must_use]
    pub const fn fits_kubeadm(self) -> bool {
        !matches!(self, Self::Ed25519)
    }

    /// Whether generating such a key takes long enough to block an async thread.
    #[must_use]
    pub const fn is_slow(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }

    /// The name used in configuration: `ecdsa-p256`, `rsa-2048`, ...
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
            Self::Ed25519 => "ed25519",
        }
    }
}

impl fmt::Display for KeyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a signature over a certificate is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureScheme {
    /// ECDSA with SHA-256, ASN.1 signature.
    EcdsaSha256,
    /// ECDSA with SHA-384, ASN.1 signature.
    EcdsaSha384,
    /// RSA PKCS#1 v1.5 with SHA-256.
    RsaSha256,
    /// Ed25519.
    Ed25519,
}

impl SignatureScheme {
    /// The `AlgorithmIdentifier` in DER.
    pub(crate) fn identifier(self) -> Vec<u8> {
        match self {
            Self::EcdsaSha256 => der::sequence(&[&der::oid(der::oid::ECDSA_SHA256)]),
            Self::EcdsaSha384 => der::sequence(&[&der::oid(der::oid::ECDSA_SHA384)]),
            Self::RsaSha256 => der::sequence(&[&der::oid(der::oid::RSA_SHA256), &[5, 0]]),
            Self::Ed25519 => der::sequence(&[&der::oid(der::oid::ED25519)]),
        }
    }
}
