//! The labels that the Kubernetes drivers read, and those of Magnum that they knowingly do without.

use magnum_core::{LabelKind, LabelSchema};

const READ: [(&str, LabelKind); 16] = [
    ("availability_zone", LabelKind::Text),
    (
        "boot_volume_size",
        LabelKind::Number {
            min: 0,
            max: 16_384,
        },
    ),
    ("boot_volume_type", LabelKind::Text),
    ("boot_volume_availability_zone", LabelKind::Text),
    ("octavia_provider", LabelKind::Text),
    (
        "octavia_lb_algorithm",
        LabelKind::OneOf(&[
            "ROUND_ROBIN",
            "LEAST_CONNECTIONS",
            "SOURCE_IP",
            "SOURCE_IP_PORT",
        ]),
    ),
    ("octavia_lb_healthcheck", LabelKind::Switch),
    ("master_lb_allowed_cidrs", LabelKind::Ranges),
    ("api_master_lb_allowed_cidrs", LabelKind::Ranges),
    (
        "server_group_policies",
        LabelKind::OneOf(&[
            "soft-anti-affinity",
            "anti-affinity",
            "soft-affinity",
            "affinity",
        ]),
    ),
    ("dns_cluster_domain", LabelKind::Text),
    ("api_server_cert_sans", LabelKind::Text),
    ("container_infra_prefix", LabelKind::Text),
    ("cloud_provider_enabled", LabelKind::Switch),
    ("node_ssh_cidrs", LabelKind::Ranges),
    ("node_signals_enabled", LabelKind::Switch),
];

const WITH_RELEASE: &str = "the version of this component comes with the release of the driver";
const IN_IMAGE: &str = "the node image brings it";
const GONE: &str = "the component has not been maintained for years";
const KUBEADM: &str = "kubeadm's own default holds";

const IGNORED: [(&str, &[&str]); 4] = [
    (
        WITH_RELEASE,
        &[
            "autoscaler_tag",
            "calico_tag",
            "cinder_csi_plugin_tag",
            "cloud_provider_tag",
            "coredns_tag",
            "csi_attacher_tag",
            "csi_provisioner_tag",
            "csi_snapshotter_tag",
            "csi_resizer_tag",
            "csi_node_driver_registrar_tag",
            "csi_liveness_probe_tag",
            "etcd_tag",
            "flannel_tag",
            "flannel_cni_tag",
            "k8s_keystone_auth_tag",
            "magnum_auto_healer_tag",
            "metrics_server_chart_tag",
            "octavia_ingress_controller_tag",
        ],
    ),
    (
        IN_IMAGE,
        &[
            "cgroup_driver",
            "container_runtime",
            "containerd_version",
            "containerd_tarball_url",
            "containerd_tarball_sha256",
            "heat_container_agent_tag",
            "helm_client_tag",
            "helm_client_url",
            "helm_client_sha256",
            "hyperkube_prefix",
            "kube_image_digest",
            "ostree_commit",
            "ostree_remote",
            "selinux_mode",
            "use_podman",
        ],
    ),
    (
        GONE,
        &[
            "draino_tag",
            "heapster_enabled",
            "influx_grafana_dashboard_enabled",
            "kube_dashboard_version",
            "metrics_scraper_tag",
            "nginx_ingress_controller_tag",
            "nginx_ingress_controller_chart_tag",
            "prometheus_monitoring",
            "traefik_ingress_controller_tag",
        ],
    ),
    (
        KUBEADM,
        &[
            "admission_control_list",
            "system_pods_initial_delay",
            "system_pods_timeout",
        ],
    ),
];

/// The schema of the labels above.
pub(crate) fn known_labels() -> LabelSchema {
    let ignored = IGNORED
        .iter()
        .flat_map(|(why, keys)| keys.iter().map(|key| (*key, LabelKind::Ignored(why))));
    LabelSchema::default().with(READ).with(ignored)
}

#[cfg(test)]
mod tests {
    use magnum_core::{Labels, Problems};

    use super::*;
    use crate::labels::DriverLabels;

    #[test]
    fn what_the_schema_refuses_the_driver_refuses_too() {
        let wrong = "boot_volume_size=big,octavia_lb_algorithm=FASTEST,cloud_provider_enabled=maybe,node_ssh_cidrs=x,server_group_policies=near";
        let labels: Labels = wrong.parse().unwrap();
        let mut problems = Problems::new();
        known_labels().check(&labels, &mut problems);
        let fields = |problems: &Problems| -> std::collections::BTreeSet<String> {
            problems.iter().map(|p| p.field.clone()).collect()
        };
        let by_driver = DriverLabels::read(&labels).unwrap_err();
        assert_eq!(fields(&problems), fields(&by_driver));
    }
}
