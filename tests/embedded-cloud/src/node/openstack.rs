//! The simulator's own small OpenStack client: Keystone, Nova, Glance.

use std::collections::HashMap;
use std::fmt::Display;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::config::AdminLogin;
use super::error::SimulatorError;

/// A server as Nova lists it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) image: Option<String>,
    pub(crate) flavor: String,
    pub(crate) zone: String,
    /// Still base64.
    pub(crate) user_data: Option<String>,
}

#[derive(Debug, Clone)]
struct Login {
    token: String,
    compute: String,
    image: Option<String>,
}

/// The client. Logs in when first used and again when the token is refused.
#[derive(Debug)]
pub(crate) struct Cloud {
    client: Client,
    login: AdminLogin,
    session: Mutex<Option<Login>>,
    versions: Mutex<HashMap<String, Option<String>>>,
}

fn cloud_error(operation: &str, reason: impl Display) -> SimulatorError {
    SimulatorError::Cloud {
        operation: operation.into(),
        reason: reason.to_string(),
    }
}

/// A reqwest client without a proxy, for the cloud's own services.
pub(crate) fn http_client() -> Result<Client, SimulatorError> {
    Client::builder()
        .no_proxy()
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .build()
        .map_err(|e| cloud_error("HTTP client", e))
}

/// `auth_url` with `/v3` at its end.
pub(crate) fn v3(auth_url: &str) -> String {
    let url = auth_url.trim_end_matches('/');
    if url.ends_with("/v3") {
        url.to_owned()
    } else {
        format!("{url}/v3")
    }
}

impl Cloud {
    pub(crate) fn new(login: AdminLogin) -> Result<Self, SimulatorError> {
        Ok(Self {
            client: http_client()?,
            login,
            session: Mutex::new(None),
            versions: Mutex::default(),
        })
    }

    async fn session(&self) -> Result<Login, SimulatorError> {
        let mut session = self.session.lock().await;
        if let Some(login) = &*session {
            return Ok(login.clone());
        }
        let l = &self.login;
        let domain = json!({"name": l.domain});
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {"name": l.username, "domain": domain, "password": l.password}}},
            "scope": {"project": {"name": l.project, "domain": domain}}}});
        let operation = format!("login at {}", l.auth_url);
        let url = format!("{}/auth/tokens", v3(&l.auth_url));
        let response = self
            .client
            .post(url)
            .json_body(&body)
            .send()
            .await
            .map_err(|e| cloud_error(&operation, e))?;
        let status = response.status();
        let token = response
            .headers()
            .get("x-subject-token")
            .and_then(|v| v.to_str().ok())
            .map(str::to_owned);
        let text = response
            .text()
            .await
            .map_err(|e| cloud_error(&operation, e))?;
        let (Some(token), true) = (token, status.is_success()) else {
            return Err(cloud_error(
                &operation,
                format!("{status}: {}", text.chars().take(300).collect::<String>()),
            ));
        };
        let answer: Value = serde_json::from_str(&text).map_err(|e| cloud_error(&operation, e))?;
        let endpoint = |kind: &str| {
            let catalog = answer["token"]["catalog"].as_array()?;
            let service = catalog.iter().find(|s| s["type"] == kind)?;
            let fits = |e: &&Value| {
                e["interface"] == "public"
                    && l.region.as_ref().is_none_or(|r| e["region"] == r.as_str())
            };
            let url = service["endpoints"].as_array()?.iter().find(fits)?["url"].as_str()?;
            Some(url.trim_end_matches('/').to_owned())
        };
        let compute = endpoint("compute")
            .ok_or_else(|| cloud_error(&operation, "no compute endpoint in the catalog"))?;
        let login = Login {
            token,
            compute,
            image: endpoint("image"),
        };
        *session = Some(login.clone());
        Ok(login)
    }

    async fn get(
        &self,
        url: impl Fn(&Login) -> String,
        operation: &str,
    ) -> Result<Value, SimulatorError> {
        for attempt in 0..2 {
            let login = self.session().await?;
            let request = self
                .client
                .request(Method::GET, url(&login))
                .header("X-Auth-Token", &login.token)
                .header("OpenStack-API-Version", "compute 2.79")
                .header("X-OpenStack-Nova-API-Version", "2.79");
            let response = request
                .send()
                .await
                .map_err(|e| cloud_error(operation, e))?;
            let status = response.status();
            if status == StatusCode::UNAUTHORIZED && attempt == 0 {
                *self.session.lock().await = None;
                continue;
            }
            let text = response
                .text()
                .await
                .map_err(|e| cloud_error(operation, e))?;
            if !status.is_success() {
                return Err(cloud_error(
                    operation,
                    format!("{status}: {}", text.chars().take(300).collect::<String>()),
                ));
            }
            return serde_json::from_str(&text).map_err(|e| cloud_error(operation, e));
        }
        Err(cloud_error(
            operation,
            "the token is refused again and again",
        ))
    }

    /// All servers of all projects.
    pub(crate) async fn servers(&self) -> Result<Vec<Server>, SimulatorError> {
        let (mut servers, mut marker) = (Vec::new(), None::<String>);
        loop {
            let page = self
                .get(
                    |l| {
                        let marker = marker
                            .as_ref()
                            .map_or(String::new(), |m| format!("&marker={m}"));
                        format!("{}/servers/detail?all_tenants=1{marker}", l.compute)
                    },
                    "list of servers",
                )
                .await?;
            let list = page["servers"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            servers.extend(list.iter().filter_map(parse_server));
            let more = page["servers_links"]
                .as_array()
                .is_some_and(|l| l.iter().any(|l| l["rel"] == "next"));
            match list.last().and_then(|s| s["id"].as_str()) {
                Some(last) if more => marker = Some(last.to_owned()),
                _ => return Ok(servers),
            }
        }
    }

    /// The Kubernetes version an image says it carries; remembered.
    pub(crate) async fn image_version(&self, image: &str) -> Option<String> {
        if let Some(known) = self.versions.lock().await.get(image) {
            return known.clone();
        }
        let base = self.session().await.ok()?.image?;
        let base = if base.ends_with("/v2") {
            base
        } else {
            format!("{base}/v2")
        };
        let answer = self
            .get(|_| format!("{base}/images/{image}"), "image")
            .await
            .ok()?;
        let version = answer["kube_version"]
            .as_str()
            .or_else(|| answer["kubernetes_version"].as_str());
        let version = version.map(str::to_owned);
        self.versions
            .lock()
            .await
            .insert(image.to_owned(), version.clone());
        version
    }
}

/// `json` of reqwest is a feature we do not have.
pub(crate) trait JsonBody {
    fn json_body(self, body: &Value) -> Self;
}

impl JsonBody for reqwest::RequestBuilder {
    fn json_body(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json")
            .body(body.to_string())
    }
}

#[derive(Deserialize)]
struct Address {
    addr: IpAddr,
    #[serde(rename = "OS-EXT-IPS:type", default)]
    kind: String,
}

fn parse_server(server: &Value) -> Option<Server> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let networks = server["addresses"].as_object();
    let addresses = networks
        .into_iter()
        .flatten()
        .filter_map(|(_, list)| serde_json::from_value::<Vec<Address>>(list.clone()).ok())
        .flatten()
        .filter(|a| a.kind != "floating")
        .map(|a| a.addr)
        .collect();
    Some(Server {
        id: server["id"].as_str()?.to_owned(),
        name: text(&server["name"]),
        status: text(&server["status"]),
        addresses,
        image: server["image"]["id"].as_str().map(str::to_owned),
        flavor: text(&server["flavor"]["original_name"]),
        zone: text(&server["OS-EXT-AZ:availability_zone"]),
        user_data: server["OS-EXT-SRV-ATTR:user_data"]
            .as_str()
            .map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_with_its_fixed_addresses() {
        let server = json!({"id": "i", "name": "w", "status": "ACTIVE", "image": "", "flavor": {"original_name": "m1.small"},
            "addresses": {"net": [
                {"version": 4, "addr": "10.0.0.4", "OS-EXT-IPS:type": "fixed"},
                {"version": 4, "addr": "172.24.4.9", "OS-EXT-IPS:type": "floating"}]}});
        let server = parse_server(&server).unwrap();
        assert_eq!(server.addresses, ["10.0.0.4".parse::<IpAddr>().unwrap()]);
        assert_eq!(server.image, None);
        assert_eq!(v3("http://x/identity/"), "http://x/identity/v3");
    }
}
