//! Neutron: networks, subnets, ports, routers, security groups and floating IPs.
//!
//! Only the control plane: no packet ever flows, but addresses are served from the pools, quotas count, and what is in use
//! cannot be deleted, all with the texts of the real service.

use std::sync::Arc;

use axum::Router;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::ids::Ids;
use super::{Cloud, Persist, Service, ServiceKind, Store, ask, seed};

pub mod addresses;
pub mod attributes;
mod collections;
pub mod extensions;
mod floating;
mod groups;
pub mod model;
mod networks;
pub mod ports;
mod routers;
mod routes;
mod views;

#[cfg(test)]
mod tests;

use attributes::Attributes;
use model::NeutronState;

/// Makes ids and says what time it is.
#[derive(Debug, Clone, Copy)]
pub struct Mint<'a> {
    ids: &'a Ids,
    /// Now.
    pub now: DateTime<Utc>,
}

impl<'a> Mint<'a> {
    /// Of a running cloud.
    #[must_use]
    pub fn of(cloud: &'a Cloud) -> Self {
        Self::new(cloud.ids(), cloud.now())
    }

    /// Of parts.
    #[must_use]
    pub const fn new(ids: &'a Ids, now: DateTime<Utc>) -> Self {
        Self { ids, now }
    }

    /// A new id.
    #[must_use]
    pub fn id(&self) -> String {
        self.ids.uuid()
    }
}

/// The service.
#[derive(Debug)]
pub struct Neutron {
    pub(super) state: Store<NeutronState>,
}

impl Default for Neutron {
    fn default() -> Self {
        Self::new()
    }
}

impl Neutron {
    /// A service with its seeded objects: the external network `public`, and `bm-net` for bare metal, both of `admin`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Store::new(seeded()),
        }
    }
}

fn seeded() -> NeutronState {
    let mut state = NeutronState::default();
    let ids = Ids::new(Some(0x6e65_7574_726f_6e00), 0);
    let mint = Mint::new(&ids, DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_423));
    let admin = super::Caller {
        user_id: seed::ADMIN_USER.to_owned(),
        user_name: "admin".to_owned(),
        project_id: seed::ADMIN_PROJECT.to_owned(),
        project_name: "admin".to_owned(),
        domain_id: seed::DOMAIN_ID.to_owned(),
        roles: vec!["admin".to_owned()],
        is_admin: true,
        token: String::new(),
    };
    let networks = [
        json!({"name": "public", "router:external": true, "provider:network_type": "flat", "provider:physical_network": "public"}),
        json!({"name": "bm-net", "shared": true, "provider:network_type": "flat", "provider:physical_network": "baremetal"}),
    ];
    let subnets = [
        json!({"name": "public-subnet", "cidr": "172.24.4.0/24", "gateway_ip": "172.24.4.1", "enable_dhcp": false,
               "allocation_pools": [{"start": "172.24.4.10", "end": "172.24.4.250"}]}),
        json!({"name": "bm-subnet", "cidr": "10.60.0.0/24", "gateway_ip": "10.60.0.1",
               "allocation_pools": [{"start": "10.60.0.10", "end": "10.60.0.250"}]}),
    ];
    let empty = Map::new();
    for (network, mut subnet) in networks.into_iter().zip(subnets) {
        let made = state.create_network(
            &mint,
            &admin,
            Attributes(network.as_object().unwrap_or(&empty)),
        );
        if let Ok(id) = made {
            subnet["network_id"] = id.into();
            let made = state.create_subnet(
                &mint,
                &admin,
                Attributes(subnet.as_object().unwrap_or(&empty)),
            );
            debug_assert!(made.is_ok(), "seeded subnets are valid");
        }
    }
    state
}

impl Service for Neutron {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Neutron
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        let admin = everyone();
        let mut all = Map::new();
        self.state.read(|state| {
            for of in collections::COLLECTIONS {
                let mut items = state.views(of.path, &admin);
                items.retain(|item| project.is_none_or(|id| item["project_id"] == id));
                all.insert(of.plural.to_owned(), items.into());
            }
        });
        Value::Object(all)
    }
}

/// A caller who sees everything, for listings of the cloud itself.
fn everyone() -> super::Caller {
    super::Caller {
        user_id: String::new(),
        user_name: String::new(),
        project_id: String::new(),
        project_name: String::new(),
        domain_id: String::new(),
        roles: Vec::new(),
        is_admin: true,
        token: String::new(),
    }
}
