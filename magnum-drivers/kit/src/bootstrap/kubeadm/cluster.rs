//! `ClusterConfiguration`: what all control plane nodes have in common.

use serde::Serialize;

use super::registration::Arg;

/// The cluster as kubeadm keeps it in the ConfigMap `kubeadm-config`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConfiguration {
    /// Always [`API_VERSION`](super::API_VERSION).
    pub api_version: &'static str,
    /// Always `ClusterConfiguration`.
    pub kind: &'static str,
    /// Name of the cluster.
    pub cluster_name: String,
    /// `vX.Y.Z`.
    pub kubernetes_version: String,
    /// `host:port` of the API.
    pub control_plane_endpoint: String,
    /// Where the PKI lies.
    pub certificates_dir: &'static str,
    /// Algorithm of the keys that kubeadm makes.
    pub encryption_algorithm: &'static str,
    /// Life of the leaf certificates.
    pub certificate_validity_period: &'static str,
    /// Image repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_repository: Option<String>,
    /// Ranges and domain.
    pub networking: NetworkingSpec,
    /// kube-apiserver.
    pub api_server: ApiServer,
    /// kube-controller-manager.
    pub controller_manager: ControlPlaneComponent,
    /// kube-scheduler.
    pub scheduler: ControlPlaneComponent,
    /// etcd.
    pub etcd: Etcd,
    /// kube-proxy.
    pub proxy: ProxyAddon,
}

/// Ranges and domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkingSpec {
    /// Pods.
    pub pod_subnet: String,
    /// Services.
    pub service_subnet: String,
    /// Domain.
    pub dns_domain: String,
}

/// kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiServer {
    /// Further names in its certificate.
    #[serde(rename = "certSANs")]
    pub cert_sans: Vec<String>,
    /// Arguments.
    pub extra_args: Vec<Arg>,
    /// Mounts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_volumes: Vec<HostPathMount>,
    /// Environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_envs: Vec<Arg>,
}

/// kube-controller-manager or kube-scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneComponent {
    /// Arguments.
    pub extra_args: Vec<Arg>,
}

/// A path of the node inside of a static pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostPathMount {
    /// Name.
    pub name: String,
    /// On the node.
    pub host_path: String,
    /// In the pod.
    pub mount_path: String,
    /// Read only.
    pub read_only: bool,
    /// Type of the path.
    pub path_type: &'static str,
}

/// etcd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Etcd {
    /// On the control plane nodes.
    pub local: LocalEtcd,
}

/// etcd on the control plane nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalEtcd {
    /// Data directory.
    pub data_dir: &'static str,
    /// Arguments.
    pub extra_args: Vec<Arg>,
}

/// Whether kubeadm installs kube-proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProxyAddon {
    /// Left out.
    pub disabled: bool,
}
