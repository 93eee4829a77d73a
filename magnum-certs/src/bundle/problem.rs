//! What can be wrong with a bundle.

use chrono::{DateTime, Utc};

/// Something in a PKI bundle that kubeadm would not accept, or that no two clusters' nodes should share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleProblem {
    /// A file is not there.
    #[error("{path} is missing")]
    Missing {
        /// Path of the file.
        path: String,
    },
    /// A file is there twice.
    #[error("{path} is there twice")]
    Duplicate {
        /// Path of the file.
        path: String,
    },
    /// A file under the PKI directory that this check does not know.
    #[error("{path} does not belong there")]
    Unexpected {
        /// Path of the file.
        path: String,
    },
    /// A file can be read or written by somebody who should not, or the other way round.
    #[error("{path} has mode {mode:04o} and owner {owner}; {expected:04o} and root:root are right")]
    BadMode {
        /// Path of the file.
        path: String,
        /// Its permission bits.
        mode: u32,
        /// Its owner.
        owner: String,
        /// The right permission bits.
        expected: u32,
    },
    /// A file cannot be parsed.
    #[error("{path}: {reason}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A certificate that is no authority.
    #[error("{path} is no certificate authority")]
    NotAnAuthority {
        /// Path of the file.
        path: String,
    },
    /// A key that does not belong to the certificate or public key beside it.
    #[error("{path} does not belong to {partner}")]
    Mismatch {
        /// Path of the key.
        path: String,
        /// Path of its partner.
        partner: String,
    },
    /// A key that is neither RSA nor ECDSA.
    #[error("{path} is neither in RSA nor ECDSA format")]
    UnsupportedKey {
        /// Path of the file.
        path: String,
    },
    /// A certificate outside of its validity.
    #[error("{path} is valid from {not_before} to {not_after} only")]
    NotValid {
        /// Path of the file.
        path: String,
        /// Start of validity.
        not_before: DateTime<Utc>,
        /// End of validity.
        not_after: DateTime<Utc>,
    },
    /// Two authorities with the same subject or key.
    #[error("{path} and {other} share a subject or a key")]
    Shared {
        /// Path of one.
        path: String,
        /// Path of the other.
        other: String,
    },
}
