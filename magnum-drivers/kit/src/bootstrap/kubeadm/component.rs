//! Configuration of the kubelet and of kube-proxy.

use serde::Serialize;

/// The kubelets' configuration, kept by kubeadm in the ConfigMap `kubelet-config`.
///
/// What is not set here gets kubeadm's defaults (authority of clients, DNS address, static pod path).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeletConfiguration {
    /// Always `kubelet.config.k8s.io/v1beta1`.
    pub api_version: &'static str,
    /// Always `KubeletConfiguration`.
    pub kind: &'static str,
    /// Who may talk to the kubelet.
    pub authentication: KubeletAuthentication,
    /// What they may do.
    pub authorization: KubeletAuthorization,
    /// Read-only port; 0 is off.
    pub read_only_port: u16,
    /// cgroup driver.
    pub cgroup_driver: &'static str,
    /// Domain of the services.
    pub cluster_domain: String,
    /// Whether client certificates are renewed.
    pub rotate_certificates: bool,
    /// Whether serving certificates come from the cluster.
    #[serde(rename = "serverTLSBootstrap")]
    pub server_tls_bootstrap: bool,
    /// Lowest TLS version.
    pub tls_min_version: &'static str,
    /// Whether containers get the runtime's seccomp profile.
    pub seccomp_default: bool,
    /// Whether wrong kernel settings are an error. The preflight sets them.
    pub protect_kernel_defaults: bool,
    /// Idle limit of streams.
    pub streaming_connection_idle_timeout: &'static str,
    /// Time for pods at a shutdown.
    pub shutdown_grace_period: &'static str,
    /// Part of it for critical pods.
    pub shutdown_grace_period_critical_pods: &'static str,
}

/// Who may talk to the kubelet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KubeletAuthentication {
    /// Anonymous requests.
    pub anonymous: KubeletAnonymousAuthentication,
    /// Tokens, checked by the API server.
    pub webhook: KubeletWebhookAuthentication,
}

/// Anonymous requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KubeletAnonymousAuthentication {
    /// On or off.
    pub enabled: bool,
}

/// Tokens, checked by the API server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KubeletWebhookAuthentication {
    /// On or off.
    pub enabled: bool,
}

/// What callers of the kubelet may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KubeletAuthorization {
    /// `Webhook`: the API server decides.
    pub mode: &'static str,
}

impl KubeletConfiguration {
    /// The library's baseline.
    #[must_use]
    pub fn baseline(cluster_domain: String, server_tls_bootstrap: bool) -> Self {
        Self {
            api_version: "kubelet.config.k8s.io/v1beta1",
            kind: "KubeletConfiguration",
            authentication: KubeletAuthentication {
                anonymous: KubeletAnonymousAuthentication { enabled: false },
                webhook: KubeletWebhookAuthentication { enabled: true },
            },
            authorization: KubeletAuthorization { mode: "Webhook" },
            read_only_port: 0,
            cgroup_driver: "systemd",
            cluster_domain,
            rotate_certificates: true,
            server_tls_bootstrap,
            tls_min_version: "VersionTLS12",
            seccomp_default: true,
            protect_kernel_defaults: true,
            streaming_connection_idle_timeout: "5m0s",
            shutdown_grace_period: "60s",
            shutdown_grace_period_critical_pods: "20s",
        }
    }
}

/// kube-proxy's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeProxyConfiguration {
    /// Always `kubeproxy.config.k8s.io/v1alpha1`.
    pub api_version: &'static str,
    /// Always `KubeProxyConfiguration`.
    pub kind: &'static str,
    /// Mode.
    pub mode: &'static str,
    /// Range of the pods.
    #[serde(rename = "clusterCIDR")]
    pub cluster_cidr: String,
}

impl KubeProxyConfiguration {
    /// kube-proxy with iptables, which every supported kernel and CNI has.
    #[must_use]
    pub const fn iptables(cluster_cidr: String) -> Self {
        Self {
            api_version: "kubeproxy.config.k8s.io/v1alpha1",
            kind: "KubeProxyConfiguration",
            mode: "iptables",
            cluster_cidr,
        }
    }
}
