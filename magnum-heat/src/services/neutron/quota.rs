//! Quotas, extensions, and taking a router apart.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    request::{request, segments},
    services::nova::QuotaDetail,
};

/// Quotas of a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Quota {
    /// Networks.
    pub network: QuotaDetail,
    /// Subnets.
    pub subnet: QuotaDetail,
    /// Ports.
    pub port: QuotaDetail,
    /// Routers.
    pub router: QuotaDetail,
    /// Floating IPs.
    pub floatingip: QuotaDetail,
    /// Security groups.
    pub security_group: QuotaDetail,
    /// Rules of security groups.
    pub security_group_rule: QuotaDetail,
}

request! {
    /// Reads the quotas of a project and what is in use.
    GetQuota {
        /// Project id.
        project: String,
    } => Quota;
    Network GET "get network quota";
    path: |r| segments!["quotas", r.project, "details.json"];
    decode: |answer| answer.json_at("quota")
}

request! {
    /// Sets quotas of a project (administrators).
    SetQuota {
        /// Project id.
        project: String,
        /// Quotas: `port`, `floatingip`, ...
        quotas: Map<String, Value>,
    } => ();
    Network PUT "set network quota";
    path: |r| segments!["quotas", r.project];
    body: |r| json!({"quota": r.quotas});
    decode: |answer| answer.ignore()
}

/// An extension of Neutron's API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Extension {
    /// Short name.
    pub alias: String,
    /// Name.
    #[serde(default)]
    pub name: String,
}

request! {
    /// Lists the extensions of Neutron's API.
    ListExtensions {} => Vec<Extension>;
    Network GET "list network extensions";
    path: |_r| segments!["extensions"];
    decode: |answer| answer.json_at("extensions")
}

request! {
    /// Takes a subnet off a router.
    RemoveRouterInterface {
        /// Router id.
        router: String,
        /// Subnet id.
        subnet: String,
    } => ();
    Network PUT "remove router interface";
    path: |r| segments!["routers", r.router, "remove_router_interface"];
    body: |r| json!({"subnet_id": r.subnet});
    decode: |answer| answer.ignore()
}
