//! The documents of one node's `kubeadm.yaml`.

use magnum_certs::DISCOVERY_PATH;
use magnum_core::TaintEffect;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    API_VERSION, ApiServer, Arg, BootstrapToken, ClusterConfiguration, ControlPlaneComponent,
    Discovery, Etcd, FileDiscovery, InitConfiguration, JoinConfiguration, JoinControlPlane,
    KubeProxyConfiguration, KubeletConfiguration, LocalApiEndpoint, LocalEtcd, NetworkingSpec,
    NodeRegistration, Patches, ProxyAddon, RegistrationTaint, Timeouts, to_yaml,
};
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::node::NodeShared;
use crate::bootstrap::placeholder::{INSTANCE_ID, NODE_IP, Placeholder};
use crate::bootstrap::role::{ControlPlane, NodeRole};

/// Label that tells a node's group, as Magnum's own clusters have it.
const GROUP_LABEL: &str = "magnum.openstack.org/nodegroup";
const CONTROL_PLANE_TAINT: &str = "node-role.kubernetes.io/control-plane";
const API_PORT: u16 = 6443;
const PATCHES: Patches = Patches {
    directory: "/etc/kubernetes/patches",
};

/// The text of `kubeadm.yaml`.
pub(crate) fn documents(node: &NodeShared) -> Result<String, BootstrapError> {
    match &node.role {
        NodeRole::ControlPlaneInit(control_plane) => {
            let mut texts = vec![
                yaml(&init(node, control_plane))?,
                yaml(&cluster(node, control_plane))?,
                yaml(&KubeletConfiguration::baseline(
                    node.networking.dns_domain.clone(),
                    node.kubelet.serving_certificates,
                ))?,
            ];
            if !control_plane.without_kube_proxy {
                texts.push(yaml(&KubeProxyConfiguration::iptables(
                    node.networking.pod_cidr.to_string(),
                ))?);
            }
            Ok(texts.join("---\n"))
        }
        NodeRole::ControlPlaneJoin(_) => yaml(&join(
            node,
            Some(JoinControlPlane {
                local_api_endpoint: local_api(),
            }),
        )),
        NodeRole::Worker => yaml(&join(node, None)),
    }
}

fn yaml<T: Serialize>(value: &T) -> Result<String, BootstrapError> {
    to_yaml("kubeadm.yaml", value)
}

fn init(node: &NodeShared, control_plane: &ControlPlane) -> InitConfiguration {
    InitConfiguration {
        api_version: API_VERSION,
        kind: "InitConfiguration",
        bootstrap_tokens: vec![BootstrapToken::throw_away(throw_away_token(
            node,
            control_plane,
        ))],
        local_api_endpoint: local_api(),
        node_registration: registration(node),
        patches: node.kubelet.config_patch.as_ref().map(|_| PATCHES),
        timeouts: Timeouts {
            control_plane_component_health_check: Some("8m0s"),
            kubernetes_api_call: Some("2m0s"),
            ..Timeouts::default()
        },
    }
}

fn join(node: &NodeShared, control_plane: Option<JoinControlPlane>) -> JoinConfiguration {
    JoinConfiguration {
        api_version: API_VERSION,
        kind: "JoinConfiguration",
        discovery: Discovery {
            file: FileDiscovery {
                kube_config_path: DISCOVERY_PATH,
            },
        },
        timeouts: Timeouts {
            discovery: Some("20m0s"),
            tls_bootstrap: Some("10m0s"),
            kubelet_health_check: Some("4m0s"),
            control_plane_component_health_check: control_plane.is_some().then_some("8m0s"),
            etcd_api_call: control_plane.is_some().then_some("4m0s"),
            ..Timeouts::default()
        },
        control_plane,
        node_registration: registration(node),
        patches: node.kubelet.config_patch.as_ref().map(|_| PATCHES),
    }
}

fn cluster(node: &NodeShared, control_plane: &ControlPlane) -> ClusterConfiguration {
    let mut cert_sans: Vec<String> = Vec::new();
    let fixed = [node.endpoint.host(), "localhost", "127.0.0.1"];
    for name in control_plane
        .cert_sans
        .iter()
        .map(String::as_str)
        .chain(fixed)
    {
        if !cert_sans.iter().any(|known| known == name) {
            cert_sans.push(name.to_owned());
        }
    }
    let mut controller_manager = vec![
        Arg::new("profiling", "false"),
        Arg::new("terminated-pod-gc-threshold", "1000"),
    ];
    if let Some(mask) = node.networking.node_cidr_mask {
        controller_manager.push(Arg::new("node-cidr-mask-size", mask.to_string()));
    }
    ClusterConfiguration {
        api_version: API_VERSION,
        kind: "ClusterConfiguration",
        cluster_name: node.cluster_id.to_string(),
        kubernetes_version: node.kubernetes.to_string(),
        control_plane_endpoint: node.endpoint.to_string(),
        certificates_dir: "/etc/kubernetes/pki",
        encryption_algorithm: "ECDSA-P256",
        certificate_validity_period: "8760h0m0s",
        image_repository: node.image_repository.clone(),
        networking: NetworkingSpec {
            pod_subnet: node.networking.pod_cidr.to_string(),
            service_subnet: node.networking.service_cidr.to_string(),
            dns_domain: node.networking.dns_domain.clone(),
        },
        api_server: ApiServer {
            cert_sans,
            extra_args: merged(
                vec![Arg::new("profiling", "false")],
                &control_plane.api_server_args,
            ),
            extra_volumes: Vec::new(),
            extra_envs: Vec::new(),
        },
        controller_manager: ControlPlaneComponent {
            extra_args: merged(controller_manager, &control_plane.controller_manager_args),
        },
        scheduler: ControlPlaneComponent {
            extra_args: merged(
                vec![Arg::new("profiling", "false")],
                &control_plane.scheduler_args,
            ),
        },
        etcd: Etcd {
            local: LocalEtcd {
                data_dir: control_plane.etcd.data_dir(),
                extra_args: merged(
                    vec![
                        Arg::new(
                            "quota-backend-bytes",
                            control_plane.etcd.quota_backend_bytes.to_string(),
                        ),
                        Arg::new("auto-compaction-retention", "1"),
                    ],
                    &control_plane.etcd.extra_args,
                ),
            },
        },
        proxy: ProxyAddon {
            disabled: control_plane.without_kube_proxy,
        },
    }
}

/// `own` without what the caller sets as well, then the caller's.
fn merged(mut own: Vec<Arg>, extra: &[(String, String)]) -> Vec<Arg> {
    own.retain(|arg| !extra.iter().any(|(name, _)| *name == arg.name));
    own.extend(extra.iter().map(|(name, value)| Arg::new(name, value)));
    own
}

fn local_api() -> LocalApiEndpoint {
    LocalApiEndpoint {
        advertise_address: NODE_IP.to_owned(),
        bind_port: API_PORT,
    }
}

fn registration(node: &NodeShared) -> NodeRegistration {
    let mut labels = vec![format!("{GROUP_LABEL}={}", node.node_group)];
    labels.extend(
        node.kubelet
            .own_labels()
            .filter(|(key, _)| *key != GROUP_LABEL)
            .map(|(k, v)| format!("{k}={v}")),
    );
    let mut kubelet_extra_args = vec![
        Arg::new("cloud-provider", "external"),
        Arg::new("provider-id", format!("openstack:///{INSTANCE_ID}")),
        Arg::new("node-ip", NODE_IP),
        Arg::new("node-labels", labels.join(",")),
    ];
    kubelet_extra_args.extend(
        node.kubelet
            .extra_args
            .iter()
            .map(|(name, value)| Arg::new(name, value)),
    );
    NodeRegistration {
        name: Placeholder::NodeName.text().to_owned(),
        cri_socket: "unix:///run/containerd/containerd.sock".to_owned(),
        image_pull_policy: node.image_pull_policy.name(),
        kubelet_extra_args,
        taints: taints(node),
    }
}

/// Taints at registration: `None` where kubeadm's own default says the same.
fn taints(node: &NodeShared) -> Option<Vec<RegistrationTaint>> {
    let control_plane = node.role.control_plane().is_some();
    let own = (control_plane && node.kubelet.control_plane_taint).then(|| RegistrationTaint {
        key: CONTROL_PLANE_TAINT.to_owned(),
        value: String::new(),
        effect: "NoSchedule",
    });
    if node.kubelet.taints.is_empty() && own.is_some() == control_plane {
        return None;
    }
    let extra = node.kubelet.taints.iter().map(|taint| RegistrationTaint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: effect_name(taint.effect),
    });
    Some(own.into_iter().chain(extra).collect())
}

const fn effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}

/// A token that nobody uses. Derived from the cluster's own keys, so that rendering needs no randomness and the
/// token cannot be guessed during its one minute of life.
fn throw_away_token(node: &NodeShared, control_plane: &ControlPlane) -> SecretString {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut hash = Sha256::new();
    hash.update(b"throw-away bootstrap token\0");
    hash.update(node.cluster_id.as_uuid().as_bytes());
    for file in &control_plane.pki {
        hash.update(file.content.expose_secret().as_bytes());
    }
    let letters: String = hash
        .finalize()
        .iter()
        .take(22)
        .map(|byte| char::from(LETTERS[usize::from(byte % 36)]))
        .collect();
    format!("{}.{}", &letters[..6], &letters[6..]).into()
}
