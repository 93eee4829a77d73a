//! The client against the Kubernetes stand-in, over mutual TLS.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use http::Method;
use magnum_certs::{AuthorityKind, ClusterPki, KeyAlgorithm, PkiOptions, Profile};
use magnum_core::{ClusterId, Retry, Taint, TaintEffect};
use magnum_embedded_cloud::kubernetes::{ApiServer, ApiServerConfig, CaMaterial};
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::Media;
use super::drain::{AfterDeadline, DrainMemo, DrainOptions};
use super::*;
use crate::addons::{
    AddonSource, AddonState, AddonValues, BuiltinAddons, CloudAccess, CloudCredential, addon_state,
    apply_addon, prune_addon,
};
use crate::bootstrap::{Cni, Endpoint};
use crate::connector::{Direct, connect_kubernetes};

const NODE: &str = "demo-w-7f2kq";

struct Cluster {
    api: ApiServer,
    pki: ClusterPki,
}

impl Cluster {
    async fn start() -> Self {
        let pki = ClusterPki::generate("demo", PkiOptions::default(), Utc::now()).unwrap();
        let pem = |kind| {
            pki.authority(kind)
                .key_pem()
                .unwrap()
                .expose_secret()
                .to_owned()
        };
        let config = ApiServerConfig {
            material: CaMaterial {
                ca_cert: pki.trust_bundle(AuthorityKind::Kubernetes),
                ca_key: pem(AuthorityKind::Kubernetes),
                front_proxy_cert: pki.trust_bundle(AuthorityKind::FrontProxy),
                front_proxy_key: pem(AuthorityKind::FrontProxy),
                sa_key: String::new(),
                sa_pub: String::new(),
            },
            names: vec!["127.0.0.1".into()],
            version: "v1.36.1".into(),
            services: "10.254.0.0/16".parse().unwrap(),
            journal: None,
        };
        let cluster = Self {
            api: ApiServer::start(&config).await.unwrap(),
            pki,
        };
        // What `kubeadm init` grants to the administrators of a cluster.
        let profile = Profile::BreakGlass {
            user: "kubeadm".into(),
        };
        let kubeadm = cluster.client_of(&cluster.pki, &profile).await;
        let group = "rbac.authorization.k8s.io";
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "kubeadm:cluster-admins"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": group, "kind": "Group", "name": "kubeadm:cluster-admins"}]});
        kubeadm
            .apply(&binding, ApplyOptions::default())
            .await
            .unwrap();
        cluster
    }

    /// A client with an identity out of `pki`, trusting this cluster.
    async fn client_of(&self, pki: &ClusterPki, profile: &Profile) -> KubernetesClient {
        let credential = pki
            .issue(profile, KeyAlgorithm::EcdsaP256, None, Utc::now())
            .unwrap();
        let address = self.api.address();
        let endpoint = Endpoint::new(address.ip().to_string(), address.port());
        let ca = self.pki.trust_bundle(AuthorityKind::Kubernetes);
        let certificate = credential.certificate().to_pem();
        let cluster = ClusterId::from_uuid(Uuid::from_u128(1));
        connect_kubernetes(
            &Direct,
            cluster,
            &endpoint,
            &ca,
            &certificate,
            credential.key_pem(),
        )
        .await
        .unwrap()
    }

    async fn admin(&self) -> KubernetesClient {
        self.client_of(
            &self.pki,
            &Profile::Admin {
                user: "magnum".into(),
            },
        )
        .await
    }

    async fn kubelet(&self) -> KubernetesClient {
        self.client_of(&self.pki, &Profile::KubeletClient { node: NODE.into() })
            .await
    }

    /// Registers a ready node, as its kubelet and the cloud provider would.
    async fn node(&self) {
        let admin = self.admin().await;
        let labels =
            json!({"kubernetes.io/os": "linux", "node-role.kubernetes.io/control-plane": ""});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels},
            "spec": {"providerID": "openstack:///11111111-2222-3333-4444-555555555555"}});
        let post = Some((Media::Json, &node));
        admin
            .required::<Value>("create node", Method::POST, "/api/v1/nodes", &[], post)
            .await
            .unwrap();
        let status = json!({"status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.21"}],
            "nodeInfo": {"kubeletVersion": "v1.36.1"}}});
        let path = format!("/api/v1/nodes/{NODE}/status");
        let patch = Some((Media::MergePatch, &status));
        admin
            .required::<Value>("patch status", Method::PATCH, &path, &[], patch)
            .await
            .unwrap();
    }
}

async fn until<F, T>(mut look: F)
where
    F: FnMut() -> T,
    T: Future<Output = bool>,
{
    for _ in 0..100 {
        if look().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it did not come true in five seconds");
}

#[tokio::test]
async fn the_clusters_own_authority_is_the_only_root_and_the_only_identity() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    assert_eq!(admin.version().await.unwrap().git_version, "v1.36.1");
    assert_eq!(admin.readiness().await.unwrap(), Readiness::Ready);
    assert!(admin.has_namespace("kube-system").await.unwrap());

    let other = Cluster::start().await;
    let stranger = cluster
        .client_of(
            &other.pki,
            &Profile::Admin {
                user: "stranger".into(),
            },
        )
        .await;
    let error = stranger.version().await.unwrap_err();
    assert!(
        error.is_unreachable() || matches!(error, KubernetesError::Unauthorized { .. }),
        "{error}"
    );

    let client = cluster.admin().await;
    cluster.api.shutdown().await;
    let error = client.version().await.unwrap_err();
    assert!(
        error.is_unreachable() && error.retry() == Retry::Later,
        "{error}"
    );
}

#[tokio::test]
async fn a_node_is_read_changed_and_deleted() {
    let cluster = Cluster::start().await;
    cluster.node().await;
    let admin = cluster.admin().await;
    let node = admin.node(NODE).await.unwrap().unwrap();
    assert!(node.is_ready() && node.is_control_plane());
    assert_eq!(
        node.server_id(),
        Some("11111111-2222-3333-4444-555555555555")
    );

    let wanted = NodeSettings {
        labels: [("disk".to_owned(), "ssd".to_owned())].into(),
        taints: vec![Taint {
            key: "gpu".into(),
            value: "yes".into(),
            effect: TaintEffect::NoSchedule,
        }],
        ..NodeSettings::default()
    };
    let patch = settings_patch(&node, &wanted).unwrap();
    let changed = admin.patch_node(NODE, &patch).await.unwrap();
    assert_eq!(settings_patch(&changed, &wanted), None);
    let stale = admin.patch_node(NODE, &patch).await.unwrap_err();
    assert!(matches!(stale, KubernetesError::Conflict { .. }), "{stale}");

    assert!(
        admin
            .set_unschedulable(NODE, true)
            .await
            .unwrap()
            .unwrap()
            .unschedulable
    );
    assert_eq!(admin.nodes().await.unwrap().len(), 1);
    assert!(admin.delete_node(NODE).await.unwrap());
    assert!(!admin.delete_node(NODE).await.unwrap());
}

#[tokio::test]
async fn a_serving_certificate_is_judged_and_approved() {
    let cluster = Cluster::start().await;
    cluster.node().await;
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    params
        .distinguished_name
        .push(DnType::CommonName, format!("system:node:{NODE}"));
    params.subject_alt_names = vec![
        SanType::DnsName(NODE.try_into().unwrap()),
        SanType::IpAddress("10.0.0.21".parse().unwrap()),
    ];
    let request = params
        .serialize_request(&KeyPair::generate().unwrap())
        .unwrap()
        .pem()
        .unwrap();
    let object = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "csr-"},
        "spec": {"signerName": KUBELET_SERVING_SIGNER, "request": STANDARD.encode(request),
            "usages": ["digital signature", "server auth"]}});
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let kubelet = cluster.kubelet().await;
    kubelet
        .required::<Value>(
            "post",
            Method::POST,
            path,
            &[],
            Some((Media::Json, &object)),
        )
        .await
        .unwrap();

    let admin = cluster.admin().await;
    let requests = admin.signing_requests().await.unwrap();
    let addresses =
        |name: &str| (name == NODE).then(|| vec!["10.0.0.21".parse::<IpAddr>().unwrap()]);
    assert_eq!(
        judge_serving_request(&requests[0], addresses),
        ServingVerdict::Approve { node: NODE.into() }
    );
    assert!(admin.approve(&requests[0]).await.unwrap());
    assert!(
        !admin.approve(&requests[0]).await.unwrap(),
        "it is decided by now"
    );
    let object = ObjectRef::cluster(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        &requests[0].name,
    );
    let signed = admin.get(&object).await.unwrap().unwrap();
    assert!(signed["status"]["certificate"].is_string(), "{signed}");
}

#[tokio::test]
async fn a_drain_respects_budgets_until_its_deadline() {
    let cluster = Cluster::start().await;
    cluster.node().await;
    let admin = cluster.admin().await;
    let labels = json!({"app": "web"});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "example.org/c:1"}]}}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}});
    for object in [&deployment, &budget] {
        admin.apply(object, ApplyOptions::default()).await.unwrap();
    }
    until(async || {
        admin
            .pods_on(NODE)
            .await
            .unwrap()
            .iter()
            .any(|pod| pod.ready)
    })
    .await;

    let now = Utc::now();
    let options = DrainOptions::until(now + Duration::from_secs(60), AfterDeadline::Delete);
    let mut memo = DrainMemo::default();
    admin
        .drain_step(NODE, &mut memo, &options, now)
        .await
        .unwrap();
    assert_eq!(memo.blocked.len(), 1, "{memo:?}");
    let waiting = admin
        .drain_step(NODE, &mut memo, &options, now)
        .await
        .unwrap();
    assert!(
        matches!(&waiting, DrainProgress::Again { waiting_for, .. } if waiting_for[0].starts_with("default/web-"))
    );
    assert!(admin.node(NODE).await.unwrap().unwrap().unschedulable);

    let late = now + Duration::from_secs(61);
    admin
        .drain_step(NODE, &mut memo, &options, late)
        .await
        .unwrap();
    until(async || {
        admin
            .drain_step(NODE, &mut DrainMemo::default(), &options, late)
            .await
            .unwrap()
            == DrainProgress::Done
    })
    .await;
}

#[tokio::test]
async fn add_ons_are_applied_twice_become_ready_and_are_pruned() {
    let cluster = Cluster::start().await;
    let admin = cluster.admin().await;
    let id = ClusterId::from_uuid(Uuid::from_u128(1));
    let mut values = AddonValues::new(
        id,
        "v1.36.1".parse().unwrap(),
        Cni::Flannel,
        "10.100.0.0/16".parse().unwrap(),
    );
    values.cloud = Some(CloudAccess {
        auth_url: "http://cloud.example.org/identity/v3".into(),
        region: "RegionOne".into(),
        credential: CloudCredential::ApplicationCredential {
            id: "i".into(),
            secret: "s".to_owned().into(),
        },
        ca: None,
        internal_network_name: None,
        public_network_name: None,
        load_balancer: None,
    });
    values.cinder = true;
    values.metrics = true;
    let addons = BuiltinAddons.addons(&values).unwrap();
    for addon in addons.iter().chain(&addons) {
        apply_addon(&admin, addon).await.unwrap();
    }
    assert!(matches!(
        addon_state(&admin, &addons[0]).await.unwrap(),
        AddonState::Waiting(_)
    ));
    cluster.node().await;
    let admin = Arc::new(admin);
    for addon in &addons {
        until(async || addon_state(&admin, addon).await.unwrap() == AddonState::Ready).await;
    }

    let mut smaller = addons[3].clone();
    smaller
        .objects
        .retain(|object| object["kind"] != "Deployment");
    let pruned: Vec<String> = prune_addon(&admin, &smaller)
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(pruned, ["Deployment kube-system/metrics-server"]);
}
