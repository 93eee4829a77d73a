//! Limits, quotas, server groups, availability zones.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::request::{request, segments};

/// What the project may use and uses. A maximum of -1 is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Most virtual CPUs.
    pub max_total_cores: i64,
    /// Most servers.
    pub max_total_instances: i64,
    /// Most memory, in MiB.
    #[serde(rename = "maxTotalRAMSize")]
    pub max_total_ram: i64,
    /// Most server groups.
    #[serde(default)]
    pub max_server_groups: i64,
    /// Most members of a server group.
    #[serde(default)]
    pub max_server_group_members: i64,
    /// Virtual CPUs in use.
    #[serde(default)]
    pub total_cores_used: i64,
    /// Servers in use.
    #[serde(default)]
    pub total_instances_used: i64,
    /// Memory in use, in MiB.
    #[serde(default, rename = "totalRAMUsed")]
    pub total_ram_used: i64,
    /// Server groups in use.
    #[serde(default)]
    pub total_server_groups_used: i64,
}

#[derive(Deserialize)]
struct Absolute {
    absolute: Limits,
}

request! {
    /// Reads the limits of the project.
    GetLimits {} => Limits;
    Compute GET "get compute limits";
    path: |_r| segments!["limits"];
    decode: |answer| Ok(answer.json_at::<Absolute>("limits")?.absolute)
}

/// One quota: limit, use and reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct QuotaDetail {
    /// Limit; -1 is none.
    pub limit: i64,
    /// In use.
    #[serde(default, alias = "used")]
    pub in_use: i64,
    /// Reserved.
    #[serde(default)]
    pub reserved: i64,
}

impl QuotaDetail {
    /// How many more there may be; `None` is any number.
    pub fn free(&self) -> Option<i64> {
        (self.limit >= 0).then(|| (self.limit - self.in_use - self.reserved).max(0))
    }
}

/// Quotas of a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Quota {
    /// Servers.
    pub instances: QuotaDetail,
    /// Virtual CPUs.
    pub cores: QuotaDetail,
    /// Memory, in MiB.
    pub ram: QuotaDetail,
}

request! {
    /// Reads the quotas of a project.
    GetQuota {
        /// Project id.
        project: String,
    } => Quota;
    Compute GET "get compute quota";
    path: |r| segments!["os-quota-sets", r.project, "detail"];
    decode: |answer| answer.json_at("quota_set")
}

request! {
    /// Sets quotas of a project (administrators); also below what is in use.
    SetQuota {
        /// Project id.
        project: String,
        /// Quotas: `instances`, `cores`, `ram`.
        quotas: Map<String, Value>,
    } => ();
    Compute PUT "set compute quota";
    path: |r| segments!["os-quota-sets", r.project];
    body: |r| {
        let mut set = r.quotas.clone();
        set.insert("force".to_owned(), Value::Bool(true));
        json!({"quota_set": set})
    };
    decode: |answer| answer.ignore()
}

/// A server group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ServerGroup {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Ids of its servers.
    #[serde(default)]
    pub members: Vec<String>,
    /// Policy.
    #[serde(default)]
    pub policy: Option<String>,
}

request! {
    /// Lists the server groups of the project.
    ListServerGroups {} => Vec<ServerGroup>;
    Compute GET "list server groups" @ "2.64";
    path: |_r| segments!["os-server-groups"];
    decode: |answer| answer.json_at("server_groups")
}

request! {
    /// Deletes a server group.
    DeleteServerGroup {
        /// Id.
        id: String,
    } => ();
    Compute DELETE "delete server group";
    path: |r| segments!["os-server-groups", r.id];
    decode: |answer| answer.ignore()
}

/// An availability zone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct AvailabilityZone {
    /// Name.
    #[serde(rename = "zoneName")]
    pub name: String,
    #[serde(default, rename = "zoneState")]
    state: ZoneState,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct ZoneState {
    #[serde(default)]
    available: bool,
}

impl AvailabilityZone {
    /// Whether it can be used.
    pub fn is_available(&self) -> bool {
        self.state.available
    }
}

request! {
    /// Lists availability zones.
    ListAvailabilityZones {} => Vec<AvailabilityZone>;
    Compute GET "list availability zones";
    path: |_r| segments!["os-availability-zone"];
    decode: |answer| answer.json_at("availabilityZoneInfo")
}
