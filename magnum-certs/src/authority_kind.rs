//! The three authorities of a cluster.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;

/// The authorities of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthorityKind {
    /// Kubernetes API: API server, kubelets, users.
    Kubernetes,
    /// etcd members and their clients.
    Etcd,
    /// The aggregation layer's front proxy.
    FrontProxy,
}

impl AuthorityKind {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Kubernetes, Self::Etcd, Self::FrontProxy];

    /// `kubernetes`, `etcd` or `front-proxy`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::FrontProxy => "front-proxy",
        }
    }
}

impl fmt::Display for AuthorityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AuthorityKind {
    type Err = Error;

    /// Reads Magnum's `ca_cert_type`: `kubernetes`, `kubelet` (the same), `etcd`, `front-proxy` or `front_proxy`.
    ///
    /// # Errors
    /// [`Error::BadName`] for any other text: a misspelt type never means the Kubernetes authority.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "kubernetes" | "kubelet" => Ok(Self::Kubernetes),
            "etcd" => Ok(Self::Etcd),
            "front-proxy" | "front_proxy" => Ok(Self::FrontProxy),
            other => Err(Error::BadName {
                name: other.chars().take(80).collect(),
                reason: "an authority is kubernetes, kubelet, etcd or front-proxy",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_authority_type_is_never_the_kubernetes_one() {
        assert_eq!(
            "kubelet".parse::<AuthorityKind>().unwrap(),
            AuthorityKind::Kubernetes
        );
        assert_eq!(
            "front_proxy".parse::<AuthorityKind>().unwrap(),
            AuthorityKind::FrontProxy
        );
        for kind in AuthorityKind::ALL {
            assert_eq!(kind.as_str().parse::<AuthorityKind>().unwrap(), kind);
        }
        for bad in ["etdc", "", "Kubernetes"] {
            assert!(
                matches!(bad.parse::<AuthorityKind>(), Err(Error::BadName { .. })),
                "{bad}"
            );
        }
    }
}
