//! Parts that `init` and `join` have in common.

use serde::Serialize;

/// A named argument of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arg {
    /// Name without leading dashes.
    pub name: String,
    /// Value.
    pub value: String,
}

impl Arg {
    /// An argument.
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// How the node registers itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRegistration {
    /// Name of the node.
    pub name: String,
    /// Socket of the container runtime.
    pub cri_socket: String,
    /// When images are pulled.
    pub image_pull_policy: &'static str,
    /// Arguments of the kubelet.
    pub kubelet_extra_args: Vec<Arg>,
    /// Taints. Absent: kubeadm's own (the control plane taint on control planes); empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<RegistrationTaint>>,
}

/// A taint at registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistrationTaint {
    /// Key.
    pub key: String,
    /// Value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Effect.
    pub effect: &'static str,
}

/// Where the API server of this node listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalApiEndpoint {
    /// Address.
    pub advertise_address: String,
    /// Port.
    pub bind_port: u16,
}

/// Where kubeadm finds patches for what it writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Patches {
    /// Directory.
    pub directory: &'static str,
}

/// How long kubeadm waits. Durations as Go writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Timeouts {
    /// For the control plane's components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_component_health_check: Option<&'static str>,
    /// For the kubelet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_health_check: Option<&'static str>,
    /// For one call to the API.
    #[serde(rename = "kubernetesAPICall", skip_serializing_if = "Option::is_none")]
    pub kubernetes_api_call: Option<&'static str>,
    /// For one call to etcd.
    #[serde(rename = "etcdAPICall", skip_serializing_if = "Option::is_none")]
    pub etcd_api_call: Option<&'static str>,
    /// For the kubelet's first certificate.
    #[serde(rename = "tlsBootstrap", skip_serializing_if = "Option::is_none")]
    pub tls_bootstrap: Option<&'static str>,
    /// For the discovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<&'static str>,
}
