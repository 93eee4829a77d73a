//! Whole clusters on a very small cloud, seen by the real `kubectl`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::Command;

use super::sample::{SampleCluster, SmallCloud, render};
use super::{AdminLogin, FaultAction, NodeFault, Simulator, SimulatorConfig, Stage};

struct World {
    cloud: Arc<SmallCloud>,
    url: String,
    dir: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let cloud = Arc::new(SmallCloud::default());
        let url = cloud.serve().await;
        Self {
            cloud,
            url,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn config(&self) -> SimulatorConfig {
        let mut config = SimulatorConfig::new(AdminLogin::new(
            format!("{}/identity/v3", self.url),
            "a",
            "p",
            "a",
        ));
        config.poll_interval = Duration::from_millis(50);
        config.boot_delay = Duration::from_millis(20);
        config.kubeadm_time = Duration::from_millis(50);
        config.node_grace = Duration::from_millis(300);
        config.discovery_timeout = Duration::from_secs(20);
        config
    }

    fn kubectl(&self, cluster: &SampleCluster, simulator: &Simulator) -> Kubectl {
        let path = self.dir.path().join("kubeconfig");
        let text = cluster.kubeconfig(
            "admin",
            "kubeadm:cluster-admins",
            Some(&simulator.proxy_url()),
        );
        std::fs::write(&path, text).unwrap();
        Kubectl(path)
    }

    async fn done(&self, name: &str) {
        eventually(&format!("{name} done"), async || {
            let failure = self.cloud.failure_of(name);
            assert_eq!(failure, None, "{name}");
            self.cloud
                .signals_of(name)
                .last()
                .is_some_and(|s| s == "done SUCCESS")
        })
        .await;
    }

    async fn failed(&self, name: &str) -> String {
        eventually(&format!("{name} failed"), async || {
            self.cloud.failure_of(name).is_some()
        })
        .await;
        self.cloud.failure_of(name).unwrap()
    }
}

async fn eventually(what: &str, mut test: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !test().await {
        assert!(Instant::now() < end, "not within 30 s: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

struct Kubectl(PathBuf);

impl Kubectl {
    async fn try_run(&self, args: &[&str]) -> Result<String, String> {
        let output = Command::new("kubectl")
            .env("HOME", self.0.parent().unwrap())
            .arg("--kubeconfig")
            .arg(&self.0)
            .args(args)
            .output()
            .await
            .unwrap();
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    async fn run(&self, args: &[&str]) -> String {
        self.try_run(args)
            .await
            .unwrap_or_else(|e| panic!("kubectl {args:?}: {e}"))
    }

    async fn apply(&self, object: &Value) {
        let path = self.0.with_extension("json");
        std::fs::write(&path, object.to_string()).unwrap();
        self.run(&["apply", "--server-side", "-f", path.to_str().unwrap()])
            .await;
    }

    async fn ready(&self) -> usize {
        self.run(&["get", "nodes", "--no-headers"])
            .await
            .lines()
            .filter(|l| l.contains(" Ready"))
            .count()
    }
}

fn daemon_set(namespace: &str, name: &str, selector: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"hostNetwork": true, "nodeSelector": selector, "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                "containers": [{"name": "c", "image": "i:1"}]}}}})
}

fn have_kubectl() -> bool {
    std::process::Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .is_ok_and(|o| o.status.success())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_lives_and_dies() {
    if !have_kubectl() {
        return;
    }
    let world = World::new().await;
    let simulator = Simulator::start(world.config()).await.unwrap();
    let cluster = SampleCluster::new(&world.url);
    let kubectl = world.kubectl(&cluster, &simulator);
    let refused = kubectl.try_run(&["get", "nodes"]).await.unwrap_err();
    assert!(refused.contains("no cluster answers"), "{refused}");

    world.cloud.boot("other", "10.0.0.3", "#!/bin/sh\n");
    world.cloud.boot(
        "cp-0",
        "10.0.0.10",
        &cluster.user_data("control-plane-init", "cp-0"),
    );
    world.done("cp-0").await;
    assert_eq!(
        world.cloud.signals_of("cp-0"),
        [
            "boot SUCCESS",
            "preflight SUCCESS",
            "kubeadm SUCCESS",
            "done SUCCESS"
        ]
    );
    let nodes = kubectl.run(&["get", "nodes", "-o", "wide"]).await;
    assert!(
        nodes.contains("NotReady")
            && nodes.contains("control-plane")
            && nodes.contains("10.0.0.10"),
        "{nodes}"
    );

    world.cloud.boot(
        "cp-1",
        "10.0.0.11",
        &cluster.user_data("control-plane-join", "cp-1"),
    );
    world
        .cloud
        .boot("w-0", "10.0.0.20", &cluster.user_data("worker", "w-0"));
    world.done("cp-1").await;
    world.done("w-0").await;
    kubectl
        .apply(
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-flannel"}}),
        )
        .await;
    kubectl
        .apply(&daemon_set("kube-flannel", "kube-flannel-ds", &json!({})))
        .await;
    eventually("3 ready", async || kubectl.ready().await == 3).await;
    let waiting = kubectl.run(&["get", "pods", "-A"]).await;
    assert!(
        waiting.contains("Pending"),
        "coredns waits for the cloud provider: {waiting}"
    );
    let control_plane = json!({"node-role.kubernetes.io/control-plane": ""});
    kubectl
        .apply(&daemon_set(
            "kube-system",
            "openstack-cloud-controller-manager",
            &control_plane,
        ))
        .await;
    eventually("all pods run", async || {
        !kubectl
            .run(&["get", "pods", "-A"])
            .await
            .contains("Pending")
    })
    .await;
    let provider = kubectl
        .run(&["get", "node", "w-0", "-o", "jsonpath={.spec.providerID}"])
        .await;
    assert!(
        provider.starts_with("openstack:///") && provider.len() > 40,
        "{provider}"
    );

    eventually("three serving requests", async || {
        kubectl
            .run(&["get", "csr"])
            .await
            .matches("kubelet-serving")
            .count()
            == 3
    })
    .await;
    let names = kubectl.run(&["get", "csr", "-o", "name"]).await;
    for name in names.lines().filter(|n| !n.is_empty()) {
        let _ = kubectl
            .try_run(&["certificate", "approve", name.rsplit('/').next().unwrap()])
            .await;
    }
    let requests = kubectl.run(&["get", "csr"]).await;
    assert!(
        !requests.contains("Pending") && requests.contains("Approved,Issued"),
        "{requests}"
    );

    world.cloud.delete("w-0");
    eventually("w-0 removed by the provider", async || {
        !kubectl.run(&["get", "nodes"]).await.contains("w-0")
    })
    .await;
    world.cloud.delete("cp-0");
    eventually("cp-0 removed", async || {
        !kubectl.run(&["get", "nodes"]).await.contains("cp-0")
    })
    .await;
    world.cloud.delete("cp-1");
    eventually("nobody answers", async || {
        kubectl.try_run(&["get", "nodes"]).await.is_err()
    })
    .await;
    let clusters: Value = fetch(&format!("{}/_clusters", simulator.admin_url())).await;
    assert_eq!(clusters["clusters"], json!([]));
    simulator.shutdown().await;
}

async fn fetch(url: &str) -> Value {
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_user_data_fails_in_words() {
    let world = World::new().await;
    let mut config = world.config();
    config.faults.push(NodeFault {
        server: "scripted*".into(),
        action: FaultAction::Fail {
            stage: Stage::Preflight,
            code: "E04".into(),
            message: "the container runtime is not running".into(),
        },
        count: Some(1),
    });
    let simulator = Simulator::start(config).await.unwrap();
    let cluster = SampleCluster::new(&world.url);
    world.cloud.boot(
        "cp-0",
        "10.0.0.10",
        &cluster.user_data("control-plane-init", "cp-0"),
    );
    world.done("cp-0").await;
    let cases: [(&str, &str, &str, &str); 6] = [
        ("subnet", "10.9.0.4", "worker", "E15"),
        ("mode", "10.0.0.21", "worker", "E00"),
        ("typo", "10.0.0.22", "worker", "E21"),
        ("foreign", "10.0.0.23", "worker", "E22"),
        ("thief", "10.0.0.24", "worker", "E22"),
        ("badca", "10.0.0.25", "control-plane-join", "E22"),
    ];
    let other = SampleCluster::new(&world.url);
    for (name, address, role, _) in cases {
        let mut files = cluster.files(role, name);
        match name {
            "mode" => files[1].1 = "0644",
            "typo" => files[2].2 = files[2].2.replace("imagePullPolicy", "imagePullPolice"),
            "foreign" => {
                // A credential of another CA, with the right CA to trust: only TLS can tell.
                let theirs: Value = serde_json::from_str(&other.kubeconfig(
                    "system:node:foreign",
                    "system:nodes",
                    None,
                ))
                .unwrap();
                let mine = files.last_mut().unwrap();
                let mut config: Value = serde_json::from_str(&mine.2).unwrap();
                config["users"] = theirs["users"].clone();
                mine.2 = config.to_string();
            }
            "thief" => {
                files.last_mut().unwrap().2 =
                    cluster.kubeconfig("system:node:cp-0", "system:nodes", None);
            }
            "badca" => {
                let i = files
                    .iter()
                    .position(|f| f.0.ends_with("pki/ca.key"))
                    .unwrap();
                files[i].2.clone_from(&other.ca.1);
            }
            _ => {}
        }
        world.cloud.boot(name, address, &render(&files));
    }
    for (name, _, _, code) in cases {
        let reason = world.failed(name).await;
        assert!(
            reason.starts_with(&format!("CLUSTERNODE FAIL {code}: ")),
            "{name}: {reason}"
        );
    }
    assert!(
        world
            .failed("foreign")
            .await
            .contains("identity of the API Server")
    );
    world.cloud.boot(
        "scripted-1",
        "10.0.0.26",
        &cluster.user_data("worker", "scripted-1"),
    );
    assert_eq!(
        world.failed("scripted-1").await,
        "CLUSTERNODE FAIL E04: the container runtime is not running"
    );
    world.cloud.boot(
        "scripted-2",
        "10.0.0.27",
        &cluster.user_data("worker", "scripted-2"),
    );
    world.done("scripted-2").await;
    simulator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_control_planes_do_not_join_at_once() {
    let world = World::new().await;
    let mut config = world.config();
    config.kubeadm_time = Duration::from_millis(600);
    let simulator = Simulator::start(config).await.unwrap();
    let cluster = SampleCluster::new(&world.url);
    world.cloud.boot(
        "cp-0",
        "10.0.0.10",
        &cluster.user_data("control-plane-init", "cp-0"),
    );
    world.done("cp-0").await;
    for (name, address) in [("cp-1", "10.0.0.11"), ("cp-2", "10.0.0.12")] {
        world.cloud.boot(
            name,
            address,
            &cluster.user_data("control-plane-join", name),
        );
    }
    eventually("one fails", async || {
        ["cp-1", "cp-2"]
            .iter()
            .any(|n| world.cloud.failure_of(n).is_some())
    })
    .await;
    let (lost, won) = if world.cloud.failure_of("cp-1").is_some() {
        ("cp-1", "cp-2")
    } else {
        ("cp-2", "cp-1")
    };
    assert!(
        world
            .failed(lost)
            .await
            .contains("too many learner members")
    );
    world.done(won).await;
    simulator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_loses_nothing_and_boots_nothing_twice() {
    if !have_kubectl() {
        return;
    }
    let world = World::new().await;
    let mut config = world.config();
    config.journal = Some(world.dir.path().join("journal"));
    let simulator = Simulator::start(config.clone()).await.unwrap();
    let cluster = SampleCluster::new(&world.url);
    let kubectl = world.kubectl(&cluster, &simulator);
    world.cloud.boot(
        "cp-0",
        "10.0.0.10",
        &cluster.user_data("control-plane-init", "cp-0"),
    );
    world.done("cp-0").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    kubectl
        .apply(
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-flannel"}}),
        )
        .await;
    kubectl
        .apply(&daemon_set("kube-flannel", "kube-flannel-ds", &json!({})))
        .await;
    let port = simulator.proxy_url();
    // Dropped without shutdown: what was answered is in the journal.
    drop(simulator);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let simulator = Simulator::start(config).await.unwrap();
    assert_eq!(simulator.proxy_url(), port);
    eventually("ready again", async || kubectl.ready().await == 1).await;
    world
        .cloud
        .boot("w-0", "10.0.0.20", &cluster.user_data("worker", "w-0"));
    world.done("w-0").await;
    eventually("2 ready", async || kubectl.ready().await == 2).await;
    assert_eq!(world.cloud.signals_of("cp-0").len(), 4);
    let answer = reqwest::Client::new()
        .post(format!("{}/_nodes/w-0/break", simulator.admin_url()))
        .send()
        .await
        .unwrap();
    assert!(answer.status().is_success());
    eventually("w-0 broken", async || kubectl.ready().await == 1).await;
    let node = fetch(&format!("{}/_nodes/w-0", simulator.admin_url())).await;
    assert!(
        node["checks"].as_array().unwrap().len() > 20 && node["broken"] == true,
        "{node}"
    );
    simulator.shutdown().await;
}
