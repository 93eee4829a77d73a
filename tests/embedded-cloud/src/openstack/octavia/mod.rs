//! Octavia: load balancers, listeners, pools, members and health monitors.
//!
//! A load balancer is locked (`PENDING_*`) while anything below it changes, as in the real service. The provider `ovn` is the
//! default and refuses what the real one refuses.

use std::sync::Arc;

use axum::Router;
use serde_json::{Map, Value, json};

use super::neutron::{Mint, Neutron};
use super::{Build, Cloud, Persist, Service, ServiceKind, Store, ask};

mod balancers;
pub mod model;
mod parts;
pub mod provider;
mod routes;
mod views;

#[cfg(test)]
mod tests;

use model::{Kind, OctaviaState};

/// The service.
#[derive(Debug, Default)]
pub struct Octavia {
    pub(super) state: Store<OctaviaState>,
}

impl Octavia {
    /// A service without load balancers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what is pending at a load balancer after the time it takes.
    fn start(self: &Arc<Self>, cloud: &Cloud, id: &str, build: Build) {
        let (octavia, inner, id) = (Arc::clone(self), cloud.clone(), id.to_owned());
        cloud.spawn(async move {
            inner.build(build).await;
            let _together = inner.hold().await;
            let now = inner.now();
            let gone = octavia.state.read(|s| {
                s.balancers
                    .get(&id)
                    .filter(|b| b.provisioning == "PENDING_DELETE" && b.own_port)
                    .map(|b| b.vip_port_id.clone())
            });
            if let Some(port) = gone {
                inner
                    .service::<Neutron>()
                    .state
                    .write(|s| s.drop_port(&Mint::of(&inner), &port));
            }
            octavia.state.write(|s| s.settle(&id, now));
        });
    }
}

impl Service for Octavia {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Octavia
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
            let mut all = Map::new();
            let balancers = s.balancers.values().filter(|b| of(&b.project_id));
            let balancers: Vec<Value> = balancers
                .map(|b| json!({"id": b.id, "name": b.name, "project_id": b.project_id, "provisioning_status": b.provisioning}))
                .collect();
            all.insert("loadbalancers".into(), balancers.into());
            for kind in [Kind::Listener, Kind::Pool, Kind::Member, Kind::Monitor] {
                let parts = s.parts.values().filter(|p| p.kind == kind && of(&p.project_id));
                let parts: Vec<Value> = parts
                    .map(|p| json!({"id": p.id, "name": p.fields["name"], "project_id": p.project_id}))
                    .collect();
                all.insert(kind.plural().into(), parts.into());
            }
            Value::Object(all)
        })
    }

    fn resume(self: Arc<Self>, cloud: &Cloud) {
        let pending: Vec<(String, bool)> = self.state.read(|s| {
            let pending = s
                .balancers
                .values()
                .filter(|b| b.provisioning.starts_with("PENDING"));
            pending
                .map(|b| (b.id.clone(), b.provisioning == "PENDING_CREATE"))
                .collect()
        });
        for (id, new) in pending {
            self.start(
                cloud,
                &id,
                if new {
                    Build::LoadBalancer
                } else {
                    Build::LoadBalancerChange
                },
            );
        }
    }
}
