//! `JoinConfiguration`: every node but the first.

use serde::Serialize;

use super::registration::{LocalApiEndpoint, NodeRegistration, Patches, Timeouts};

/// What `kubeadm join` does on this node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JoinConfiguration {
    /// Always [`API_VERSION`](super::API_VERSION).
    pub api_version: &'static str,
    /// Always `JoinConfiguration`.
    pub kind: &'static str,
    /// How the cluster is found and trusted.
    pub discovery: Discovery,
    /// Present on control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<JoinControlPlane>,
    /// How the node registers.
    pub node_registration: NodeRegistration,
    /// Patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches: Option<Patches>,
    /// Waiting times.
    pub timeouts: Timeouts,
}

/// Discovery. A kubeconfig with credentials is also the credential of the TLS bootstrap: no token anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discovery {
    /// By a file.
    pub file: FileDiscovery,
}

/// Discovery by a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiscovery {
    /// Path of the kubeconfig.
    pub kube_config_path: &'static str,
}

/// A further control plane node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JoinControlPlane {
    /// The API server of this node.
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: LocalApiEndpoint,
}
