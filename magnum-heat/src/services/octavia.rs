//! Octavia: load balancers.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Named, Result, Session, pick,
    request::{Query, request, segments},
    wire,
};

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LoadBalancer {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// `ACTIVE`, `PENDING_CREATE`, `ERROR`, ...
    #[serde(default)]
    pub provisioning_status: String,
    /// `ONLINE`, `ERROR`, ...
    #[serde(default)]
    pub operating_status: String,
    /// Address.
    #[serde(default)]
    pub vip_address: Option<String>,
    /// Port of the address.
    #[serde(default)]
    pub vip_port_id: Option<String>,
    /// Subnet of the address.
    #[serde(default)]
    pub vip_subnet_id: Option<String>,
    /// Network of the address.
    #[serde(default)]
    pub vip_network_id: Option<String>,
    /// Provider.
    #[serde(default)]
    pub provider: Option<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl Named for LoadBalancer {
    const KIND: &'static str = "load balancer";
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        &self.name
    }
}

request! {
    /// Lists load balancers. Without any filter all of the project are listed.
    ListLoadBalancers {
        /// Filters: `name`, `vip_subnet_id`, `vip_network_id`, `tags`, `project_id`, ...
        filters: Vec<(String, String)>,
    } => Vec<LoadBalancer>;
    LoadBalancer GET "list load balancers";
    path: |_r| segments!["lbaas", "loadbalancers"];
    query: |r| r.filters.iter().map(|(k, v)| (k.clone().into(), v.clone())).collect::<Query>();
    decode: |answer| answer.json_at("loadbalancers")
}

request! {
    /// Reads a load balancer.
    ShowLoadBalancer {
        /// Id.
        id: String,
    } => LoadBalancer;
    LoadBalancer GET "show load balancer";
    path: |r| segments!["lbaas", "loadbalancers", r.id];
    decode: |answer| answer.json_at("loadbalancer")
}

request! {
    /// Deletes a load balancer, with everything in it when `cascade`.
    DeleteLoadBalancer {
        /// Id.
        id: String,
        /// Whether listeners, pools and members go too.
        cascade: bool,
    } => ();
    LoadBalancer DELETE "delete load balancer";
    path: |r| segments!["lbaas", "loadbalancers", r.id];
    query: |r| if r.cascade { vec![("cascade".into(), "true".to_owned())] } else { Query::new() };
    decode: |answer| answer.ignore()
}

/// Status of one part of a load balancer and of what is below it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct StatusNode {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub name: String,
    /// Provisioning status.
    #[serde(default)]
    pub provisioning_status: String,
    /// Operating status.
    #[serde(default)]
    pub operating_status: String,
    /// Address, of members.
    #[serde(default)]
    pub address: Option<String>,
    /// Port, of members.
    #[serde(default)]
    pub protocol_port: Option<u16>,
    /// Listeners, of load balancers.
    #[serde(default)]
    pub listeners: Vec<StatusNode>,
    /// Pools, of load balancers and listeners.
    #[serde(default)]
    pub pools: Vec<StatusNode>,
    /// Members, of pools.
    #[serde(default)]
    pub members: Vec<StatusNode>,
    /// Monitor, of pools.
    #[serde(default)]
    health_monitor: Option<Box<StatusNode>>,
}

impl StatusNode {
    /// Monitor, of pools.
    pub fn health_monitor(&self) -> Option<&StatusNode> {
        self.health_monitor.as_deref().filter(|m| !m.id.is_empty())
    }

    /// This part and all below it.
    pub fn all(&self) -> Vec<&StatusNode> {
        let below = self
            .listeners
            .iter()
            .chain(&self.pools)
            .chain(&self.members)
            .chain(self.health_monitor());
        std::iter::once(self)
            .chain(below.flat_map(Self::all))
            .collect()
    }
}

#[derive(Deserialize)]
struct Statuses {
    loadbalancer: StatusNode,
}

request! {
    /// Reads the status of a load balancer and of everything in it.
    GetStatusTree {
        /// Id.
        id: String,
    } => StatusNode;
    LoadBalancer GET "get load balancer status";
    path: |r| segments!["lbaas", "loadbalancers", r.id, "status"];
    decode: |answer| Ok(answer.json_at::<Statuses>("statuses")?.loadbalancer)
}

/// A provider of load balancers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Provider {
    /// Name: `amphora`, `ovn`, ...
    pub name: String,
    /// Description.
    #[serde(default)]
    pub description: String,
}

request! {
    /// Lists the providers.
    ListProviders {} => Vec<Provider>;
    LoadBalancer GET "list load balancer providers";
    path: |_r| segments!["lbaas", "providers"];
    decode: |answer| answer.json_at("providers")
}

request! {
    /// Reads the quotas of a project; a value of -1 is no limit.
    GetQuota {
        /// Project id.
        project: String,
    } => Map<String, Value>;
    LoadBalancer GET "get load balancer quota";
    path: |r| segments!["lbaas", "quotas", r.project];
    decode: |answer| answer.json_at("quota")
}

request! {
    /// Sets quotas of a project (administrators).
    SetQuota {
        /// Project id.
        project: String,
        /// Quotas: `load_balancer`, ...
        quotas: Map<String, Value>,
    } => ();
    LoadBalancer PUT "set load balancer quota";
    path: |r| segments!["lbaas", "quotas", r.project];
    body: |r| json!({"quota": r.quotas});
    decode: |answer| answer.ignore()
}

request! {
    /// Sets the tags of a load balancer.
    SetLoadBalancerTags {
        /// Id.
        id: String,
        /// All tags from now on.
        tags: Vec<String>,
    } => ();
    LoadBalancer PUT "set load balancer tags";
    path: |r| segments!["lbaas", "loadbalancers", r.id];
    body: |r| json!({"loadbalancer": {"tags": r.tags}});
    decode: |answer| answer.ignore()
}

/// Finds a load balancer by name or id.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_load_balancer(session: &Session, name_or_id: &str) -> Result<LoadBalancer> {
    if name_or_id.is_empty() {
        return Ok(pick(name_or_id, Vec::new())?);
    }
    let filter = |key: &str| ListLoadBalancers {
        filters: vec![(key.to_owned(), name_or_id.to_owned())],
    };
    let mut found = session.send(filter("id")).await?;
    if found.is_empty() {
        found = session.send(filter("name")).await?;
    }
    Ok(pick(name_or_id, found)?)
}
