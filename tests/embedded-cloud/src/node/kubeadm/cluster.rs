//! `ClusterConfiguration` of v1beta4.

use serde::Deserialize;

use super::registration::{Arg, GoDuration};

/// `networking`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Networking {
    /// Services; one range, or one of each family with a comma.
    pub service_subnet: Option<String>,
    /// Pods; likewise.
    pub pod_subnet: Option<String>,
    /// Domain.
    pub dns_domain: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct HostPathMount {
    pub name: String,
    pub host_path: String,
    pub mount_path: String,
    pub read_only: Option<bool>,
    pub path_type: Option<String>,
}

/// `apiServer`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct ApiServerSpec {
    pub extra_args: Vec<Arg>,
    pub extra_volumes: Vec<HostPathMount>,
    pub extra_envs: Vec<Arg>,
    #[serde(rename = "certSANs")]
    pub cert_sans: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct ComponentSpec {
    pub extra_args: Vec<Arg>,
    pub extra_volumes: Vec<HostPathMount>,
    pub extra_envs: Vec<Arg>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct LocalEtcd {
    pub image_repository: Option<String>,
    pub image_tag: Option<String>,
    pub data_dir: Option<String>,
    pub extra_args: Vec<Arg>,
    pub extra_envs: Vec<Arg>,
    #[serde(rename = "serverCertSANs")]
    pub server_cert_sans: Vec<String>,
    #[serde(rename = "peerCertSANs")]
    pub peer_cert_sans: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct ExternalEtcd {
    pub endpoints: Vec<String>,
    pub ca_file: String,
    pub cert_file: String,
    pub key_file: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct Etcd {
    pub local: Option<LocalEtcd>,
    pub external: Option<ExternalEtcd>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct Dns {
    pub image_repository: Option<String>,
    pub image_tag: Option<String>,
    pub disabled: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct ProxyAddon {
    pub disabled: bool,
}

/// The algorithms kubeadm knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub enum Algorithm {
    #[serde(rename = "RSA-2048")]
    Rsa2048,
    #[serde(rename = "RSA-3072")]
    Rsa3072,
    #[serde(rename = "RSA-4096")]
    Rsa4096,
    #[serde(rename = "ECDSA-P256")]
    EcdsaP256,
    #[serde(rename = "ECDSA-P384")]
    EcdsaP384,
}

/// `kind: ClusterConfiguration`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct ClusterConfiguration {
    pub cluster_name: Option<String>,
    pub kubernetes_version: String,
    pub control_plane_endpoint: String,
    pub certificates_dir: Option<String>,
    pub encryption_algorithm: Option<Algorithm>,
    pub certificate_validity_period: Option<GoDuration>,
    pub ca_certificate_validity_period: Option<GoDuration>,
    pub image_repository: Option<String>,
    pub networking: Networking,
    #[serde(default)]
    pub api_server: ApiServerSpec,
    #[serde(default)]
    pub controller_manager: ComponentSpec,
    #[serde(default)]
    pub scheduler: ComponentSpec,
    #[serde(default)]
    pub etcd: Etcd,
    #[serde(default)]
    pub dns: Dns,
    #[serde(default)]
    pub proxy: ProxyAddon,
}
