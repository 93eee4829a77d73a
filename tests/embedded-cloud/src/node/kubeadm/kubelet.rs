//! `KubeletConfiguration` and `KubeProxyConfiguration`: every field the types have, no other.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::registration::GoDuration;

/// `kind: KubeletConfiguration` (kubelet.config.k8s.io/v1beta1).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the kubelet's own words")]
pub struct KubeletConfiguration {
    pub address: Option<String>,
    pub static_pod_path: Option<String>,
    #[serde(rename = "staticPodURL")]
    pub static_pod_url: Option<String>,
    pub tls_cert_file: Option<String>,
    pub tls_private_key_file: Option<String>,
    pub tls_min_version: Option<String>,
    pub healthz_bind_address: Option<String>,
    pub cluster_domain: Option<String>,
    pub cgroup_root: Option<String>,
    pub cgroup_driver: Option<String>,
    pub cpu_manager_policy: Option<String>,
    pub memory_manager_policy: Option<String>,
    pub topology_manager_policy: Option<String>,
    pub topology_manager_scope: Option<String>,
    pub hairpin_mode: Option<String>,
    #[serde(rename = "podCIDR")]
    pub pod_cidr: Option<String>,
    pub resolv_conf: Option<String>,
    pub kubelet_cgroups: Option<String>,
    pub system_cgroups: Option<String>,
    pub volume_plugin_dir: Option<String>,
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    pub system_reserved_cgroup: Option<String>,
    pub kube_reserved_cgroup: Option<String>,
    pub show_hidden_metrics_for_version: Option<String>,
    pub container_log_max_size: Option<String>,
    pub config_map_and_secret_change_detection_strategy: Option<String>,
    pub container_runtime_endpoint: Option<String>,
    pub image_service_endpoint: Option<String>,
    pub register_pull_policy: Option<String>,
    pub image_pull_credentials_verification_policy: Option<String>,
    pub sync_frequency: Option<GoDuration>,
    pub file_check_frequency: Option<GoDuration>,
    pub http_check_frequency: Option<GoDuration>,
    pub streaming_connection_idle_timeout: Option<GoDuration>,
    pub node_status_update_frequency: Option<GoDuration>,
    pub node_status_report_frequency: Option<GoDuration>,
    #[serde(rename = "imageMinimumGCAge")]
    pub image_minimum_gc_age: Option<GoDuration>,
    #[serde(rename = "imageMaximumGCAge")]
    pub image_maximum_gc_age: Option<GoDuration>,
    pub volume_stats_agg_period: Option<GoDuration>,
    pub cpu_manager_reconcile_period: Option<GoDuration>,
    pub runtime_request_timeout: Option<GoDuration>,
    #[serde(rename = "cpuCFSQuotaPeriod")]
    pub cpu_cfs_quota_period: Option<GoDuration>,
    pub eviction_pressure_transition_period: Option<GoDuration>,
    pub shutdown_grace_period: Option<GoDuration>,
    pub shutdown_grace_period_critical_pods: Option<GoDuration>,
    pub container_log_monitor_interval: Option<GoDuration>,
    pub enable_server: Option<bool>,
    pub rotate_certificates: Option<bool>,
    #[serde(rename = "serverTLSBootstrap")]
    pub server_tls_bootstrap: Option<bool>,
    pub enable_debugging_handlers: Option<bool>,
    pub enable_contention_profiling: Option<bool>,
    pub seccomp_default: Option<bool>,
    pub protect_kernel_defaults: Option<bool>,
    #[serde(rename = "makeIPTablesUtilChains")]
    pub make_ip_tables_util_chains: Option<bool>,
    pub fail_swap_on: Option<bool>,
    pub fail_cgroup_v1: Option<bool>,
    pub serialize_image_pulls: Option<bool>,
    pub register_node: Option<bool>,
    pub local_storage_capacity_isolation: Option<bool>,
    pub enable_profiling_handler: Option<bool>,
    pub enable_debug_flags_handler: Option<bool>,
    pub enable_system_log_handler: Option<bool>,
    pub enable_system_log_query: Option<bool>,
    pub run_once: Option<bool>,
    #[serde(rename = "cpuCFSQuota")]
    pub cpu_cfs_quota: Option<bool>,
    pub enable_controller_attach_detach: Option<bool>,
    #[serde(rename = "singleProcessOOMKill")]
    pub single_process_oom_kill: Option<bool>,
    pub port: Option<i64>,
    pub read_only_port: Option<i64>,
    #[serde(rename = "registryPullQPS")]
    pub registry_pull_qps: Option<i64>,
    pub registry_burst: Option<i64>,
    #[serde(rename = "eventRecordQPS")]
    pub event_record_qps: Option<i64>,
    pub event_burst: Option<i64>,
    pub healthz_port: Option<i64>,
    pub oom_score_adj: Option<i64>,
    pub node_lease_duration_seconds: Option<i64>,
    #[serde(rename = "imageGCHighThresholdPercent")]
    pub image_gc_high_threshold_percent: Option<i64>,
    #[serde(rename = "imageGCLowThresholdPercent")]
    pub image_gc_low_threshold_percent: Option<i64>,
    pub max_pods: Option<i64>,
    pub pod_pids_limit: Option<i64>,
    pub node_status_max_images: Option<i64>,
    pub max_open_files: Option<i64>,
    #[serde(rename = "kubeAPIQPS")]
    pub kube_apiqps: Option<i64>,
    #[serde(rename = "kubeAPIBurst")]
    pub kube_api_burst: Option<i64>,
    pub max_parallel_image_pulls: Option<i64>,
    pub pods_per_core: Option<i64>,
    pub eviction_max_pod_grace_period: Option<i64>,
    pub iptables_masquerade_bit: Option<i64>,
    pub iptables_drop_bit: Option<i64>,
    pub container_log_max_files: Option<i64>,
    pub container_log_max_workers: Option<i64>,
    pub tls_cipher_suites: Option<Vec<String>>,
    #[serde(rename = "clusterDNS")]
    pub cluster_dns: Option<Vec<String>>,
    pub allowed_unsafe_sysctls: Option<Vec<String>>,
    pub enforce_node_allocatable: Option<Vec<String>>,
    pub preloaded_images_verification_allowlist: Option<Vec<String>>,
    #[serde(rename = "staticPodURLHeader")]
    pub static_pod_url_header: Option<BTreeMap<String, String>>,
    pub system_reserved: Option<BTreeMap<String, String>>,
    pub kube_reserved: Option<BTreeMap<String, String>>,
    pub eviction_hard: Option<BTreeMap<String, String>>,
    pub eviction_soft: Option<BTreeMap<String, String>>,
    pub eviction_soft_grace_period: Option<BTreeMap<String, String>>,
    pub eviction_minimum_reclaim: Option<BTreeMap<String, String>>,
    pub qos_reserved: Option<BTreeMap<String, String>>,
    pub cpu_manager_policy_options: Option<BTreeMap<String, String>>,
    pub topology_manager_policy_options: Option<BTreeMap<String, String>>,
    pub feature_gates: Option<BTreeMap<String, bool>>,
    pub authentication: Option<Value>,
    pub authorization: Option<Value>,
    pub logging: Option<Value>,
    pub tracing: Option<Value>,
    pub register_with_taints: Option<Value>,
    pub reserved_memory: Option<Value>,
    pub shutdown_grace_period_by_pod_priority: Option<Value>,
    pub memory_swap: Option<Value>,
    pub crash_loop_back_off: Option<Value>,
    pub user_namespaces: Option<Value>,
    pub memory_throttling_factor: Option<Value>,
    #[serde(rename = "reservedSystemCPUs")]
    pub reserved_system_cp_us: Option<Value>,
}

/// `kind: KubeProxyConfiguration` (kubeproxy.config.k8s.io/v1alpha1).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "kube-proxy's own words")]
pub struct KubeProxyConfiguration {
    pub bind_address: Option<String>,
    pub bind_address_hard_fail: Option<bool>,
    #[serde(rename = "clusterCIDR")]
    pub cluster_cidr: Option<String>,
    pub mode: Option<ProxyMode>,
    pub hostname_override: Option<String>,
    pub healthz_bind_address: Option<String>,
    pub metrics_bind_address: Option<String>,
    pub enable_profiling: Option<bool>,
    pub show_hidden_metrics_for_version: Option<String>,
    pub port_range: Option<String>,
    pub node_port_addresses: Option<Vec<String>>,
    pub detect_local_mode: Option<String>,
    pub config_sync_period: Option<GoDuration>,
    pub feature_gates: Option<BTreeMap<String, bool>>,
    pub client_connection: Option<Value>,
    pub conntrack: Option<Value>,
    pub detect_local: Option<Value>,
    pub iptables: Option<Value>,
    pub ipvs: Option<Value>,
    pub nftables: Option<Value>,
    pub winkernel: Option<Value>,
    pub logging: Option<Value>,
    pub oom_score_adj: Option<i64>,
}

/// How services are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "kube-proxy's own words")]
pub enum ProxyMode {
    Iptables,
    Ipvs,
    Nftables,
    Kernelspace,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn known_fields_only() {
        let good = json!({"serverTLSBootstrap": true, "clusterDNS": ["10.254.0.10"], "shutdownGracePeriod": "60s",
            "imageGCHighThresholdPercent": 85, "podCIDR": "10.1.0.0/24", "authentication": {"anonymous": {"enabled": false}}});
        let kubelet: KubeletConfiguration = serde_json::from_value(good).unwrap();
        assert_eq!(kubelet.server_tls_bootstrap, Some(true));
        assert!(
            serde_json::from_value::<KubeletConfiguration>(json!({"serverTlsBootstrap": true}))
                .is_err()
        );
        assert!(serde_json::from_value::<KubeProxyConfiguration>(json!({"mode": "ebpf"})).is_err());
    }
}
