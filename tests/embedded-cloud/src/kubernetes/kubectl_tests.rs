//! The stand-in against the real `kubectl`, through the CONNECT proxy.

use std::path::{Path, PathBuf};
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::process::Command;

use super::{ApiServer, ApiServerConfig, Authority, CaMaterial, sample};
use crate::proxy::{ConnectProxy, Route, Routes};

fn material() -> CaMaterial {
    let ca = sample::ca("kubernetes");
    CaMaterial {
        ca_cert: ca.0,
        ca_key: ca.1,
        front_proxy_cert: String::new(),
        front_proxy_key: String::new(),
        sa_key: String::new(),
        sa_pub: String::new(),
    }
}

struct Cluster {
    api: ApiServer,
    proxy: ConnectProxy,
    dir: tempfile::TempDir,
    material: CaMaterial,
}

impl Cluster {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let material = material();
        let config = ApiServerConfig {
            material: material.clone(),
            names: vec!["10.0.0.5".into(), "172.24.4.9".into()],
            version: "v1.36.1".into(),
            services: "10.96.0.0/16".parse().unwrap(),
            journal: Some(dir.path().join("objects")),
        };
        let api = ApiServer::start(&config).await.unwrap();
        let routes = Routes::default();
        routes.set(
            "c",
            Route {
                names: config.names,
                addresses: vec![],
                port: 6443,
                target: Some(api.address()),
            },
        );
        let proxy = ConnectProxy::start(0, routes).await.unwrap();
        Self {
            api,
            proxy,
            dir,
            material,
        }
    }

    fn kubeconfig(&self, name: &str, signer: &CaMaterial, user: &str, group: &str) -> PathBuf {
        let authority = Authority::new(&signer.ca_cert, &signer.ca_key).unwrap();
        let (cert, key) = authority.client(user, group).unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": "https://10.0.0.5:6443", "proxy-url": self.proxy.url(),
                "certificate-authority-data": STANDARD.encode(&self.material.ca_cert)}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {
                "client-certificate-data": STANDARD.encode(cert), "client-key-data": STANDARD.encode(key)}}],
        });
        let path = self.dir.path().join(name);
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }
}

async fn kubectl(config: &Path, args: &[&str]) -> Output {
    let home = config.parent().unwrap();
    let command = Command::new("kubectl")
        .env("HOME", home)
        .arg("--kubeconfig")
        .arg(config)
        .args(args)
        .output();
    tokio::time::timeout(std::time::Duration::from_secs(60), command)
        .await
        .expect("kubectl hangs")
        .unwrap()
}

async fn works(config: &Path, args: &[&str]) -> String {
    let output = kubectl(config, args).await;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "kubectl {args:?}: {out}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    out
}

async fn fails(config: &Path, args: &[&str]) -> String {
    let output = kubectl(config, args).await;
    assert!(!output.status.success(), "kubectl {args:?} succeeded");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn have_kubectl() -> bool {
    std::process::Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_ok_and(|o| o.status.success())
}

fn add_node(cluster: &Cluster, name: &str) {
    let node = json!({
        "metadata": {"labels": {"kubernetes.io/hostname": name}}, "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
            "nodeInfo": {"kubeletVersion": "v1.36.1", "osImage": "Ubuntu", "kernelVersion": "6.8", "containerRuntimeVersion": "containerd://2.3.2"}}});
    cluster.api.core().ensure("nodes", "", name, &node).unwrap();
}

const MANIFEST: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: web}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_reads_applies_drains_and_deletes() {
    if !have_kubectl() {
        return;
    }
    let cluster = Cluster::start().await;
    add_node(&cluster, "w1");
    add_node(&cluster, "w2");
    let admin = cluster.kubeconfig("admin", &cluster.material, "admin", "system:masters");
    let nodes = works(&admin, &["get", "nodes", "-o", "wide"]).await;
    assert!(
        nodes.contains("w1") && nodes.contains("10.0.0.7") && nodes.contains("containerd://2.3.2"),
        "{nodes}"
    );

    let manifest = cluster.dir.path().join("m.yaml");
    std::fs::write(&manifest, MANIFEST).unwrap();
    let file = manifest.to_str().unwrap();
    works(&admin, &["apply", "-f", file]).await;
    works(&admin, &["apply", "-f", file]).await;
    works(
        &admin,
        &["apply", "--server-side", "--force-conflicts", "-f", file],
    )
    .await;
    works(
        &admin,
        &[
            "-n",
            "web",
            "rollout",
            "status",
            "deployment/web",
            "--timeout=30s",
        ],
    )
    .await;
    works(
        &admin,
        &[
            "-n",
            "web",
            "rollout",
            "status",
            "daemonset/agent",
            "--timeout=30s",
        ],
    )
    .await;
    let pods = works(&admin, &["get", "pods", "-A", "-o", "wide"]).await;
    assert_eq!(pods.matches("Running").count(), 4, "{pods}");

    works(&admin, &["label", "node", "w1", "a=b"]).await;
    works(&admin, &["taint", "node", "w1", "k=v:PreferNoSchedule"]).await;
    let drained = works(
        &admin,
        &["drain", "w1", "--ignore-daemonsets", "--timeout=50s"],
    )
    .await;
    assert!(drained.contains("drained"), "{drained}");
    let nodes = works(&admin, &["get", "nodes"]).await;
    assert!(nodes.contains("SchedulingDisabled"), "{nodes}");
    works(&admin, &["delete", "node", "w1"]).await;
    let left = works(&admin, &["get", "nodes", "-o", "name"]).await;
    assert_eq!(left.trim(), "node/w2");
    works(
        &admin,
        &["-n", "web", "scale", "deployment/web", "--replicas=1"],
    )
    .await;
    works(
        &admin,
        &[
            "-n",
            "web",
            "wait",
            "--for=jsonpath={.status.readyReplicas}=1",
            "deployment/web",
            "--timeout=30s",
        ],
    )
    .await;
    works(&admin, &["delete", "namespace", "web"]).await;
    let pods = works(&admin, &["get", "pods", "-A", "-o", "name"]).await;
    assert_eq!(pods.trim(), "");
    cluster.api.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_certificates_and_small_rights_are_refused() {
    if !have_kubectl() {
        return;
    }
    let cluster = Cluster::start().await;
    add_node(&cluster, "w1");
    let foreign = cluster.kubeconfig("foreign", &material(), "admin", "system:masters");
    let refused = fails(&foreign, &["get", "nodes", "--request-timeout=10s"]).await;
    assert!(refused.contains("tls"), "{refused}");
    let node = cluster.kubeconfig("node", &cluster.material, "system:node:w2", "system:nodes");
    let refused = fails(&node, &["get", "node", "w1"]).await;
    assert!(refused.contains("Forbidden"), "{refused}");
    let version = works(&node, &["version"]).await;
    assert!(version.contains("v1.36.1"), "{version}");
}
