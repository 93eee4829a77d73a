//! Ironic: bare metal nodes, and what happens to them when Nova places a server.

use std::sync::Arc;

use axum::Router;
use chrono::{DateTime, TimeDelta, Utc};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::nova::model::Server;
use super::{Build, Cloud, Persist, Service, ServiceKind, Store, ask, seed};

mod routes;

#[cfg(test)]
mod tests;

/// A node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Node {
    /// Id.
    pub uuid: String,
    /// Name.
    pub name: String,
    /// `baremetal` is Placement's `CUSTOM_BAREMETAL`.
    pub resource_class: String,
    /// Traits.
    pub traits: Vec<String>,
    /// `available`, `deploying`, `active`, `deleting`, `cleaning`.
    pub provision_state: String,
    /// Where that leads.
    pub target_provision_state: Option<String>,
    /// `power on` or `power off`.
    pub power_state: String,
    /// The server on it.
    pub instance_uuid: Option<String>,
    /// What Nova told it: image, name.
    pub instance_info: Value,
    /// Out of service.
    pub maintenance: bool,
    /// MAC address of its port.
    pub address: String,
    /// Cpus, memory, disk.
    pub properties: Value,
    /// Made.
    pub created_at: DateTime<Utc>,
    /// Changed.
    pub updated_at: DateTime<Utc>,
    /// When the provision state changed.
    pub provision_updated_at: DateTime<Utc>,
}

impl Node {
    /// The project that has it on lease: that of the server on it.
    #[must_use]
    pub fn lessee(&self) -> Option<&str> {
        self.instance_info.get("project_id").and_then(Value::as_str)
    }

    /// Its class as Placement names it.
    #[must_use]
    pub fn placement_class(&self) -> String {
        let class: String = self
            .resource_class
            .to_ascii_uppercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        format!("CUSTOM_{class}")
    }

    /// Free for a new server.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.provision_state == "available" && self.instance_uuid.is_none() && !self.maintenance
    }

    fn become_state(&mut self, state: &str, target: Option<&str>, now: DateTime<Utc>) {
        state.clone_into(&mut self.provision_state);
        self.target_provision_state = target.map(str::to_owned);
        (self.updated_at, self.provision_updated_at) = (now, now);
    }
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IronicState {
    /// Nodes by id.
    pub nodes: IndexMap<String, Node>,
}

/// The service.
#[derive(Debug)]
pub struct Ironic {
    pub(super) state: Store<IronicState>,
}

impl Default for Ironic {
    fn default() -> Self {
        Self::new()
    }
}

impl Ironic {
    /// A service with four nodes of class `baremetal`.
    #[must_use]
    pub fn new() -> Self {
        let at = DateTime::UNIX_EPOCH + TimeDelta::days(20_423);
        let nodes = (0..4).map(|k| {
            let node = Node {
                uuid: uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, format!("node bm-{k}").as_bytes()).to_string(),
                name: format!("bm-{k}"),
                resource_class: "baremetal".to_owned(),
                traits: Vec::new(),
                provision_state: "available".to_owned(),
                target_provision_state: None,
                power_state: "power off".to_owned(),
                instance_uuid: None,
                instance_info: json!({}),
                maintenance: false,
                address: format!("52:54:00:00:01:{k:02x}"),
                properties: json!({
                    "cpus": 4, "memory_mb": 8192, "local_gb": 100, "cpu_arch": "x86_64", "capabilities": "boot_mode:uefi",
                }),
                created_at: at,
                updated_at: at,
                provision_updated_at: at,
            };
            (node.uuid.clone(), node)
        });
        Self {
            state: Store::new(IronicState {
                nodes: nodes.collect(),
            }),
        }
    }

    /// Takes a free node for a server: `available` becomes `deploying`. `None` when no node fits.
    pub fn place(
        &self,
        cloud: &Cloud,
        server: &Server,
        classes: &[String],
        traits: &[String],
    ) -> Option<String> {
        let now = cloud.now();
        self.state.write(|s| {
            let fits = |node: &&mut Node| {
                node.is_free()
                    && classes.iter().all(|class| node.placement_class() == *class)
                    && traits.iter().all(|wanted| node.traits.contains(wanted))
            };
            let node = s.nodes.values_mut().find(fits)?;
            node.instance_uuid = Some(server.id.clone());
            node.instance_info = json!({
                "display_name": server.name, "image_source": server.image, "project_id": server.project_id,
            });
            node.become_state("deploying", Some("active"), now);
            Some(node.uuid.clone())
        })
    }

    /// Ends a deployment.
    pub fn deployed(&self, cloud: &Cloud, node: &str) {
        let now = cloud.now();
        self.state.write(|s| {
            if let Some(node) = s
                .nodes
                .get_mut(node)
                .filter(|n| n.provision_state == "deploying")
            {
                node.become_state("active", None, now);
                "power on".clone_into(&mut node.power_state);
            }
        });
    }

    /// Gives a node back: it is cleaned and then available.
    pub fn release(&self, cloud: &Cloud, node: &str, server: &str) {
        let now = cloud.now();
        let mine = self.state.write(|s| {
            let node = s
                .nodes
                .get_mut(node)
                .filter(|n| n.instance_uuid.as_deref() == Some(server));
            node.map(|node| {
                node.instance_uuid = None;
                node.instance_info = json!({});
                node.become_state("cleaning", Some("available"), now);
                "power off".clone_into(&mut node.power_state);
            })
        });
        if mine.is_some() {
            Self::clean(cloud, node);
        }
    }

    fn clean(cloud: &Cloud, node: &str) {
        let (inner, node) = (cloud.clone(), node.to_owned());
        cloud.spawn(async move {
            inner.build(Build::ServerDelete).await;
            let now = inner.now();
            inner.service::<Self>().state.write(|s| {
                if let Some(node) = s
                    .nodes
                    .get_mut(&node)
                    .filter(|n| n.provision_state == "cleaning")
                {
                    node.become_state("available", None, now);
                }
            });
        });
    }
}

impl Service for Ironic {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Ironic
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        let nodes: Vec<Value> = self.state.read(|s| {
            let seen = s.nodes.values().filter(|_| project.is_none_or(|p| p == seed::ADMIN_PROJECT));
            seen.map(|n| {
                json!({
                    "id": n.uuid, "name": n.name, "project_id": seed::ADMIN_PROJECT, "provision_state": n.provision_state,
                    "instance_uuid": n.instance_uuid,
                })
            })
            .collect()
        });
        json!({"nodes": nodes})
    }

    fn resume(self: Arc<Self>, cloud: &Cloud) {
        let cleaning: Vec<String> = self.state.read(|s| {
            let cleaning = s.nodes.values().filter(|n| n.provision_state == "cleaning");
            cleaning.map(|n| n.uuid.clone()).collect()
        });
        for node in cleaning {
            Self::clean(cloud, &node);
        }
    }
}
