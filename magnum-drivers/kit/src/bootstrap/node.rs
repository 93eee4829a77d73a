//! The input of a rendering that all members of one node group and role share.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use magnum_core::{ClusterId, KubeVersion, NetworkPlan, Taint};
use secrecy::SecretString;

use super::role::NodeRole;
use super::validate::kubelet_may_set_label;

/// Everything that the members of one node group and role have in common.
///
/// [`NodeShared::new`] gives the defaults; fields are public and checked by [`NodeShared::render`](Self::render).
#[derive(Debug, Clone)]
pub struct NodeShared {
    /// Id of the cluster.
    pub cluster_id: ClusterId,
    /// Name of the node group, a DNS label.
    pub node_group: String,
    /// Kubernetes version of the node image, and for the first control plane node of the cluster.
    pub kubernetes: KubeVersion,
    /// `controlPlaneEndpoint` of the cluster. Burnt into every node: chosen once.
    pub endpoint: Endpoint,
    /// Subnet in which a node has exactly one address, which becomes its node address.
    pub node_subnet: Ipv4Net,
    /// Pod and service ranges.
    pub networking: Networking,
    /// Pod network of the cluster.
    pub cni: Cni,
    /// What the node is, with the files that this needs.
    pub role: NodeRole,
    /// Labels, taints and settings of the kubelet.
    pub kubelet: KubeletOptions,
    /// Repository of the images of the control plane; kubeadm's own default where absent.
    pub image_repository: Option<String>,
    /// When images are pulled. `Never` is for air-gapped images that carry everything.
    pub image_pull_policy: ImagePullPolicy,
    /// Mirrors of container registries.
    pub mirrors: Vec<RegistryMirror>,
    /// HTTP proxy of the nodes.
    pub proxy: Option<Proxy>,
    /// Time servers; empty keeps what the image has.
    pub ntp_servers: Vec<String>,
    /// CA bundle (PEM) for the cloud's own API, needed to send signals to a cloud with a private CA.
    pub cloud_ca: Option<String>,
    /// Public keys allowed to log in as the image's user.
    pub ssh_authorized_keys: Vec<String>,
    /// Whether the node reports its stages to a `HEAT_SIGNAL` handle. Default `true`.
    pub signal: bool,
    /// Whether the metadata address is closed after the bootstrap, so that no pod can read the user-data. Default `true`.
    pub block_metadata: bool,
    /// How long a joining node waits for the endpoint, in seconds. Default 1200.
    pub endpoint_wait_seconds: u32,
}

impl NodeShared {
    /// Input with defaults: flannel, signals on, metadata closed, no proxy, no mirrors.
    #[must_use]
    pub fn new(
        cluster_id: ClusterId,
        node_group: impl Into<String>,
        kubernetes: KubeVersion,
        endpoint: Endpoint,
        node_subnet: Ipv4Net,
        role: NodeRole,
    ) -> Self {
        Self {
            cluster_id,
            node_group: node_group.into(),
            kubernetes,
            endpoint,
            node_subnet,
            networking: Networking::default(),
            cni: Cni::Flannel,
            role,
            kubelet: KubeletOptions::default(),
            image_repository: None,
            image_pull_policy: ImagePullPolicy::IfNotPresent,
            mirrors: Vec::new(),
            proxy: None,
            ntp_servers: Vec::new(),
            cloud_ca: None,
            ssh_authorized_keys: Vec::new(),
            signal: true,
            block_metadata: true,
            endpoint_wait_seconds: 1_200,
        }
    }
}

/// Host and port of a cluster's API.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    host: String,
    port: u16,
}

impl Endpoint {
    /// An endpoint on `host`, an address or a DNS name; an IPv6 address without brackets.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }

    /// The host, an IPv6 address without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// `https://host:port`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{self}")
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Ranges inside of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Networking {
    /// Range of the pods. Default `10.100.0.0/16`.
    pub pod_cidr: IpNet,
    /// Range of the services. Default `10.254.0.0/16`.
    pub service_cidr: IpNet,
    /// DNS domain of the services. Default `cluster.local`.
    pub dns_domain: String,
    /// Prefix length of one node's part of the pod range. Default 24 (IPv4), 64 (IPv6).
    pub node_cidr_mask: Option<u8>,
}

impl Default for Networking {
    fn default() -> Self {
        Self {
            pod_cidr: IpNet::V4(Ipv4Net::new_assert([10, 100, 0, 0].into(), 16)),
            service_cidr: IpNet::V4(Ipv4Net::new_assert([10, 254, 0, 0].into(), 16)),
            dns_domain: "cluster.local".to_owned(),
            node_cidr_mask: None,
        }
    }
}

impl From<&NetworkPlan> for Networking {
    fn from(plan: &NetworkPlan) -> Self {
        Self {
            pod_cidr: plan.pods,
            service_cidr: plan.services,
            ..Self::default()
        }
    }
}

/// The pod network of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cni {
    /// Flannel with VXLAN.
    Flannel,
    /// Calico. No manifests yet.
    Calico,
    /// Cilium. No manifests yet.
    Cilium,
    /// None: the user brings their own; nodes stay not ready until then.
    None,
}

impl Cni {
    /// The name in labels and in `node.env`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flannel => "flannel",
            Self::Calico => "calico",
            Self::Cilium => "cilium",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Cni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a node's kubelet is told.
#[derive(Debug, Clone, PartialEq)]
pub struct KubeletOptions {
    /// Labels of the node. The kubelet sets [`own_labels`](Self::own_labels) itself; the rest, which the API server
    /// would refuse from a kubelet, is the engine's to set: [`engine_labels`](Self::engine_labels).
    pub labels: BTreeMap<String, String>,
    /// Taints at registration. On control planes they come beside the usual control plane taint.
    pub taints: Vec<Taint>,
    /// Whether the usual taint of control plane nodes is set. Default `true`; without meaning for workers.
    pub control_plane_taint: bool,
    /// Further arguments, without leading dashes. Arguments that the library sets itself are refused.
    pub extra_args: Vec<(String, String)>,
    /// Whether kubelets ask the cluster for serving certificates. Default `true`.
    pub serving_certificates: bool,
    /// Settings of this group only, merged into the cluster's `KubeletConfiguration` by a kubeadm patch.
    pub config_patch: Option<serde_json::Map<String, serde_json::Value>>,
}

impl KubeletOptions {
    /// The labels that a kubelet may set on its own node.
    pub fn own_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels
            .iter()
            .filter(|(key, _)| kubelet_may_set_label(key))
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The labels that the kubelet may not set, which the engine has to set through the API.
    pub fn engine_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels
            .iter()
            .filter(|(key, _)| !kubelet_may_set_label(key))
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self {
            labels: BTreeMap::new(),
            taints: Vec::new(),
            control_plane_taint: true,
            extra_args: Vec::new(),
            serving_certificates: true,
            config_patch: None,
        }
    }
}

/// When a container image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ImagePullPolicy {
    /// At every start.
    Always,
    /// When the node does not have it.
    #[default]
    IfNotPresent,
    /// Never: the node image carries it, which the preflight checks.
    Never,
}

impl ImagePullPolicy {
    /// The name in the Kubernetes API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// A mirror of a container registry.
#[derive(Debug, Clone)]
pub struct RegistryMirror {
    /// The registry that is mirrored, for instance `registry.k8s.io`, or `_default` for all others.
    pub registry: String,
    /// Addresses of the mirror, tried in order, for instance `https://mirror.example.org`.
    pub endpoints: Vec<String>,
    /// CA bundle (PEM) of the mirror.
    pub ca: Option<String>,
    /// User and password.
    pub credentials: Option<(String, SecretString)>,
}

/// An HTTP proxy for the nodes.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Proxy for `http` addresses. May carry a password.
    pub http: Option<String>,
    /// Proxy for `https` addresses. May carry a password.
    pub https: Option<String>,
    /// Hosts, domains and ranges reached directly. The cluster's own ranges are added.
    pub no_proxy: Vec<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("http", &self.http.as_ref().map(|_| "[set]"))
            .field("https", &self.https.as_ref().map(|_| "[set]"))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_endpoint_has_brackets() {
        assert_eq!(
            Endpoint::new("2001:db8::1", 6443).to_string(),
            "[2001:db8::1]:6443"
        );
        assert_eq!(
            Endpoint::new("10.0.0.5", 6443).url(),
            "https://10.0.0.5:6443"
        );
        assert_eq!(
            Endpoint::new("api.example.org", 443).to_string(),
            "api.example.org:443"
        );
    }

    #[test]
    fn ms_04_debug_hides_proxy_passwords() {
        let proxy = Proxy {
            http: Some("http://u:hunter2@p".into()),
            https: None,
            no_proxy: vec![],
        };
        assert!(!format!("{proxy:?}").contains("hunter2"));
    }
}
