use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use magnum_certs::{ClusterPki, NodeFile, PKI_DIR, PkiOptions};
use magnum_core::{ClusterId, MemberId, Taint, TaintEffect};
use magnum_embedded_cloud::node::check_user_data;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::bootstrap::{Cni, ControlPlane, Endpoint, NodeRole, Proxy, RegistryMirror};

const SIGNAL: &str = r#"{"auth_url": "http://c/identity/v3", "password": "a!@#%^&*", "alarm_url": "http://c/heat/v1/p/signal"}"#;

fn pem(name: &str) -> String {
    format!("-----BEGIN {name}-----\nAAAA\n-----END {name}-----\n")
}

fn pki() -> Vec<NodeFile> {
    let mut files = Vec::new();
    for stem in ["ca", "etcd/ca", "front-proxy-ca"] {
        files.push(NodeFile::public(
            format!("{PKI_DIR}/{stem}.crt"),
            pem(&format!("{stem} CERTIFICATE")),
        ));
        files.push(NodeFile::private(
            format!("{PKI_DIR}/{stem}.key"),
            pem(&format!("{stem} PRIVATE KEY")).into(),
        ));
    }
    files.push(NodeFile::private(
        format!("{PKI_DIR}/sa.key"),
        pem("SA PRIVATE KEY").into(),
    ));
    files.push(NodeFile::public(
        format!("{PKI_DIR}/sa.pub"),
        pem("SA PUBLIC"),
    ));
    files
}

fn control_plane() -> Box<ControlPlane> {
    Box::new(ControlPlane::new(
        pki(),
        vec!["172.24.4.7".into(), "api.example.org".into()],
    ))
}

fn node(role: NodeRole) -> NodeShared {
    NodeShared::new(
        ClusterId::from_uuid(Uuid::from_u128(0x5eed)),
        "default-worker",
        "v1.36.1".parse().unwrap(),
        Endpoint::new("10.0.0.5", 6443),
        "10.0.0.0/24".parse().unwrap(),
        role,
    )
}

fn member(joins: bool) -> NodeMember {
    NodeMember {
        node_name: "demo-w-7f2kq".into(),
        member_id: MemberId::new("7f2kq"),
        not_before: DateTime::from_timestamp(1_790_000_000, 0).unwrap(),
        discovery: joins.then(|| {
            NodeFile::private(
                DISCOVERY_PATH,
                "kind: Config # PRIVATE
"
                .to_owned()
                .into(),
            )
        }),
    }
}

fn user_data(node: &NodeShared) -> String {
    let shared = node.render().unwrap();
    let parameters = shared.parameters(&member(node.role.joins())).unwrap();
    shared
        .fill(&parameters, Some(SIGNAL))
        .unwrap()
        .expose_secret()
        .to_owned()
}

fn file(text: &str, path: &str) -> Option<Value> {
    let value: Value = serde_saphyr::from_str(text).unwrap();
    value["write_files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["path"] == path)
        .cloned()
}

fn content(text: &str, path: &str) -> String {
    file(text, path).unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The text without what is compressed, for snapshots.
fn readable(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.starts_with("  content: 'H4s") {
                "  content: '<gz+b64>'"
            } else {
                line
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn init_node() {
    insta::assert_snapshot!(readable(&user_data(&node(NodeRole::ControlPlaneInit(
        control_plane()
    )))));
}

#[test]
fn control_plane_join() {
    let text = user_data(&node(NodeRole::ControlPlaneJoin(control_plane())));
    insta::assert_snapshot!(content(&text, "/etc/clusternode/kubeadm.yaml"));
}

#[test]
fn worker() {
    insta::assert_snapshot!(readable(&user_data(&node(NodeRole::Worker))));
}

#[test]
fn the_signal_map_comes_through_unchanged() {
    let text = user_data(&node(NodeRole::Worker));
    assert_eq!(
        content(&text, "/etc/clusternode/signal.json"),
        format!("{SIGNAL}\n")
    );
}

#[test]
fn without_signals_nothing_is_late_bound() {
    let shared = NodeShared {
        signal: false,
        ..node(NodeRole::Worker)
    }
    .render()
    .unwrap();
    let parameters = shared.parameters(&member(true)).unwrap();
    assert!(
        parameters
            .iter()
            .all(|(_, value)| matches!(value, ParameterValue::Text(_)))
    );
    let text = shared.fill(&parameters, None).unwrap();
    assert!(file(text.expose_secret(), "/etc/clusternode/signal.json").is_none());
}

#[test]
fn a_worker_never_sees_a_ca_key() {
    let text = user_data(&node(NodeRole::Worker));
    assert!(!text.contains("/etc/kubernetes/pki"));
}

#[test]
fn ck_06_extra_names_come_once_with_the_endpoint() {
    let mut control_plane = control_plane();
    control_plane.cert_sans.extend([
        "10.0.0.5".to_owned(),
        "api.example.org".to_owned(),
        "2001:db8::1".to_owned(),
    ]);
    let text = user_data(&node(NodeRole::ControlPlaneInit(control_plane)));
    let kubeadm = content(&text, "/etc/clusternode/kubeadm.yaml");
    let cluster: Value = serde_saphyr::from_str(kubeadm.split("---\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        cluster["apiServer"]["certSANs"],
        serde_json::json!([
            "172.24.4.7",
            "api.example.org",
            "10.0.0.5",
            "2001:db8::1",
            "localhost",
            "127.0.0.1"
        ])
    );
    let mut bad = self::control_plane();
    bad.cert_sans.push("bad name!".into());
    let error = node(NodeRole::ControlPlaneInit(bad)).render().unwrap_err();
    assert!(error.to_string().contains("`bad name!`"), "{error}");
}

#[test]
fn ck_07_p_06_the_service_account_key_is_the_same_on_all_control_planes_and_on_no_worker() {
    let first = user_data(&node(NodeRole::ControlPlaneInit(control_plane())));
    let second = user_data(&node(NodeRole::ControlPlaneJoin(control_plane())));
    let path = "/etc/kubernetes/pki/sa.key";
    assert_eq!(file(&first, path), file(&second, path));
    assert_ne!(
        content(&first, "/etc/kubernetes/pki/sa.pub"),
        content(&first, "/etc/kubernetes/pki/ca.crt")
    );
    assert!(!user_data(&node(NodeRole::Worker)).contains("pki/sa"));
}

#[test]
fn ms_04_debug_shows_no_secret() {
    let node = node(NodeRole::ControlPlaneInit(control_plane()));
    let shared = node.render().unwrap();
    let parameters = shared.parameters(&member(false)).unwrap();
    for text in [
        format!("{node:?}"),
        format!("{shared:?}"),
        format!("{parameters:?}"),
        format!("{:?}", member(true)),
    ] {
        assert!(
            !text.contains("KEY-----") && !text.contains("PRIVATE"),
            "{text}"
        );
    }
}

#[test]
fn ms_02_no_cloud_credential_but_the_signal_login_is_on_a_node() {
    let text = user_data(&node(NodeRole::Worker));
    for word in ["trust", "application_credential", "application-credential"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn the_same_input_gives_the_same_name_and_other_input_another() {
    let one = node(NodeRole::Worker).render().unwrap();
    assert_eq!(
        one.file_name(),
        node(NodeRole::Worker).render().unwrap().file_name()
    );
    let other = NodeShared {
        cni: Cni::None,
        ..node(NodeRole::Worker)
    }
    .render()
    .unwrap();
    assert_ne!(one.file_name(), other.file_name());
}

#[test]
fn labels_taints_mirrors_and_proxy() {
    let mut node = node(NodeRole::Worker);
    node.kubelet.labels.insert("disk".into(), "ssd".into());
    node.kubelet
        .labels
        .insert("node-role.kubernetes.io/worker".into(), String::new());
    node.kubelet.taints.push(Taint {
        key: "gpu".into(),
        value: "yes".into(),
        effect: TaintEffect::NoSchedule,
    });
    node.kubelet.config_patch = Some(serde_json::from_str(r#"{"maxPods": 200}"#).unwrap());
    node.proxy = Some(Proxy {
        http: Some("http://p:3128".into()),
        https: None,
        no_proxy: vec!["example.org".into()],
    });
    node.mirrors.push(RegistryMirror {
        registry: "registry.k8s.io".into(),
        endpoints: vec!["https://mirror.example.org".into()],
        ca: None,
        credentials: None,
    });
    node.ntp_servers.push("ntp.example.org".into());
    assert_eq!(
        node.kubelet.engine_labels().collect::<Vec<_>>(),
        [("node-role.kubernetes.io/worker", "")]
    );
    insta::assert_snapshot!(readable(&user_data(&node)));
}

#[test]
fn all_problems_come_at_once() {
    let mut node = node(NodeRole::Worker);
    node.node_group = "Bad Group".into();
    node.networking.service_cidr = "10.100.128.0/17".parse().unwrap();
    node.kubelet.extra_args = vec![
        ("pod-infra-container-image".into(), "x".into()),
        ("node-ip".into(), "x".into()),
    ];
    let BootstrapError::Invalid { problems, .. } = node.render().unwrap_err() else {
        panic!("other error")
    };
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn a_member_is_checked_against_its_role() {
    let shared = node(NodeRole::Worker).render().unwrap();
    let error = shared.parameters(&member(false)).unwrap_err();
    assert!(error.to_string().contains("needs a discovery"), "{error}");
    let error = shared
        .parameters(&NodeMember {
            node_name: "x".repeat(54),
            ..member(true)
        })
        .unwrap_err();
    assert!(error.to_string().contains("53"), "{error}");
}

#[test]
fn too_much_is_told_with_its_largest_parts() {
    let mut control_plane = control_plane();
    control_plane.pki[0] = NodeFile::public(
        "/etc/kubernetes/pki/ca.crt",
        pem("CERTIFICATE").repeat(2_000),
    );
    let error = node(NodeRole::ControlPlaneInit(control_plane))
        .render()
        .unwrap_err();
    let BootstrapError::TooLarge { limit, largest, .. } = &error else {
        panic!("other error")
    };
    assert_eq!(
        (*limit, largest[0].0.as_str()),
        (NOVA_USER_DATA_MAX, "/etc/kubernetes/pki/ca.crt")
    );
}

#[test]
fn ck_08_a_bundle_with_a_missing_or_strange_file_is_refused() {
    let mut control_plane = control_plane();
    control_plane.pki.remove(0);
    control_plane
        .pki
        .push(NodeFile::private("/etc/passwd", "x".to_owned().into()));
    let error = node(NodeRole::ControlPlaneInit(control_plane))
        .render()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("pki/ca.crt is missing") && error.contains("/etc/passwd is no file"),
        "{error}"
    );
}

#[test]
fn a_real_bundle_and_credential_fit_with_room_to_spare() {
    let now = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    let pki = ClusterPki::generate("demo", PkiOptions::default(), now).unwrap();
    let control_plane = Box::new(ControlPlane::new(
        pki.control_plane_files().unwrap(),
        vec![],
    ));
    let shared = node(NodeRole::ControlPlaneJoin(control_plane))
        .render()
        .unwrap();
    let life = std::time::Duration::from_secs(86_400);
    let discovery = pki
        .discovery_file("10.0.0.5:6443", "demo-w-7f2kq", life, now)
        .unwrap();
    let parameters = shared
        .parameters(&NodeMember {
            discovery: Some(discovery.clone()),
            ..member(true)
        })
        .unwrap();
    assert!(parameters.bytes() < 4_096, "{}", parameters.bytes());
    let text = shared.fill(&parameters, Some(SIGNAL)).unwrap();
    assert!(
        text.expose_secret().len() < 30_000,
        "{}",
        text.expose_secret().len()
    );
    let mut back = String::new();
    let packed = STANDARD
        .decode(content(text.expose_secret(), DISCOVERY_PATH))
        .unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut back)
        .unwrap();
    assert_eq!(back, discovery.content.expose_secret());
}

#[test]
fn a_node_accepts_the_user_data_of_every_role() {
    let now = Utc::now();
    let pki = ClusterPki::generate("demo", PkiOptions::default(), now).unwrap();
    let control_plane = || {
        let names = vec!["172.24.4.7".into(), "api.example.org".into()];
        Box::new(ControlPlane::new(pki.control_plane_files().unwrap(), names))
    };
    let life = std::time::Duration::from_secs(86_400);
    let discovery = pki
        .discovery_file("10.0.0.5:6443", "demo-w-7f2kq", life, now)
        .unwrap();
    for role in [
        NodeRole::ControlPlaneInit(control_plane()),
        NodeRole::ControlPlaneJoin(control_plane()),
        NodeRole::Worker,
    ] {
        let name = role.name();
        let shared = node(role).render().unwrap();
        let member = NodeMember {
            not_before: now,
            discovery: (name != "control-plane-init").then(|| discovery.clone()),
            ..member(true)
        };
        let signal = json!({"auth_url": "http://c/identity/v3", "user_id": "u", "username": "n", "password": "p",
            "project_id": "p", "domain_id": "d", "region_name": "R", "alarm_url": "http://c/heat/v1/p/signal"});
        let text = shared
            .fill(
                &shared.parameters(&member).unwrap(),
                Some(&signal.to_string()),
            )
            .unwrap();
        let addresses = ["10.0.0.21".parse().unwrap()];
        let checks = check_user_data(
            text.expose_secret(),
            "demo-w-7f2kq",
            &addresses,
            Some("v1.36.1"),
        );
        assert!(
            checks.as_ref().is_ok_and(|checks| checks.len() > 10),
            "{name}: {checks:?}"
        );
    }
}
