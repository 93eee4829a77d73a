//! `InitConfiguration`: the first control plane node.

use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};

use super::registration::{LocalApiEndpoint, NodeRegistration, Patches, Timeouts};

/// What `kubeadm init` does on this node.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitConfiguration {
    /// Always [`API_VERSION`](super::API_VERSION).
    pub api_version: &'static str,
    /// Always `InitConfiguration`.
    pub kind: &'static str,
    /// Tokens to make. An empty list makes kubeadm create one that lives a day.
    pub bootstrap_tokens: Vec<BootstrapToken>,
    /// The API server of this node.
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: LocalApiEndpoint,
    /// How the node registers.
    pub node_registration: NodeRegistration,
    /// Patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches: Option<Patches>,
    /// Waiting times.
    pub timeouts: Timeouts,
}

/// A bootstrap token.
#[derive(Debug, Clone, Serialize)]
pub struct BootstrapToken {
    /// `[a-z0-9]{6}.[a-z0-9]{16}`.
    #[serde(serialize_with = "expose")]
    pub token: SecretString,
    /// Life, as Go writes durations.
    pub ttl: &'static str,
    /// What it may be used for.
    pub usages: [&'static str; 1],
    /// Groups of its user.
    pub groups: [&'static str; 1],
}

impl BootstrapToken {
    /// The token that keeps kubeadm from making one that lives a day: a minute of life, used by nobody.
    #[must_use]
    pub fn throw_away(token: SecretString) -> Self {
        Self {
            token,
            ttl: "1m0s",
            usages: ["authentication"],
            groups: ["system:bootstrappers:kubeadm:default-node-token"],
        }
    }
}

fn expose<S: Serializer>(token: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(token.expose_secret())
}
