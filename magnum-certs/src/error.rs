//! The one error type of the crate.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use magnum_core::driver::DriverError;
use magnum_core::{ClusterId, Retry, SecretStoreError};

use crate::bundle::BundleProblem;
use crate::csr::CsrProblem;

/// What went wrong in certificate work.
///
/// `Display` is safe to show to a user: it never holds key material, and names the object concerned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The crypto provider refused an operation (out of entropy, unsupported combination).
    #[error("crypto provider failed to {operation}")]
    Crypto {
        /// What was tried, as a verb phrase.
        operation: &'static str,
    },
    /// A private or public key cannot be used.
    #[error("unusable key: {reason}")]
    BadKey {
        /// Why; never holds key bytes.
        reason: String,
    },
    /// PEM text is not what was expected.
    #[error("bad PEM text, expected one block \"{expected}\": {reason}")]
    BadPem {
        /// The label that was expected.
        expected: &'static str,
        /// What was found instead.
        reason: &'static str,
    },
    /// A certificate cannot be parsed or does not fit its use.
    #[error("bad certificate: {reason}")]
    BadCertificate {
        /// Why.
        reason: String,
    },
    /// A certificate signing request was refused.
    #[error("bad certificate signing request: {0}")]
    BadRequest(#[from] CsrProblem),
    /// A name (DNS name, address, user, group, node) is not acceptable.
    #[error("bad name {name:?}: {reason}")]
    BadName {
        /// The name as given.
        name: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// The request is well formed, and asks for what its profile or the caller's rights do not allow.
    #[error("not allowed: {reason}")]
    NotAllowed {
        /// What was asked for and why it is refused.
        reason: String,
    },
    /// Nothing can be signed any more: the authority has expired or is not valid yet.
    #[error("authority {authority:?} cannot sign at {now}: valid from {not_before} to {not_after}")]
    AuthorityNotValid {
        /// Common name of the authority.
        authority: String,
        /// Start of its validity.
        not_before: DateTime<Utc>,
        /// End of its validity.
        not_after: DateTime<Utc>,
        /// The time of the attempt.
        now: DateTime<Utc>,
    },
    /// A PKI bundle is not what kubeadm accepts; all problems at once.
    #[error("PKI bundle is not acceptable: {}", join(.0))]
    BadBundle(Vec<BundleProblem>),
    /// A kubeconfig cannot be parsed, or does not hold together.
    #[error("bad kubeconfig: {reason}")]
    BadKubeconfig {
        /// Why; never quotes the text.
        reason: String,
    },
    /// Two kubeconfigs hold different entries of the same name.
    #[error("kubeconfig already has a different {kind} {name:?}")]
    KubeconfigConflict {
        /// `cluster`, `user` or `context`.
        kind: &'static str,
        /// Name of the entry.
        name: String,
    },
    /// The engine did not carry out the call: no such cluster, not allowed.
    #[error(transparent)]
    Engine(#[from] magnum_core::Error),
    /// The cluster has no authorities yet: its creation has not come so far.
    #[error("cluster {cluster} has no certificate authorities yet")]
    NoAuthorities {
        /// The cluster.
        cluster: ClusterId,
    },
    /// The cluster's API has no address yet.
    #[error("cluster {cluster} has no API address yet")]
    NoEndpoint {
        /// The cluster.
        cluster: ClusterId,
    },
    /// The secret store did not do it.
    #[error(transparent)]
    Store(#[from] SecretStoreError),
    /// A stored record cannot be read.
    #[error("stored secret {purpose}: {reason}")]
    BadRecord {
        /// Purpose under which it is stored.
        purpose: &'static str,
        /// Why; never holds key bytes.
        reason: String,
    },
    /// A sealed value cannot be opened: wrong key, wrong place, or altered bytes.
    #[error("cannot open the sealed value: {reason}")]
    Unsealable {
        /// Why; never holds plain bytes.
        reason: &'static str,
    },
    /// A sealing key is not usable.
    #[error("bad sealing key: {reason}")]
    BadSealingKey {
        /// Why; never holds key bytes.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{operation} {}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl Error {
    /// Whether trying again may help.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            // Entropy, a remote signer, a key service, a disk come back; a cluster gets its keys and its address.
            Self::Crypto { .. }
            | Self::Io { .. }
            | Self::NoAuthorities { .. }
            | Self::NoEndpoint { .. } => Retry::Later,
            Self::Store(error) => error.retry(),
            Self::Engine(error) => error.retry(),
            _ => Retry::Never,
        }
    }
}

/// For drivers: worth another call where a store or a signer may come back, else the end of the change.
impl From<Error> for DriverError {
    fn from(error: Error) -> Self {
        let (retry, reason) = (error.retry(), error.to_string());
        let source: Option<Box<dyn std::error::Error + Send + Sync>> = Some(Box::new(error));
        if retry == Retry::Never {
            return Self::Internal {
                what: reason,
                source,
            };
        }
        Self::Unavailable {
            service: "secret store".to_owned(),
            reason,
            retry,
            source,
        }
    }
}

impl From<aws_lc_rs::error::Unspecified> for Error {
    fn from(_: aws_lc_rs::error::Unspecified) -> Self {
        Self::Crypto {
            operation: "compute",
        }
    }
}

fn join(problems: &[BundleProblem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}
