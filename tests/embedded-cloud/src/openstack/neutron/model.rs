//! What Neutron keeps.

use std::collections::BTreeMap;
use std::net::IpAddr;

use chrono::{DateTime, Utc};
use http::StatusCode;
use indexmap::IndexMap;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{ApiError, ServiceKind};
use super::addresses::Pool;

/// What every resource has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meta {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Owner; empty for ports that belong to nobody (router gateways, floating IPs).
    pub project_id: String,
    /// Free text.
    pub description: String,
    /// Tags.
    pub tags: Vec<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// How often it changed.
    pub revision: u64,
}

impl Meta {
    /// A new one.
    #[must_use]
    pub fn new(id: String, name: &str, project_id: &str, now: DateTime<Utc>) -> Self {
        Self {
            id,
            name: name.to_owned(),
            project_id: project_id.to_owned(),
            description: String::new(),
            tags: Vec::new(),
            created_at: now,
            updated_at: now,
            revision: 1,
        }
    }

    /// Marks a change.
    pub fn touch(&mut self, now: DateTime<Utc>) {
        self.updated_at = now;
        self.revision += 1;
    }
}

/// A network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network {
    /// Common fields.
    pub meta: Meta,
    /// Up as the operator wants it.
    pub admin_state_up: bool,
    /// Bytes; 1442 for tenant networks, 1500 for flat ones.
    pub mtu: u64,
    /// Everybody may use it.
    pub shared: bool,
    /// Floating IPs and gateways come from it.
    pub external: bool,
    /// Ports may have security groups.
    pub port_security: bool,
    /// `geneve`, `flat` or `vlan`.
    pub network_type: String,
    /// The physical network of a flat or VLAN one.
    pub physical_network: Option<String>,
    /// VLAN or tunnel number.
    pub segmentation_id: Option<u64>,
}

/// A subnet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subnet {
    /// Common fields.
    pub meta: Meta,
    /// Its network.
    pub network_id: String,
    /// Range.
    pub cidr: IpNet,
    /// Gateway.
    pub gateway: Option<IpAddr>,
    /// From where ports are served.
    pub pools: Vec<Pool>,
    /// DHCP on.
    pub enable_dhcp: bool,
    /// Name servers.
    pub dns_nameservers: Vec<String>,
    /// Routes handed to hosts.
    pub host_routes: Vec<Value>,
}

/// One address of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedIp {
    /// The subnet.
    pub subnet_id: String,
    /// The address.
    pub ip_address: IpAddr,
}

/// A port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Port {
    /// Common fields.
    pub meta: Meta,
    /// Its network.
    pub network_id: String,
    /// MAC address.
    pub mac_address: String,
    /// Up as the owner wants it.
    pub admin_state_up: bool,
    /// `DOWN`, `ACTIVE` or `N/A`.
    pub status: String,
    /// What uses it: a server, a router, a floating IP.
    pub device_id: String,
    /// The kind of user: `compute:nova`, `network:router_interface`, ...
    pub device_owner: String,
    /// Addresses.
    pub fixed_ips: Vec<FixedIp>,
    /// Security groups by id.
    pub security_groups: Vec<String>,
    /// Further addresses that may be used.
    pub allowed_address_pairs: Vec<Value>,
    /// Filtered by security groups.
    pub port_security: bool,
    /// `normal`, `direct`, `baremetal`.
    pub vnic_type: String,
    /// Host that carries it.
    pub host_id: String,
    /// Binding profile.
    pub profile: Value,
}

/// A router.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Router {
    /// Common fields.
    pub meta: Meta,
    /// Up as the owner wants it.
    pub admin_state_up: bool,
    /// Its port on the external network.
    pub gateway_port: Option<String>,
    /// Source NAT at the gateway.
    pub enable_snat: bool,
    /// Extra routes.
    pub routes: Vec<Value>,
}

/// A security group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Group {
    /// Common fields.
    pub meta: Meta,
    /// Connection tracking.
    pub stateful: bool,
}

/// A rule of a security group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rule {
    /// Common fields; a rule has no name.
    pub meta: Meta,
    /// Its group.
    pub group_id: String,
    /// `ingress` or `egress`.
    pub direction: String,
    /// `IPv4` or `IPv6`.
    pub ethertype: String,
    /// Protocol by name or number.
    pub protocol: Option<String>,
    /// First port or ICMP type.
    pub port_min: Option<u64>,
    /// Last port or ICMP code.
    pub port_max: Option<u64>,
    /// Other side by range.
    pub remote_prefix: Option<String>,
    /// Other side by group.
    pub remote_group: Option<String>,
    /// Made with the group, not by the user.
    pub built_in: bool,
    /// Number for `standard_attr_id`.
    pub number: u64,
}

/// A floating IP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FloatingIp {
    /// Common fields.
    pub meta: Meta,
    /// The external network.
    pub network_id: String,
    /// Its port there, which holds the address.
    pub own_port: String,
    /// The port it leads to.
    pub port_id: Option<String>,
    /// The address of that port.
    pub fixed_ip: Option<IpAddr>,
    /// The router between.
    pub router_id: Option<String>,
    /// The outer address.
    pub address: IpAddr,
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NeutronState {
    /// Networks by id.
    pub networks: IndexMap<String, Network>,
    /// Subnets by id.
    pub subnets: IndexMap<String, Subnet>,
    /// Ports by id.
    pub ports: IndexMap<String, Port>,
    /// Routers by id.
    pub routers: IndexMap<String, Router>,
    /// Security groups by id.
    pub groups: IndexMap<String, Group>,
    /// Rules by id.
    pub rules: IndexMap<String, Rule>,
    /// Floating IPs by id.
    pub floating_ips: IndexMap<String, FloatingIp>,
    /// Limits by project and resource, where they differ from the default.
    pub quotas: BTreeMap<String, BTreeMap<String, i64>>,
    /// Counts MAC addresses and rule numbers.
    pub counter: u64,
}

/// An error of Neutron.
pub(super) fn fault(status: u16, kind: &str, message: impl Into<String>) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ApiError::new(ServiceKind::Neutron, status, kind, message)
}

/// 404 with the message of the resource.
pub(super) fn missing(collection: &str, id: &str) -> ApiError {
    let (kind, message) = match collection {
        "networks" => (
            "NetworkNotFound",
            format!("Network {id} could not be found."),
        ),
        "subnets" => ("SubnetNotFound", format!("Subnet {id} could not be found.")),
        "ports" => ("PortNotFound", format!("Port {id} could not be found.")),
        "routers" => ("RouterNotFound", format!("Router {id} could not be found")),
        "floatingips" => (
            "FloatingIPNotFound",
            format!("Floating IP {id} could not be found"),
        ),
        "security-groups" => (
            "SecurityGroupNotFound",
            format!("Security group {id} does not exist"),
        ),
        "security-group-rules" => (
            "SecurityGroupRuleNotFound",
            format!("Security group rule {id} does not exist"),
        ),
        other => ("HTTPNotFound", format!("{other} {id} could not be found.")),
    };
    fault(404, kind, message)
}

/// Resources that have a quota, with the default limit; `-1` means none.
pub const QUOTAS: [(&str, i64); 9] = [
    ("network", 50),
    ("subnet", 50),
    ("subnetpool", -1),
    ("port", 300),
    ("router", 20),
    ("floatingip", 50),
    ("rbac_policy", 10),
    ("security_group", 60),
    ("security_group_rule", 600),
];

impl NeutronState {
    /// The limit of a project for a resource.
    #[must_use]
    pub fn limit(&self, project: &str, resource: &str) -> i64 {
        let own = self
            .quotas
            .get(project)
            .and_then(|limits| limits.get(resource))
            .copied();
        own.or_else(|| {
            QUOTAS
                .iter()
                .find(|(name, _)| *name == resource)
                .map(|(_, limit)| *limit)
        })
        .unwrap_or(-1)
    }

    /// How many a project has.
    #[must_use]
    pub fn used(&self, project: &str, resource: &str) -> usize {
        let of = |meta: &Meta| meta.project_id == project;
        match resource {
            "network" => self.networks.values().filter(|x| of(&x.meta)).count(),
            "subnet" => self.subnets.values().filter(|x| of(&x.meta)).count(),
            "port" => self.ports.values().filter(|x| of(&x.meta)).count(),
            "router" => self.routers.values().filter(|x| of(&x.meta)).count(),
            "floatingip" => self.floating_ips.values().filter(|x| of(&x.meta)).count(),
            "security_group" => self.groups.values().filter(|x| of(&x.meta)).count(),
            "security_group_rule" => self.rules.values().filter(|x| of(&x.meta)).count(),
            _ => 0,
        }
    }

    /// Refuses one more than the quota.
    ///
    /// # Errors
    /// 409 `OverQuota`.
    pub fn reserve(&self, project: &str, resource: &str) -> Result<(), ApiError> {
        let limit = self.limit(project, resource);
        if limit >= 0 && self.used(project, resource) as u64 >= limit.unsigned_abs() {
            return Err(fault(
                409,
                "OverQuota",
                format!("Quota exceeded for resources: ['{resource}']."),
            ));
        }
        Ok(())
    }

    /// A MAC address that no port has.
    pub fn next_mac(&mut self) -> String {
        self.counter += 1;
        let n = self.counter.wrapping_mul(0x9e37_79b1) & 0x00ff_ffff;
        format!(
            "fa:16:3e:{:02x}:{:02x}:{:02x}",
            (n >> 16) & 0xff,
            (n >> 8) & 0xff,
            n & 0xff
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_quota_has_the_real_text() {
        let mut state = NeutronState::default();
        assert!(state.reserve("p", "network").is_ok());
        state
            .quotas
            .entry("p".into())
            .or_default()
            .insert("network".into(), 0);
        let error = state.reserve("p", "network").unwrap_err();
        assert_eq!(error.status(), 409);
        assert_eq!(
            error.message(),
            "Quota exceeded for resources: ['network']."
        );
    }

    #[test]
    fn mac_addresses_differ() {
        let mut state = NeutronState::default();
        let macs: std::collections::HashSet<String> = (0..1000).map(|_| state.next_mac()).collect();
        assert_eq!(macs.len(), 1000);
    }
}
