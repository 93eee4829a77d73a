//! Placement: inventories of hosts and bare metal nodes, read from Nova and Ironic; it has no state of its own.

use std::sync::Arc;

use axum::Router;
use serde_json::{Value, json};

use super::ironic::Ironic;
use super::nova::{HOSTS, Nova};
use super::{Cloud, Persist, Service, ServiceKind, Store, ask};

mod routes;

#[cfg(test)]
mod tests;

/// One source of resources.
#[derive(Debug, Clone)]
struct Provider {
    uuid: String,
    name: String,
    traits: Vec<String>,
    /// Class, total, used.
    classes: Vec<(String, u64, u64)>,
    /// Who uses it: the server and what it takes.
    consumers: Vec<(String, Vec<(String, u64)>)>,
}

const NODE_TRAITS: [&str; 5] = [
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_NODE",
    "COMPUTE_IMAGE_TYPE_AMI",
];

fn providers(cloud: &Cloud) -> Vec<Provider> {
    let nova = cloud.service::<Nova>();
    let traits: Vec<String> = NODE_TRAITS.iter().map(|t| (*t).to_owned()).collect();
    let mut all: Vec<Provider> = nova.state.read(|s| {
        let host = |n: u64| {
            let name = format!("tc-compute-{n}");
            let own: Vec<_> = s
                .servers
                .values()
                .filter(|x| x.host.as_ref() == Some(&name))
                .collect();
            let sum =
                |f: fn(&super::nova::model::Flavor) -> u64| own.iter().map(|x| f(&x.flavor)).sum();
            Provider {
                uuid: uuid::Uuid::new_v5(
                    &uuid::Uuid::NAMESPACE_OID,
                    format!("hypervisor{n}").as_bytes(),
                )
                .to_string(),
                traits: traits.clone(),
                classes: vec![
                    ("VCPU".to_owned(), 1000, sum(|f| f.vcpus)),
                    ("MEMORY_MB".to_owned(), 800_000, sum(|f| f.ram)),
                    ("DISK_GB".to_owned(), 600_000, sum(|f| f.disk)),
                ],
                consumers: own
                    .iter()
                    .map(|x| {
                        let f = &x.flavor;
                        let takes = [("VCPU", f.vcpus), ("MEMORY_MB", f.ram), ("DISK_GB", f.disk)];
                        (
                            x.id.clone(),
                            takes
                                .map(|(class, amount)| (class.to_owned(), amount))
                                .to_vec(),
                        )
                    })
                    .collect(),
                name,
            }
        };
        (1..=HOSTS).map(host).collect()
    });
    let ironic = cloud.service::<Ironic>();
    all.extend(ironic.state.read(|s| {
        let node = |node: &super::ironic::Node| {
            let class = node.placement_class();
            // A node that is cleaned or out of service is reserved: nothing can be placed on it.
            let blocked = node.instance_uuid.is_none() && !node.is_free();
            let used = u64::from(node.instance_uuid.is_some() || blocked);
            Provider {
                uuid: node.uuid.clone(),
                name: node.uuid.clone(),
                traits: traits.iter().chain(&node.traits).cloned().collect(),
                classes: vec![(class.clone(), 1, used)],
                consumers: node
                    .instance_uuid
                    .iter()
                    .map(|id| (id.clone(), vec![(class.clone(), 1)]))
                    .collect(),
            }
        };
        s.nodes.values().map(node).collect::<Vec<_>>()
    }));
    all
}

/// The service.
#[derive(Debug, Default)]
pub struct Placement {
    state: Store<()>,
}

impl Placement {
    /// The service.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Service for Placement {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Placement
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, _project: Option<&str>) -> Value {
        json!({})
    }
}
