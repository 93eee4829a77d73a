//! Servers.

use std::fmt;

use chrono::{DateTime, Utc};
use http::Method;
use indexmap::IndexMap;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Named, Result, Session,
    paging::{self, Page},
    request::{Answer, Path, Query, Request, ServiceType, request, segments},
    wire,
};

/// Microversion of server requests: the oldest that shows user data, the flavor and tags in details.
const MICROVERSION: &str = "2.79";

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Address {
    /// The address.
    pub addr: String,
    /// 4 or 6.
    #[serde(default)]
    pub version: u8,
    /// `fixed` or `floating`.
    #[serde(default, rename = "OS-EXT-IPS:type")]
    pub kind: String,
    /// Hardware address.
    #[serde(default, rename = "OS-EXT-IPS-MAC:mac_addr")]
    pub mac: String,
}

/// What went wrong with a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Fault {
    /// Code, an HTTP status.
    #[serde(default)]
    pub code: u16,
    /// Message.
    #[serde(default)]
    pub message: String,
    /// When.
    #[serde(default, deserialize_with = "wire::option")]
    pub created: Option<DateTime<Utc>>,
}

/// Flavor that a server was made with.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct FlavorOf {
    /// Id, before microversion 2.47.
    #[serde(default)]
    pub id: Option<String>,
    /// Name.
    #[serde(default)]
    pub original_name: String,
    /// Virtual CPUs.
    #[serde(default)]
    pub vcpus: u64,
    /// Memory, in MiB.
    #[serde(default)]
    pub ram: u64,
    /// Disk, in GiB.
    #[serde(default)]
    pub disk: u64,
    /// Extra specs.
    #[serde(default)]
    pub extra_specs: IndexMap<String, String>,
}

/// A server. `Debug` does not show its user data.
#[derive(Clone, Deserialize)]
#[non_exhaustive]
pub struct Server {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// `ACTIVE`, `BUILD`, `ERROR`, ...
    #[serde(default)]
    pub status: String,
    /// Project.
    #[serde(default)]
    pub tenant_id: String,
    /// Addresses by network name.
    #[serde(default)]
    pub addresses: IndexMap<String, Vec<Address>>,
    /// Metadata.
    #[serde(default)]
    pub metadata: IndexMap<String, String>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Flavor it was made with.
    #[serde(default)]
    pub flavor: FlavorOf,
    /// Image; `Null` or empty text when booted from a volume.
    #[serde(default)]
    image: Value,
    /// Keypair.
    #[serde(default)]
    pub key_name: Option<String>,
    /// What went wrong, in status `ERROR`.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// When it was made.
    #[serde(default, deserialize_with = "wire::option")]
    pub created: Option<DateTime<Utc>>,
    /// When it was last changed.
    #[serde(default, deserialize_with = "wire::option")]
    pub updated: Option<DateTime<Utc>>,
    /// When it was started.
    #[serde(
        default,
        rename = "OS-SRV-USG:launched_at",
        deserialize_with = "wire::option"
    )]
    pub launched: Option<DateTime<Utc>>,
    /// Running task: `spawning`, ...
    #[serde(default, rename = "OS-EXT-STS:task_state")]
    pub task_state: Option<String>,
    /// `active`, `building`, `error`, ...
    #[serde(default, rename = "OS-EXT-STS:vm_state")]
    pub vm_state: Option<String>,
    /// Availability zone.
    #[serde(default, rename = "OS-EXT-AZ:availability_zone")]
    pub availability_zone: Option<String>,
    /// Host (administrators).
    #[serde(default, rename = "OS-EXT-SRV-ATTR:host")]
    pub host: Option<String>,
    /// Host name inside (administrators; later microversions: all).
    #[serde(default, rename = "OS-EXT-SRV-ATTR:hostname")]
    pub hostname: Option<String>,
    /// User data, base64 (administrators).
    #[serde(default, rename = "OS-EXT-SRV-ATTR:user_data")]
    pub user_data: Option<SecretString>,
    /// Attached volumes.
    #[serde(default, rename = "os-extended-volumes:volumes_attached")]
    volumes: Vec<IdOnly>,
}

#[derive(Clone, Deserialize)]
struct IdOnly {
    id: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("status", &self.status)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Id of its image; `None` when booted from a volume.
    pub fn image_id(&self) -> Option<&str> {
        self.image.get("id").and_then(Value::as_str)
    }

    /// Ids of attached volumes.
    pub fn volume_ids(&self) -> impl Iterator<Item = &str> {
        self.volumes.iter().map(|v| v.id.as_str())
    }

    /// All addresses of this kind (`fixed`, `floating`).
    pub fn addresses_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        self.addresses
            .values()
            .flatten()
            .filter(move |a| a.kind == kind)
            .map(|a| a.addr.as_str())
    }
}

impl Named for Server {
    const KIND: &'static str = "server";
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        &self.name
    }
}

/// One page of servers with details; [`list_servers`] reads all pages.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListServers {
    /// Servers whose name matches this expression.
    pub name: Option<String>,
    /// Servers of this status.
    pub status: Option<String>,
    /// Servers that carry all of these tags.
    pub tags: Vec<String>,
    /// Servers of all projects (administrators).
    pub all_projects: bool,
    /// Servers of this project, with `all_projects`.
    pub project: Option<String>,
    /// Servers changed since this time, deleted ones included.
    pub changes_since: Option<String>,
    /// Servers in one page.
    pub limit: Option<usize>,
    /// Id of the last server of the page before.
    pub marker: Option<String>,
}

impl ListServers {
    /// All servers of the project, in pages of 500.
    pub fn new() -> Self {
        Self {
            limit: Some(500),
            ..Self::default()
        }
    }

    /// Only servers that carry all of these tags.
    #[must_use]
    pub fn with_tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Servers of all projects.
    #[must_use]
    pub fn all_projects(mut self) -> Self {
        self.all_projects = true;
        self
    }
}

impl Request for ListServers {
    type Output = Vec<Server>;
    const SERVICE: ServiceType = ServiceType::Compute;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list servers";
    const MICROVERSION: Option<&'static str> = Some(MICROVERSION);

    fn path(&self) -> Path {
        segments!["servers", "detail"]
    }

    fn query(&self) -> Query {
        let mut query = Query::new();
        if self.all_projects {
            query.push(("all_tenants".into(), "1".to_owned()));
        }
        for (key, value) in [
            ("name", &self.name),
            ("status", &self.status),
            ("project_id", &self.project),
            ("changes-since", &self.changes_since),
        ] {
            if let Some(value) = value {
                query.push((key.into(), value.clone()));
            }
        }
        if !self.tags.is_empty() {
            query.push(("tags".into(), self.tags.join(",")));
        }
        paging::push(&mut query, self.limit, self.marker.as_deref());
        query
    }

    fn decode(&self, answer: Answer) -> Result<Vec<Server>> {
        answer.json_at("servers")
    }
}

impl Page for ListServers {
    type Item = Server;
    fn limit(&self) -> Option<usize> {
        self.limit
    }
    fn after(&self, marker: &str) -> Self {
        Self {
            marker: Some(marker.to_owned()),
            ..self.clone()
        }
    }
    fn marker_of(item: &Server) -> &str {
        &item.id
    }
    fn says_more(&self, answer: &Answer) -> bool {
        paging::has_next_link(answer, "servers_links")
    }
}

/// Reads all pages of a list of servers.
///
/// # Errors
/// Those of [`Session::send`], and [`crate::Error::PagingLoop`].
pub async fn list_servers(session: &Session, request: ListServers) -> Result<Vec<Server>> {
    paging::all(session, request).await
}

request! {
    /// Reads a server.
    ShowServer {
        /// Id.
        id: String,
    } => Server;
    Compute GET "show server" @ "2.79";
    path: |r| segments!["servers", r.id];
    decode: |answer| answer.json_at("server")
}

request! {
    /// Deletes a server.
    DeleteServer {
        /// Id.
        id: String,
    } => ();
    Compute DELETE "delete server";
    path: |r| segments!["servers", r.id];
    decode: |answer| answer.ignore()
}

request! {
    /// Reads the last lines of a server's console.
    ConsoleOutput {
        /// Id.
        id: String,
        /// How many lines.
        lines: u32,
    } => String;
    Compute POST "read console";
    path: |r| segments!["servers", r.id, "action"];
    body: |r| serde_json::json!({"os-getConsoleOutput": {"length": r.lines}});
    idempotent: true;
    decode: |answer| answer.json_at("output")
}
