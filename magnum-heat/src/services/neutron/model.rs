//! What Neutron keeps.

use serde::Deserialize;

use super::Item;
use crate::{Named, wire};

macro_rules! item {
    ($ty:ident, $kind:literal, $path:literal, $plural:literal, $singular:literal $(, $field:literal)?) => {
        impl Named for $ty {
            const KIND: &'static str = $kind;
            fn id(&self) -> &str {
                &self.id
            }
            fn name(&self) -> &str {
                &self.name
            }
        }

        impl Item for $ty {
            const PATH: &'static str = $path;
            const PLURAL: &'static str = $plural;
            const SINGULAR: &'static str = $singular;
            $( const NAME_FIELD: &'static str = $field; )?
        }
    };
}

item!(Network, "network", "networks", "networks", "network");
item!(Subnet, "subnet", "subnets", "subnets", "subnet");
item!(Port, "port", "ports", "ports", "port");
item!(Router, "router", "routers", "routers", "router");
item!(
    SecurityGroup,
    "security group",
    "security-groups",
    "security_groups",
    "security_group"
);
item!(
    FloatingIp,
    "floating IP",
    "floatingips",
    "floatingips",
    "floatingip",
    "floating_ip_address"
);

/// A network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Network {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// `ACTIVE`, ...
    #[serde(default)]
    pub status: String,
    /// Largest packet, in bytes.
    #[serde(default)]
    pub mtu: Option<u32>,
    /// Whether ports have security groups by default.
    #[serde(default)]
    pub port_security_enabled: Option<bool>,
    /// Whether it leads out of the cloud.
    #[serde(default, rename = "router:external")]
    pub external: bool,
    /// Whether other projects may use it.
    #[serde(default)]
    pub shared: bool,
    /// Ids of its subnets.
    #[serde(default)]
    pub subnets: Vec<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
}

/// A range that addresses are taken from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct AllocationPool {
    /// First address.
    pub start: String,
    /// Last address.
    pub end: String,
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Subnet {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// Network.
    pub network_id: String,
    /// Range.
    pub cidr: String,
    /// 4 or 6.
    #[serde(default)]
    pub ip_version: u8,
    /// Gateway.
    #[serde(default)]
    pub gateway_ip: Option<String>,
    /// DNS servers.
    #[serde(default)]
    pub dns_nameservers: Vec<String>,
    /// Whether Neutron answers DHCP.
    #[serde(default)]
    pub enable_dhcp: bool,
    /// Ranges that addresses are taken from.
    #[serde(default)]
    pub allocation_pools: Vec<AllocationPool>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// An address of a port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FixedIp {
    /// Subnet.
    #[serde(default)]
    pub subnet_id: String,
    /// Address.
    #[serde(default)]
    pub ip_address: String,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Port {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// Network.
    pub network_id: String,
    /// `ACTIVE`, `DOWN`, ...
    #[serde(default)]
    pub status: String,
    /// Server, router or other owner.
    #[serde(default)]
    pub device_id: String,
    /// Kind of owner: `compute:nova`, `network:router_interface`, ...
    #[serde(default)]
    pub device_owner: String,
    /// Hardware address.
    #[serde(default)]
    pub mac_address: String,
    /// Addresses.
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    /// Security groups.
    #[serde(default)]
    pub security_groups: Vec<String>,
    /// Whether security groups and address checks apply.
    #[serde(default)]
    pub port_security_enabled: Option<bool>,
    /// `normal`, `baremetal`, ...
    #[serde(default, rename = "binding:vnic_type")]
    pub vnic_type: Option<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
}

/// The way out of a router.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct GatewayInfo {
    /// External network.
    pub network_id: String,
    /// Addresses on it.
    #[serde(default)]
    pub external_fixed_ips: Vec<FixedIp>,
}

/// A router.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Router {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// `ACTIVE`, ...
    #[serde(default)]
    pub status: String,
    /// Its way out.
    #[serde(default)]
    pub external_gateway_info: Option<GatewayInfo>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
}

/// One rule of a security group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SecurityGroupRule {
    /// Id.
    pub id: String,
    /// `ingress` or `egress`.
    #[serde(default)]
    pub direction: String,
    /// `IPv4` or `IPv6`.
    #[serde(default)]
    pub ethertype: String,
    /// Protocol; none is any.
    #[serde(default)]
    pub protocol: Option<String>,
    /// First port.
    #[serde(default)]
    pub port_range_min: Option<u16>,
    /// Last port.
    #[serde(default)]
    pub port_range_max: Option<u16>,
    /// Addresses of the other side.
    #[serde(default)]
    pub remote_ip_prefix: Option<String>,
    /// Group of the other side.
    #[serde(default)]
    pub remote_group_id: Option<String>,
}

/// A security group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SecurityGroup {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
    /// Rules.
    #[serde(default, rename = "security_group_rules")]
    pub rules: Vec<SecurityGroupRule>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// A floating IP. It has no name; its address stands for it in look-ups.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FloatingIp {
    /// Id.
    pub id: String,
    /// Address.
    #[serde(rename = "floating_ip_address")]
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// External network.
    #[serde(default)]
    pub floating_network_id: String,
    /// Port it leads to.
    #[serde(default)]
    pub port_id: Option<String>,
    /// Router it goes through.
    #[serde(default)]
    pub router_id: Option<String>,
    /// Address it leads to.
    #[serde(default)]
    pub fixed_ip_address: Option<String>,
    /// `ACTIVE`, `DOWN`, ...
    #[serde(default)]
    pub status: String,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl FloatingIp {
    /// The address.
    pub fn address(&self) -> &str {
        &self.name
    }
}
