//! Load balancers.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, Ask};
use super::super::neutron::ports::OwnPort;
use super::super::neutron::{Mint, Neutron};
use super::super::{ApiError, Build};
use super::model::{Balancer, Kind, fault, missing, refused};
use super::{Octavia, routes};

const KNOWN: [&str; 18] = [
    "name",
    "description",
    "admin_state_up",
    "vip_address",
    "vip_port_id",
    "vip_subnet_id",
    "vip_network_id",
    "vip_qos_policy_id",
    "vip_sg_ids",
    "additional_vips",
    "project_id",
    "tenant_id",
    "listeners",
    "pools",
    "provider",
    "tags",
    "flavor_id",
    "availability_zone",
];

struct Vip {
    port: String,
    own: bool,
    address: String,
    subnet: String,
    network: String,
}

impl Octavia {
    /// A load balancer the caller may use.
    ///
    /// # Errors
    /// 403, 404.
    pub(super) fn balancer(&self, ask: &Ask, id: &str) -> Result<Balancer, ApiError> {
        let found = self
            .state
            .read(|s| s.balancers.get(id).cloned())
            .ok_or_else(|| missing("Load Balancer", id))?;
        if ask.caller.sees(&found.project_id) {
            Ok(found)
        } else {
            Err(refused())
        }
    }

    pub(super) fn balancers(
        self: &Arc<Self>,
        ask: &Ask,
        rest: &[&str],
    ) -> Result<Answer, ApiError> {
        match (&ask.method, rest) {
            (&Method::GET, []) => {
                let views = self.state.read(|s| {
                    let seen = s
                        .balancers
                        .values()
                        .filter(|b| ask.caller.sees(&b.project_id));
                    seen.map(|b| s.balancer_view(&ask.cloud, b)).collect()
                });
                routes::list(ask, "loadbalancers", "loadbalancers", views)
            }
            (&Method::POST, []) => self.create_balancer(ask),
            (&Method::GET, [id]) => {
                let lb = self.balancer(ask, id)?;
                let view = self.state.read(|s| s.balancer_view(&ask.cloud, &lb));
                Ok(Answer::json(200, json!({"loadbalancer": view})))
            }
            (&Method::PUT, [id]) => self.update_balancer(ask, id),
            (&Method::DELETE, [id]) => self.delete_balancer(ask, id),
            (&Method::GET, [id, "status" | "statuses"]) => {
                let lb = self.balancer(ask, id)?;
                Ok(Answer::json(
                    200,
                    self.state.read(|s| s.tree(&ask.cloud, &lb)),
                ))
            }
            (&Method::GET, [id, "stats"]) => {
                self.balancer(ask, id)?;
                let stats = json!({
                    "bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0, "request_errors": 0,
                });
                Ok(Answer::json(200, json!({"stats": stats})))
            }
            _ => Err(ask.unknown()),
        }
    }

    fn create_balancer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let empty = Map::new();
        let body = ask.object("loadbalancer").unwrap_or(&empty);
        if let Some(key) = body.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(fault(
                400,
                format!("Unknown attribute for argument load_balancer.loadbalancer: {key}"),
            ));
        }
        let filled = |key: &str| {
            body.get(key)
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty())
        };
        if filled("listeners") || filled("pools") || filled("additional_vips") {
            return Err(ask.unknown());
        }
        let text = |key: &str| {
            body.get(key)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        let providers = &ask.cloud.options().load_balancer_providers;
        let provider = match text("provider") {
            Some("octavia") if providers.iter().any(|p| p == "amphora") => "amphora".to_owned(),
            Some(wanted) if providers.iter().any(|p| p == wanted) => wanted.to_owned(),
            Some(other) => return Err(fault(400, format!("Provider '{other}' is not enabled."))),
            None => providers
                .first()
                .cloned()
                .unwrap_or_else(|| "ovn".to_owned()),
        };
        let project = text("project_id")
            .or(text("tenant_id"))
            .filter(|_| ask.caller.is_admin);
        let project = project.unwrap_or(&ask.caller.project_id).to_owned();
        if text("vip_port_id")
            .or(text("vip_network_id"))
            .or(text("vip_subnet_id"))
            .is_none()
        {
            let what = "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.";
            return Err(fault(400, what));
        }
        if let Some(flavor) = text("flavor_id") {
            return Err(fault(
                400,
                format!("The selected flavor is not allowed in this deployment: {flavor}"),
            ));
        }
        self.state
            .read(|s| s.reserve(&project, "load_balancer", "Load Balancer"))?;
        let id = ask.cloud.uuid();
        let vip = make_vip(ask, body, &project, &provider, &id)?;
        let lb = Balancer {
            id: id.clone(),
            name: text("name").unwrap_or_default().to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            project_id: project.clone(),
            admin_state_up: body
                .get("admin_state_up")
                .and_then(Value::as_bool)
                .unwrap_or(true),
            provisioning: "PENDING_CREATE".to_owned(),
            provider,
            vip_address: vip.address,
            vip_port_id: vip.port,
            own_port: vip.own,
            vip_subnet_id: vip.subnet,
            vip_network_id: vip.network,
            tags: routes::tags(body.get("tags")),
            availability_zone: text("availability_zone").map(str::to_owned),
            created_at: ask.cloud.now(),
            updated_at: None,
        };
        let view = self.state.write(|s| {
            s.balancers.insert(id.clone(), lb.clone());
            s.balancer_view(&ask.cloud, &lb)
        });
        ask.cloud.ledger().record(
            &ask.cloud,
            "loadbalancer",
            "create",
            &id,
            &lb.name,
            &project,
        );
        self.start(&ask.cloud, &id, Build::LoadBalancer);
        Ok(Answer::json(201, json!({"loadbalancer": view})))
    }

    fn update_balancer(self: &Arc<Self>, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let lb = self.balancer(ask, id)?;
        pending(&lb)?;
        let empty = Map::new();
        let body = ask.object("loadbalancer").unwrap_or(&empty);
        const CHANGEABLE: [&str; 6] = [
            "name",
            "description",
            "admin_state_up",
            "tags",
            "vip_qos_policy_id",
            "vip_sg_ids",
        ];
        if let Some(key) = body.keys().find(|key| !CHANGEABLE.contains(&key.as_str())) {
            return Err(fault(
                400,
                format!("Unknown attribute for argument load_balancer.loadbalancer: {key}"),
            ));
        }
        let now = ask.cloud.now();
        let view = self.state.write(|s| {
            s.lock(id, None, now)?;
            let lb = s
                .balancers
                .get_mut(id)
                .ok_or_else(|| missing("Load Balancer", id))?;
            for (key, field) in [("name", &mut lb.name), ("description", &mut lb.description)] {
                if let Some(text) = body.get(key).and_then(Value::as_str) {
                    text.clone_into(field);
                }
            }
            lb.admin_state_up = body
                .get("admin_state_up")
                .and_then(Value::as_bool)
                .unwrap_or(lb.admin_state_up);
            if let Some(value) = body.get("tags") {
                lb.tags = routes::tags(Some(value));
            }
            let lb = lb.clone();
            Ok::<_, ApiError>(s.balancer_view(&ask.cloud, &lb))
        })?;
        self.start(&ask.cloud, id, Build::LoadBalancerChange);
        Ok(Answer::json(200, json!({"loadbalancer": view})))
    }

    fn delete_balancer(self: &Arc<Self>, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let lb = self.balancer(ask, id)?;
        pending(&lb)?;
        let cascade = ask
            .param("cascade")
            .is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let now = ask.cloud.now();
        self.state.write(|s| {
            let children = s.parts_of(id, Kind::Listener).next().is_some()
                || s.parts_of(id, Kind::Pool).next().is_some();
            if children && !cascade {
                let text = format!(
                    "Validation failure: Cannot delete Load Balancer {id} - it has children"
                );
                return Err(fault(400, text));
            }
            for part in s.parts.values_mut().filter(|p| p.balancer_id == id) {
                "PENDING_DELETE".clone_into(&mut part.provisioning);
            }
            if let Some(lb) = s.balancers.get_mut(id) {
                "PENDING_DELETE".clone_into(&mut lb.provisioning);
                lb.updated_at = Some(now);
            }
            Ok(())
        })?;
        ask.cloud.ledger().record(
            &ask.cloud,
            "loadbalancer",
            "delete",
            id,
            &lb.name,
            &lb.project_id,
        );
        self.start(&ask.cloud, id, Build::LoadBalancerChange);
        Ok(Answer::empty(204))
    }
}

fn pending(lb: &Balancer) -> Result<(), ApiError> {
    if matches!(lb.provisioning.as_str(), "ACTIVE" | "ERROR") {
        return Ok(());
    }
    Err(fault(
        409,
        format!(
            "Invalid state {} of loadbalancer resource {}",
            lb.provisioning, lb.id
        ),
    ))
}

fn make_vip(
    ask: &Ask,
    body: &Map<String, Value>,
    project: &str,
    provider: &str,
    id: &str,
) -> Result<Vip, ApiError> {
    let text = |key: &str| {
        body.get(key)
            .and_then(Value::as_str)
            .filter(|t| !t.is_empty())
    };
    let caller = &ask.caller;
    let neutron = ask.cloud.service::<Neutron>();
    let mint = Mint::of(&ask.cloud);
    neutron.state.write(|s| {
        if let Some(port_id) = text("vip_port_id") {
            let port = s
                .port(caller, port_id)
                .map_err(|_| fault(400, format!("Port {port_id} not found.")))?;
            let ip = port
                .fixed_ips
                .first()
                .ok_or_else(|| fault(400, "Validation failure: VIP port has no fixed IP."))?;
            return Ok(Vip {
                port: port_id.to_owned(),
                own: false,
                address: ip.ip_address.to_string(),
                subnet: ip.subnet_id.clone(),
                network: port.network_id.clone(),
            });
        }
        let (network, subnet) = match (text("vip_subnet_id"), text("vip_network_id")) {
            (Some(subnet), _) => {
                let found = s
                    .subnet(caller, subnet)
                    .map_err(|_| fault(400, format!("Subnet {subnet} not found.")))?;
                (found.network_id.clone(), subnet.to_owned())
            }
            (None, network) => {
                let network = network.unwrap_or_default();
                s.network(caller, network)
                    .map_err(|_| fault(400, format!("Network {network} not found.")))?;
                let first = s
                    .subnets
                    .values()
                    .filter(|x| x.network_id == network)
                    .min_by_key(|x| !x.cidr.addr().is_ipv4());
                let first = first.ok_or_else(|| {
                    fault(
                        400,
                        "Validation failure: Supplied network does not contain a subnet.",
                    )
                })?;
                (network.to_owned(), first.meta.id.clone())
            }
        };
        let address = text("vip_address").and_then(|t| t.parse().ok());
        let ovn = provider == "ovn";
        let wish = OwnPort {
            network_id: network.clone(),
            project_id: project.to_owned(),
            name: format!("{}{id}", if ovn { "ovn-lb-vip-" } else { "octavia-lb-" }),
            device_id: if ovn {
                String::new()
            } else {
                format!("lb-{id}")
            },
            device_owner: if ovn {
                String::new()
            } else {
                "Octavia".to_owned()
            },
            fixed_ips: vec![(Some(subnet.clone()), address)],
            ..OwnPort::default()
        };
        let port = s.add_port(&mint, &wish).map_err(|error| {
            let text = error.message();
            fault(500, format!("Provider '{provider}' reports error: {text}"))
        })?;
        let address = s
            .ports
            .get(&port)
            .and_then(|p| p.fixed_ips.first())
            .map(|ip| ip.ip_address.to_string());
        Ok(Vip {
            port,
            own: true,
            address: address.unwrap_or_default(),
            subnet,
            network,
        })
    })
}
