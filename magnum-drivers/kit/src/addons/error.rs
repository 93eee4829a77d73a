//! What can go wrong with add-ons.

use magnum_core::Retry;
use thiserror::Error;

use crate::kubernetes::KubernetesError;

/// An add-on could not be made or applied.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum AddonError {
    /// The library cannot do this (yet). Told at request time, never half way.
    #[error("{what} is not supported: {reason}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// Why not, and what to do instead.
        reason: String,
    },
    /// A value that an add-on needs is missing or malformed.
    #[error("add-on {addon}: {reason}")]
    Invalid {
        /// Name of the add-on.
        addon: String,
        /// What is wrong, without secrets.
        reason: String,
    },
    /// A manifest is not what the library takes.
    #[error("manifest of add-on {addon}: {reason}")]
    Manifest {
        /// Name of the add-on.
        addon: String,
        /// What is wrong.
        reason: String,
    },
    /// The cluster's API did not do as it was asked.
    #[error("add-on {addon}: {source}")]
    Kubernetes {
        /// Name of the add-on.
        addon: String,
        /// What happened.
        source: KubernetesError,
    },
}

impl AddonError {
    /// Whether the same call can succeed later.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            // A definition that was applied a moment ago is served a moment later.
            Self::Kubernetes {
                source: KubernetesError::UnknownKind { .. },
                ..
            } => Retry::Later,
            Self::Kubernetes { source, .. } => source.retry(),
            _ => Retry::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_is_not_served_yet_is_waited_for() {
        let source = KubernetesError::UnknownKind {
            api_version: "example.org/v1".into(),
            kind: "Thing".into(),
        };
        assert_eq!(
            AddonError::Kubernetes {
                addon: "x".into(),
                source
            }
            .retry(),
            Retry::Later
        );
        let error = AddonError::Unsupported {
            what: "CNI calico".into(),
            reason: "no manifests".into(),
        };
        assert_eq!(error.retry(), Retry::Never);
    }
}
