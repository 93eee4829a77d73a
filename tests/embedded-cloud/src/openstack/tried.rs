//! A cloud for tests, with logins and waits.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Cloud, Latency, Reply};
use crate::cloud::Options;

/// A running cloud with tokens of `demo`, `admin` and the neighbour `demo2`.
pub(super) struct Tried {
    pub cloud: Cloud,
    pub demo: String,
    pub admin: String,
    pub neighbour: String,
}

/// A cloud in which building takes almost no time.
pub(super) fn fast() -> Options {
    Options {
        latency: Latency::default().scaled(0.1),
        ..Options::default()
    }
}

impl Tried {
    pub(super) async fn start() -> Self {
        Self::with(fast()).await
    }

    pub(super) async fn with(options: Options) -> Self {
        let cloud = Cloud::start(options).await.unwrap();
        let demo = login(&cloud, "demo", "demopw", "demo").await;
        let admin = login(&cloud, "admin", "adminpw", "admin").await;
        let neighbour = login(&cloud, "demo2", "demopw", "demo2").await;
        Self {
            cloud,
            demo,
            admin,
            neighbour,
        }
    }

    pub(super) async fn call(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Reply {
        self.cloud
            .call(method, path, Some(token), &[], body.as_ref())
            .await
            .unwrap()
    }

    pub(super) async fn versioned(
        &self,
        token: &str,
        version: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Reply {
        let headers = [("openstack-api-version", version)];
        self.cloud
            .call(method, path, Some(token), &headers, body.as_ref())
            .await
            .unwrap()
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let reply = self.call(&self.demo, Method::GET, path, None).await;
        assert!(
            reply.status.is_success(),
            "GET {path}: {} {}",
            reply.status,
            reply.body
        );
        reply.body
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Value {
        let reply = self.call(&self.demo, Method::POST, path, Some(body)).await;
        assert!(
            reply.status.is_success(),
            "POST {path}: {} {}",
            reply.status,
            reply.body
        );
        reply.body
    }

    pub(super) async fn delete(&self, path: &str) -> Reply {
        self.call(&self.demo, Method::DELETE, path, None).await
    }

    /// Waits until a value of the answer is what is wanted.
    pub(super) async fn until(&self, path: &str, pointer: &str, wanted: &str) -> Value {
        for _ in 0..500 {
            let reply = self.call(&self.demo, Method::GET, path, None).await;
            if reply.body.pointer(pointer).and_then(Value::as_str) == Some(wanted) {
                return reply.body;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{path} did not become {wanted}");
    }

    /// Waits until a GET is a 404.
    pub(super) async fn until_gone(&self, path: &str) {
        for _ in 0..500 {
            if self.call(&self.demo, Method::GET, path, None).await.status == StatusCode::NOT_FOUND
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{path} is still there");
    }

    /// A network with a subnet behind a router to `public`: network, subnet, router.
    pub(super) async fn network(&self, cidr: &str) -> (String, String, String) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let network = self
            .post(
                "/network/v2.0/networks",
                json!({"network": {"name": "net"}}),
            )
            .await;
        let network = text(&network["network"]["id"]);
        let body = json!({"subnet": {"network_id": network, "cidr": cidr, "ip_version": 4}});
        let subnet = text(&self.post("/network/v2.0/subnets", body).await["subnet"]["id"]);
        let public = self
            .get("/network/v2.0/networks?router:external=True")
            .await;
        let gateway = json!({"network_id": public["networks"][0]["id"]});
        let body = json!({"router": {"name": "r", "external_gateway_info": gateway}});
        let router = text(&self.post("/network/v2.0/routers", body).await["router"]["id"]);
        let path = format!("/network/v2.0/routers/{router}/add_router_interface");
        let reply = self
            .call(
                &self.demo,
                Method::PUT,
                &path,
                Some(json!({"subnet_id": subnet})),
            )
            .await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        (network, subnet, router)
    }
}

async fn login(cloud: &Cloud, user: &str, password: &str, project: &str) -> String {
    let domain = json!({"name": "Default"});
    let body = json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": password}}},
        "scope": {"project": {"name": project, "domain": domain}},
    }});
    let reply = cloud
        .call(
            Method::POST,
            "/identity/v3/auth/tokens",
            None,
            &[],
            Some(&body),
        )
        .await
        .unwrap();
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.headers["x-subject-token"]
        .to_str()
        .unwrap()
        .to_owned()
}

/// The keys of a JSON value, nested: lists by their first element. What is optional in the sample may be missing.
pub(super) fn same_keys(path: &str, real: &Value, ours: &Value) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            let mut expected: Vec<&String> = real.keys().collect();
            let mut found: Vec<&String> = ours.keys().collect();
            expected.sort();
            found.sort();
            assert_eq!(expected, found, "keys of {path}");
            let free = ["extra_specs", "metadata", "instance_info"];
            for (key, value) in real.iter().filter(|(key, _)| !free.contains(&key.as_str())) {
                same_keys(&format!("{path}.{key}"), value, &ours[key]);
            }
        }
        (Value::Array(real), Value::Array(ours)) => {
            if let (Some(real), Some(ours)) = (real.first(), ours.first()) {
                same_keys(&format!("{path}[]"), real, ours);
            }
        }
        _ => {}
    }
}
