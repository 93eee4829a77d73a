//! Hand-written user-data and a very small cloud, for tests.

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::kubernetes::{Authority, sample};

/// The secrets of one sample cluster.
pub(crate) struct SampleCluster {
    pub(crate) id: String,
    pub(crate) ca: (String, String),
    front: (String, String),
    etcd: (String, String),
    sa: (String, String),
    pub(crate) signal_url: String,
}

impl SampleCluster {
    pub(crate) fn new(signal_url: &str) -> Self {
        let sa = rcgen::KeyPair::generate().unwrap();
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            ca: sample::ca("kubernetes"),
            front: sample::ca("front-proxy"),
            etcd: sample::ca("etcd"),
            sa: (sa.serialize_pem(), sa.public_key_pem()),
            signal_url: signal_url.to_owned(),
        }
    }

    /// A kubeconfig with a client certificate of this cluster's CA.
    pub(crate) fn kubeconfig(&self, user: &str, group: &str, proxy: Option<&str>) -> String {
        let (cert, key) = Authority::new(&self.ca.0, &self.ca.1)
            .unwrap()
            .client(user, group)
            .unwrap();
        let mut cluster = json!({"server": "https://10.0.0.5:6443", "certificate-authority-data": STANDARD.encode(&self.ca.0)});
        if let Some(proxy) = proxy {
            cluster["proxy-url"] = proxy.into();
        }
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {
                "client-certificate-data": STANDARD.encode(cert), "client-key-data": STANDARD.encode(key)}}],
        })
        .to_string()
    }

    /// Files of a node: path, mode, content.
    pub(crate) fn files(&self, role: &str, name: &str) -> Vec<(String, &'static str, String)> {
        let file = |path: &str, mode: &'static str, content: &str| {
            (path.to_owned(), mode, content.to_owned())
        };
        let env = format!(
            "CLUSTERNODE_FORMAT=1\nROLE={role}\nNODE_NAME={name}\nCLUSTER_ID={}\nNODE_GROUP=g\nMEMBER_ID=m\n\
             KUBE_VERSION=v1.36.1\nENDPOINT=10.0.0.5:6443\nNODE_SUBNET=10.0.0.0/24\nNOT_BEFORE=1\nCNI=flannel\nSIGNAL=true\n",
            self.id
        );
        let url = &self.signal_url;
        let signal = json!({"auth_url": format!("{url}/identity"), "user_id": "u", "username": "n", "password": "p!@#",
            "project_id": "p", "domain_id": "d", "region_name": "r", "alarm_url": format!("{url}/signal/{name}")});
        let mut files = vec![
            file("/etc/clusternode/node.env", "0600", &env),
            file("/etc/clusternode/signal.json", "0600", &signal.to_string()),
            file(
                "/etc/clusternode/kubeadm.yaml",
                "0600",
                &kubeadm(role, name),
            ),
            file(
                "/usr/local/lib/clusternode/bootstrap.sh",
                "0755",
                "#!/bin/bash\nkubeadm init\n",
            ),
            file(
                "/etc/systemd/system/clusternode-bootstrap.service",
                "0644",
                "[Unit]\n",
            ),
        ];
        if role != "worker" {
            for (dir, pair) in [
                ("ca", &self.ca),
                ("front-proxy-ca", &self.front),
                ("etcd/ca", &self.etcd),
            ] {
                files.push(file(
                    &format!("/etc/kubernetes/pki/{dir}.crt"),
                    "0644",
                    &pair.0,
                ));
                files.push(file(
                    &format!("/etc/kubernetes/pki/{dir}.key"),
                    "0600",
                    &pair.1,
                ));
            }
            files.push(file("/etc/kubernetes/pki/sa.key", "0600", &self.sa.0));
            files.push(file("/etc/kubernetes/pki/sa.pub", "0644", &self.sa.1));
        }
        if role != "control-plane-init" {
            let discovery = self.kubeconfig(&format!("system:node:{name}"), "system:nodes", None);
            files.push(file(
                "/etc/kubernetes/bootstrap/discovery.conf",
                "0600",
                &discovery,
            ));
        }
        files
    }

    pub(crate) fn user_data(&self, role: &str, name: &str) -> String {
        render(&self.files(role, name))
    }
}

pub(crate) fn render(files: &[(String, &'static str, String)]) -> String {
    let mut text = String::from("#cloud-config\nwrite_files:\n");
    for (path, mode, content) in files {
        text.push_str(&format!(
            "- path: {path}\n  permissions: '{mode}'\n  owner: root:root\n"
        ));
        if path.ends_with("signal.json") {
            text.push_str(&format!("  content: |\n    {content}\n"));
        } else {
            text.push_str(&format!(
                "  encoding: b64\n  content: {}\n",
                STANDARD.encode(content)
            ));
        }
    }
    text.push_str("runcmd:\n- [systemctl, daemon-reload]\n- [systemctl, start, --no-block, clusternode-bootstrap.service]\n");
    text
}

fn kubeadm(role: &str, name: &str) -> String {
    let registration = format!(
        "nodeRegistration:\n  name: {name}\n  criSocket: unix:///run/containerd/containerd.sock\n  imagePullPolicy: IfNotPresent\n\
         \x20 kubeletExtraArgs:\n  - {{name: cloud-provider, value: external}}\n  - {{name: provider-id, value: \"openstack:///@INSTANCE_ID@\"}}\n\
         \x20 - {{name: node-ip, value: \"@NODE_IP@\"}}\n  - {{name: node-labels, value: magnum.openstack.org/nodegroup=g}}\n"
    );
    let endpoint = "localAPIEndpoint: {advertiseAddress: \"@NODE_IP@\", bindPort: 6443}\n";
    let head = "apiVersion: kubeadm.k8s.io/v1beta4\nkind:";
    match role {
        "control-plane-init" => format!(
            "{head} InitConfiguration\n{endpoint}{registration}---\n{head} ClusterConfiguration\nkubernetesVersion: v1.36.1\n\
             controlPlaneEndpoint: 10.0.0.5:6443\nnetworking: {{podSubnet: 10.100.0.0/16, serviceSubnet: 10.254.0.0/16}}\n\
             apiServer: {{certSANs: [10.0.0.5, 172.24.4.9, localhost]}}\n---\n\
             apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nserverTLSBootstrap: true\n"
        ),
        _ => {
            let discovery =
                "discovery: {file: {kubeConfigPath: /etc/kubernetes/bootstrap/discovery.conf}}\n";
            let control = if role == "worker" {
                String::new()
            } else {
                format!("controlPlane:\n  {endpoint}")
            };
            format!("{head} JoinConfiguration\n{discovery}{control}{registration}")
        }
    }
}

/// Servers and signals of the small cloud.
#[derive(Debug, Default)]
pub(crate) struct SmallCloud {
    pub(crate) servers: Mutex<Vec<Value>>,
    pub(crate) signals: Mutex<Vec<(String, Value)>>,
}

impl SmallCloud {
    /// Serves on a free port and gives its address.
    pub(crate) async fn serve(self: &Arc<Self>) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let base = url.clone();
        let login = move || {
            let body = json!({"token": {"catalog": [{"type": "compute", "endpoints": [
                {"interface": "public", "region": "r", "url": format!("{base}/compute")}]}]}});
            async move { (StatusCode::CREATED, [("x-subject-token", "t")], Json(body)).into_response() }
        };
        let app = Router::new()
            .route("/identity/v3/auth/tokens", post(login))
            .route("/compute/servers/detail", get(list))
            .route("/signal/{name}", post(signal))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        url
    }

    pub(crate) fn boot(&self, name: &str, address: &str, user_data: &str) {
        let server = json!({
            "id": uuid::Uuid::new_v4().to_string(), "name": name, "status": "ACTIVE", "image": "",
            "flavor": {"original_name": "m1.small"}, "OS-EXT-AZ:availability_zone": "nova",
            "addresses": {"net": [{"version": 4, "addr": address, "OS-EXT-IPS:type": "fixed"}]},
            "OS-EXT-SRV-ATTR:user_data": STANDARD.encode(user_data)});
        self.servers.lock().unwrap().push(server);
    }

    pub(crate) fn delete(&self, name: &str) {
        self.servers.lock().unwrap().retain(|s| s["name"] != name);
    }

    /// Signals of a server, as `id STATUS`.
    pub(crate) fn signals_of(&self, name: &str) -> Vec<String> {
        let all = self.signals.lock().unwrap();
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        all.iter()
            .filter(|(n, _)| n == name)
            .map(|(_, s)| format!("{} {}", text(&s["id"]), text(&s["status"])))
            .collect()
    }

    /// The reason of the last failure signal of a server.
    pub(crate) fn failure_of(&self, name: &str) -> Option<String> {
        let all = self.signals.lock().unwrap();
        let found = all
            .iter()
            .rev()
            .find(|(n, s)| n == name && s["status"] == "FAILURE")?;
        found.1["reason"].as_str().map(str::to_owned)
    }
}

async fn list(State(cloud): State<Arc<SmallCloud>>) -> Json<Value> {
    let servers = cloud.servers.lock().unwrap().clone();
    Json(json!({"servers": servers}))
}

async fn signal(
    State(cloud): State<Arc<SmallCloud>>,
    Path(name): Path<String>,
    body: String,
) -> Json<Value> {
    cloud
        .signals
        .lock()
        .unwrap()
        .push((name, serde_json::from_str(&body).unwrap()));
    Json(Value::Null)
}
