//! Load balancers and their parts as JSON.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::Cloud;
use super::super::neutron::Neutron;
use super::super::nova::Nova;
use super::model::{Balancer, Kind, OctaviaState, Part};

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S").to_string()
}

fn refs<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<Value> {
    parts.map(|part| json!({"id": part.id})).collect()
}

/// Whether something answers at an address: the port of a running server.
fn is_reachable(cloud: &Cloud, address: &str) -> bool {
    let device = cloud.service::<Neutron>().state.read(|s| {
        let port = s.ports.values().find(|p| {
            p.device_owner == "compute:nova"
                && p.fixed_ips
                    .iter()
                    .any(|ip| ip.ip_address.to_string() == address)
        })?;
        Some(port.device_id.clone())
    });
    device.is_some_and(|id| {
        cloud
            .service::<Nova>()
            .state
            .read(|s| s.servers.get(&id).is_some_and(|s| s.status() == "ACTIVE"))
    })
}

fn worst(statuses: &[&'static str]) -> &'static str {
    let bad = statuses
        .iter()
        .filter(|s| matches!(**s, "ERROR" | "OFFLINE"))
        .count();
    if statuses.is_empty() || bad == 0 {
        "ONLINE"
    } else if bad == statuses.len() {
        "ERROR"
    } else {
        "DEGRADED"
    }
}

impl OctaviaState {
    fn operating(&self, cloud: &Cloud, part: &Part) -> &'static str {
        let up = part
            .fields
            .get("admin_state_up")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        if part.kind != Kind::Member && (part.provisioning == "PENDING_CREATE" || !up) {
            return "OFFLINE";
        }
        match part.kind {
            Kind::Member => {
                let pool = part.pool_id.as_deref().unwrap_or_default();
                if self.parts_in(pool, Kind::Monitor).next().is_none() {
                    "NO_MONITOR"
                } else if !up {
                    "OFFLINE"
                } else if is_reachable(cloud, part.fields["address"].as_str().unwrap_or_default()) {
                    "ONLINE"
                } else {
                    "ERROR"
                }
            }
            Kind::Monitor => "ONLINE",
            Kind::Pool => {
                let members: Vec<_> = self
                    .parts_in(&part.id, Kind::Member)
                    .map(|m| self.operating(cloud, m))
                    .collect();
                worst(&members)
            }
            Kind::Listener => {
                let pool = part.fields["default_pool_id"]
                    .as_str()
                    .and_then(|id| self.parts.get(id));
                pool.map_or("ONLINE", |pool| self.operating(cloud, pool))
            }
        }
    }

    fn balancer_operating(&self, cloud: &Cloud, lb: &Balancer) -> &'static str {
        if lb.provisioning == "PENDING_CREATE" || !lb.admin_state_up {
            return "OFFLINE";
        }
        let listeners: Vec<_> = self
            .parts_of(&lb.id, Kind::Listener)
            .map(|l| self.operating(cloud, l))
            .collect();
        worst(&listeners)
    }

    pub(super) fn balancer_view(&self, cloud: &Cloud, lb: &Balancer) -> Value {
        json!({
            "id": lb.id, "name": lb.name, "description": lb.description, "provisioning_status": lb.provisioning,
            "operating_status": self.balancer_operating(cloud, lb), "admin_state_up": lb.admin_state_up,
            "project_id": lb.project_id, "created_at": time(lb.created_at), "updated_at": lb.updated_at.map(time),
            "vip_address": lb.vip_address, "vip_port_id": lb.vip_port_id, "vip_subnet_id": lb.vip_subnet_id,
            "vip_network_id": lb.vip_network_id, "vip_sg_ids": [], "additional_vips": [],
            "listeners": refs(self.parts_of(&lb.id, Kind::Listener)), "pools": refs(self.parts_of(&lb.id, Kind::Pool)),
            "provider": lb.provider, "flavor_id": null, "vip_qos_policy_id": null, "tags": lb.tags,
            "availability_zone": lb.availability_zone, "vip_vnic_type": "normal", "tenant_id": lb.project_id,
        })
    }

    pub(super) fn part_view(&self, cloud: &Cloud, part: &Part) -> Value {
        let mut view = Value::Object(part.fields.clone());
        view["id"] = part.id.clone().into();
        view["project_id"] = part.project_id.clone().into();
        view["tenant_id"] = part.project_id.clone().into();
        view["provisioning_status"] = part.provisioning.clone().into();
        view["operating_status"] = self.operating(cloud, part).into();
        view["created_at"] = time(part.created_at).into();
        view["updated_at"] = part.updated_at.map(time).into();
        let balancer = json!([{"id": part.balancer_id}]);
        match part.kind {
            Kind::Listener => view["loadbalancers"] = balancer,
            Kind::Pool => {
                view["loadbalancers"] = balancer;
                view["listeners"] = refs(self.listeners_of(&part.id)).into();
                view["members"] = refs(self.parts_in(&part.id, Kind::Member)).into();
                if let Some(monitor) = self.parts_in(&part.id, Kind::Monitor).next() {
                    view["healthmonitor_id"] = monitor.id.clone().into();
                }
            }
            Kind::Member => view["vnic_type"] = "normal".into(),
            Kind::Monitor => view["pools"] = json!([{"id": part.pool_id}]),
        }
        view
    }

    /// The status tree of a load balancer.
    pub(super) fn tree(&self, cloud: &Cloud, lb: &Balancer) -> Value {
        let brief = |part: &Part, extra: &[&str]| {
            let mut view = json!({
                "id": part.id, "name": part.fields["name"], "operating_status": self.operating(cloud, part),
                "provisioning_status": part.provisioning,
            });
            for key in extra {
                view[*key] = part.fields[*key].clone();
            }
            view
        };
        let pool_view = |pool: &Part| {
            let mut view = brief(pool, &[]);
            if let Some(monitor) = self.parts_in(&pool.id, Kind::Monitor).next() {
                view["health_monitor"] = brief(monitor, &["type"]);
            }
            let members = self
                .parts_in(&pool.id, Kind::Member)
                .map(|m| brief(m, &["address", "protocol_port"]));
            view["members"] = members.collect::<Vec<_>>().into();
            view
        };
        let listeners: Vec<Value> = self
            .parts_of(&lb.id, Kind::Listener)
            .map(|listener| {
                let pool = listener.fields["default_pool_id"]
                    .as_str()
                    .and_then(|id| self.parts.get(id));
                let mut view = brief(listener, &[]);
                view["pools"] = pool.map(pool_view).into_iter().collect::<Vec<_>>().into();
                view
            })
            .collect();
        json!({"statuses": {"loadbalancer": {
            "id": lb.id, "name": lb.name, "operating_status": self.balancer_operating(cloud, lb),
            "provisioning_status": lb.provisioning, "listeners": listeners,
        }}})
    }
}
