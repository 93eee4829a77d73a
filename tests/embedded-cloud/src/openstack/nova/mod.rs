//! Nova: servers, flavors, key pairs, server groups and quotas.

use std::sync::Arc;

use axum::Router;
use chrono::{DateTime, TimeDelta};
use serde_json::{Map, Value, json};

use super::{Cloud, Persist, Service, ServiceKind, Store, ask, seed};

mod actions;
mod attachments;
mod build;
mod create;
mod groups;
pub mod keypairs;
pub mod model;
mod operator;
mod routes;
pub mod text;
mod views;

#[cfg(test)]
mod tests;

pub(super) use build::HOSTS;
use model::{Flavor, Keypair, NovaState};

const TEST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKpyTQg6eG7VfXsZ0N0qg0wE2bD4tVvL1eQm9X0p3n5c test@testcloud";

/// The service.
#[derive(Debug)]
pub struct Nova {
    pub(super) state: Store<NovaState>,
}

impl Default for Nova {
    fn default() -> Self {
        Self::new()
    }
}

impl Nova {
    /// A service with its seeded objects: the flavors `m1.small`, `m1.medium`, `m1.large` and `baremetal`, and the key pair
    /// `testkey` of the user `demo`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Store::new(seeded()),
        }
    }
}

fn seeded() -> NovaState {
    let mut state = NovaState::default();
    let bare = ["CUSTOM_BAREMETAL=1", "VCPU=0", "MEMORY_MB=0", "DISK_GB=0"];
    let flavors = [
        ("m1.small", 1, 2048, 20),
        ("m1.medium", 2, 4096, 40),
        ("m1.large", 4, 8192, 80),
        ("baremetal", 1, 1024, 10),
    ];
    for (name, vcpus, ram, disk) in flavors {
        let specs = bare
            .iter()
            .filter(|_| name == "baremetal")
            .filter_map(|spec| spec.split_once('='));
        let flavor = Flavor {
            id: uuid::Uuid::new_v5(
                &uuid::Uuid::NAMESPACE_OID,
                format!("flavor {name}").as_bytes(),
            )
            .to_string(),
            name: name.to_owned(),
            vcpus,
            ram,
            disk,
            public: true,
            extra_specs: specs
                .map(|(class, amount)| (format!("resources:{class}"), amount.to_owned()))
                .collect(),
        };
        state.flavors.insert(flavor.id.clone(), flavor);
    }
    state.counter = 1;
    state.keypairs.push(Keypair {
        id: 1,
        name: "testkey".to_owned(),
        user_id: seed::DEMO_USER.to_owned(),
        kind: "ssh".to_owned(),
        public_key: TEST_KEY.to_owned(),
        fingerprint: "b9:86:52:de:7d:ec:25:25:82:bd:0a:a7:ae:c1:63:c1".to_owned(),
        created_at: DateTime::UNIX_EPOCH + TimeDelta::days(20_423),
    });
    state
}

impl Service for Nova {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Nova
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        let of = |id: &str| project.is_none_or(|p| p == id);
        self.state.read(|s| {
            let servers = s.servers.values().filter(|x| of(&x.project_id));
            let servers: Vec<Value> = servers
                .map(|x| json!({"id": x.id, "name": x.name, "project_id": x.project_id, "status": x.status(), "node": x.node}))
                .collect();
            let groups = s.groups.values().filter(|x| of(&x.project_id));
            let groups: Vec<Value> = groups
                .map(|x| json!({"id": x.id, "name": x.name, "project_id": x.project_id, "members": x.members}))
                .collect();
            let mut all = Map::new();
            all.insert("servers".into(), servers.into());
            all.insert("server_groups".into(), groups.into());
            let keypairs = s.keypairs.iter().filter(|_| project.is_none());
            let keypairs: Vec<Value> =
                keypairs.map(|x| json!({"id": x.id, "name": x.name, "project_id": null, "user_id": x.user_id})).collect();
            if project.is_none() {
                all.insert("keypairs".into(), keypairs.into());
                let flavors: Vec<Value> =
                    s.flavors.values().map(|x| json!({"id": x.id, "name": x.name, "project_id": null})).collect();
                all.insert("flavors".into(), flavors.into());
            }
            Value::Object(all)
        })
    }

    fn resume(self: Arc<Self>, cloud: &Cloud) {
        self.resume_all(cloud);
    }
}
