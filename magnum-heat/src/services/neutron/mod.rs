//! Neutron: networks, subnets, ports, routers, security groups, floating IPs, quotas, tags.

mod collection;
mod model;
mod quota;

pub use collection::{DeleteItem, Item, ListItems, SetTags, ShowItem, delete, find, list, show};
pub use model::{
    AllocationPool, FixedIp, FloatingIp, GatewayInfo, Network, Port, Router, SecurityGroup,
    SecurityGroupRule, Subnet,
};
pub use quota::{Extension, GetQuota, ListExtensions, Quota, RemoveRouterInterface, SetQuota};
