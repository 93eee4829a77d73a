//! A small client for the tests of the embedded cloud.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is the report")]

use std::collections::BTreeMap;
use std::time::Duration;

use magnum_embedded_cloud::{EmbeddedCloud, Options};
use serde_json::{Value, json};

/// A logged-in client.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    pub token: String,
    pub base: String,
    pub project: String,
}

/// A cloud with a client of the project demo.
pub async fn start() -> (EmbeddedCloud, Client) {
    start_with(Options {
        simulator: false,
        ..Options::default()
    })
    .await
}

pub async fn start_with(options: Options) -> (EmbeddedCloud, Client) {
    let cloud = EmbeddedCloud::start(options).await.unwrap();
    let client = Client::login(&cloud.base_url(), "demo", "demopw", "demo").await;
    (cloud, client)
}

fn http() -> reqwest::Client {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

async fn token(http: &reqwest::Client, url: &str, auth: Value) -> (u16, String, Value) {
    let body = serde_json::to_vec(&json!({"auth": auth})).unwrap();
    let request = http
        .post(format!("{url}/auth/tokens"))
        .header("content-type", "application/json")
        .body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let token = response
        .headers()
        .get("x-subject-token")
        .map(|v| v.to_str().unwrap().to_owned());
    let body = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default();
    (status, token.unwrap_or_default(), body)
}

impl Client {
    pub async fn login(base: &str, user: &str, password: &str, project: &str) -> Self {
        let http = http();
        let domain = json!({"name": "Default"});
        let auth = json!({
            "identity": {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": password}}},
            "scope": {"project": {"name": project, "domain": domain}},
        });
        let (status, token, body) = token(&http, &format!("{base}/identity/v3"), auth).await;
        assert_eq!(status, 201, "{body}");
        let project = body["token"]["project"]["id"].as_str().unwrap().to_owned();
        Self {
            http,
            token,
            base: base.to_owned(),
            project,
        }
    }

    /// The login of a signal map.
    pub async fn signal_login(signal: &Value) -> Self {
        let http = http();
        let auth = json!({
            "identity": {"methods": ["password"], "password": {"user": {"id": signal["user_id"], "password": signal["password"]}}},
            "scope": {"project": {"id": signal["project_id"]}},
        });
        let (status, token, body) = token(&http, signal["auth_url"].as_str().unwrap(), auth).await;
        assert_eq!(status, 201, "{body}");
        Self {
            http,
            token,
            base: String::new(),
            project: String::new(),
        }
    }

    pub async fn answer(&self, method: &str, url: &str, body: Option<Value>) -> reqwest::Response {
        let url = if url.starts_with("http") {
            url.to_owned()
        } else {
            format!("{}{url}", self.base)
        };
        let mut request = self.http.request(method.parse().unwrap(), url);
        request = request
            .header("x-auth-token", &self.token)
            .header("openstack-api-version", "compute 2.79");
        request = request.header("accept", "application/json");
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(serde_json::to_vec(&body).unwrap());
        }
        request.send().await.unwrap()
    }

    pub async fn send(&self, method: &str, url: &str, body: Option<Value>) -> (u16, Value) {
        let response = self.answer(method, url, body).await;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.unwrap();
        let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
        (
            status,
            serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
        )
    }

    pub async fn get(&self, url: &str) -> Value {
        let (status, body) = self.send("GET", url, None).await;
        assert_eq!(status, 200, "{url}: {body}");
        body
    }

    pub fn stacks(&self) -> String {
        format!("/heat/v1/{}/stacks", self.project)
    }

    /// Creates a stack; gives its path.
    pub async fn create(&self, name: &str, template: &Value, extra: Value) -> String {
        let mut body = json!({"stack_name": name, "template": template, "timeout_mins": 5, "disable_rollback": true});
        body.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let (status, answer) = self.send("POST", &self.stacks(), Some(body)).await;
        assert_eq!(status, 201, "{answer}");
        format!(
            "{}/{name}/{}",
            self.stacks(),
            answer["stack"]["id"].as_str().unwrap()
        )
    }

    pub async fn update(&self, stack: &str, template: &Value) {
        let body = json!({"template": template, "timeout_mins": 5, "disable_rollback": true});
        let (status, answer) = self.send("PUT", stack, Some(body)).await;
        assert_eq!(status, 202, "{answer}");
    }

    pub async fn delete(&self, stack: &str) {
        assert_eq!(self.send("DELETE", stack, None).await.0, 204);
    }

    /// Waits until the stack is not in progress.
    pub async fn settle(&self, stack: &str) -> Value {
        for _ in 0..1500 {
            let shown = self.get(stack).await["stack"].clone();
            if !shown["stack_status"]
                .as_str()
                .unwrap()
                .ends_with("IN_PROGRESS")
            {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!(
            "still in progress: {}",
            self.get(&format!("{stack}/resources")).await
        );
    }

    /// Names and physical ids of the resources.
    pub async fn physical(&self, stack: &str) -> BTreeMap<String, String> {
        self.column(stack, "physical_resource_id").await
    }

    async fn column(&self, stack: &str, key: &str) -> BTreeMap<String, String> {
        let body = self.get(&format!("{stack}/resources?nested_depth=2")).await;
        let rows = body["resources"].as_array().unwrap().iter();
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        rows.map(|r| (text(&r["resource_name"]), text(&r[key])))
            .collect()
    }

    /// States of the resources once none is in progress.
    pub async fn wait_states(&self, stack: &str) -> BTreeMap<String, String> {
        loop {
            let states = self.column(stack, "resource_status").await;
            if !states.values().any(|s| s.ends_with("IN_PROGRESS")) {
                return states;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What the project owns, by service and kind; logins excepted.
    pub async fn inventory(&self) -> Value {
        self.get(&format!("/_embedded/inventory?project={}", self.project))
            .await
    }

    pub async fn ledger(&self, kind: &str, action: &str) -> Vec<String> {
        let body = self.get("/_embedded/ledger").await;
        let lines = body["ledger"].as_array().unwrap().iter();
        let found = lines.filter(|l| l["kind"] == kind && l["action"] == action);
        found
            .map(|l| l["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sets a quota of this project as admin.
    pub async fn quota(&self, path: &str, body: Value) {
        let admin = Self::login(&self.base, "admin", "adminpw", "admin").await;
        let (status, answer) = admin
            .send("PUT", &format!("{path}/{}", self.project), Some(body))
            .await;
        assert_eq!(status, 200, "{answer}");
    }

    /// Signals a handle as the stack's owner, once it exists.
    pub async fn signal(&self, stack: &str, handle: &str, body: Value) {
        for _ in 0..200 {
            if self
                .column(stack, "resource_status")
                .await
                .get(handle)
                .is_some_and(|s| s == "CREATE_COMPLETE")
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (status, answer) = self
            .send(
                "POST",
                &format!("{stack}/resources/{handle}/signal"),
                Some(body),
            )
            .await;
        assert_eq!(status, 200, "{answer}");
    }

    pub async fn fault(&self, fault: Value) {
        let (status, answer) = self.send("POST", "/_embedded/faults", Some(fault)).await;
        assert_eq!(status, 201, "{answer}");
    }
}

/// A template like a small cluster's: network, load balancer and `count` servers on ports of their own.
pub fn cluster(count: usize) -> Value {
    let mut resources = json!({
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": {"get_resource": "net"}, "cidr": "10.0.0.0/24", "ip_version": 4},
        },
        "router": {
            "type": "OS::Neutron::Router",
            "properties": {"external_gateway_info": {"network": {"get_param": "external"}}},
        },
        "router_if": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}},
        },
        "group": {
            "type": "OS::Neutron::SecurityGroup",
            "properties": {"rules": [{"protocol": "tcp", "port_range_min": 6443, "port_range_max": 6443}, {"remote_mode": "remote_group_id"}]},
        },
        "lb": {
            "type": "OS::Octavia::LoadBalancer",
            "depends_on": "router_if",
            "properties": {"vip_subnet": {"get_resource": "subnet"}, "provider": "ovn"},
        },
        "listener": {
            "type": "OS::Octavia::Listener",
            "properties": {"loadbalancer": {"get_resource": "lb"}, "protocol": "TCP", "protocol_port": 6443},
        },
        "pool": {
            "type": "OS::Octavia::Pool",
            "properties": {"listener": {"get_resource": "listener"}, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"},
        },
        "monitor": {
            "type": "OS::Octavia::HealthMonitor",
            "properties": {"pool": {"get_resource": "pool"}, "type": "TCP", "delay": 5, "timeout": 4, "max_retries": 3},
        },
        "fip": {
            "type": "OS::Neutron::FloatingIP",
            "properties": {"floating_network": {"get_param": "external"}, "port_id": {"get_attr": ["lb", "vip_port_id"]}},
        },
        "server_group": {"type": "OS::Nova::ServerGroup", "properties": {"policies": ["soft-anti-affinity"]}},
        "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}},
    });
    let map = resources.as_object_mut().unwrap();
    for n in 0..count {
        let port = json!({
            "type": "OS::Neutron::Port",
            "properties": {
                "network": {"get_resource": "net"},
                "fixed_ips": [{"subnet": {"get_resource": "subnet"}}],
                "security_groups": [{"get_resource": "group"}],
            },
        });
        let server = json!({
            "type": "OS::Nova::Server",
            "properties": {
                "name": format!("node-{n}"),
                "image": "ubuntu-k8s-v1.36",
                "flavor": "m1.small",
                "key_name": "testkey",
                "networks": [{"port": {"get_resource": format!("port_{n}")}}],
                "scheduler_hints": {"group": {"get_resource": "server_group"}},
                "user_data_format": "RAW",
                "user_data_update_policy": "IGNORE",
                "image_update_policy": "REPLACE",
                "config_drive": true,
                "metadata": {"cluster": "x"},
                "user_data": {"str_replace": {"template": "#cloud-config\n@SIGNAL@", "params": {"@SIGNAL@": {"get_attr": ["handle", "signal"]}}}},
            },
        });
        map.insert(format!("port_{n}"), port);
        map.insert(format!("server_{n}"), server);
        let member = json!({
            "type": "OS::Octavia::PoolMember",
            "properties": {
                "pool": {"get_resource": "pool"},
                "address": {"get_attr": [format!("port_{n}"), "fixed_ips", 0, "ip_address"]},
                "protocol_port": 6443,
                "subnet": {"get_resource": "subnet"},
            },
        });
        if n == 0 {
            map.insert("member_1".to_owned(), member);
        }
    }
    if count == 0 {
        map.remove("member_1");
    }
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": {"external": {"type": "string", "default": "public"}},
        "resources": resources,
        "outputs": {
            "address": {"value": {"get_attr": ["server_0", "first_address"]}},
            "vip": {"value": {"get_attr": ["lb", "vip_address"]}},
            "fip": {"value": {"get_attr": ["fip", "floating_ip_address"]}},
        },
    })
}
