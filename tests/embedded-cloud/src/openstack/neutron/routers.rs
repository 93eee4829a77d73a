//! Routers, their gateways and interfaces.

use serde_json::{Map, Value, json};

use super::super::{ApiError, Caller};
use super::Mint;
use super::addresses::overlap;
use super::attributes::Attributes;
use super::model::{NeutronState, Router, fault, missing};
use super::ports::OwnPort;

const ROUTER: [&str; 12] = [
    "name",
    "description",
    "admin_state_up",
    "external_gateway_info",
    "routes",
    "tenant_id",
    "project_id",
    "distributed",
    "ha",
    "availability_zone_hints",
    "enable_default_route_bfd",
    "enable_default_route_ecmp",
];
const INTERFACE: &str = "network:router_interface";

fn bad(text: impl AsRef<str>) -> ApiError {
    fault(
        400,
        "BadRequest",
        format!("Bad router request: {}", text.as_ref()),
    )
}

impl NeutronState {
    /// A router the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn router(&self, caller: &Caller, id: &str) -> Result<&Router, ApiError> {
        let router = self
            .routers
            .get(id)
            .filter(|r| caller.sees(&r.meta.project_id));
        router.ok_or_else(|| missing("routers", id))
    }

    /// Makes a router.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn create_router(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&ROUTER)?;
        let project = body
            .some_text("project_id")
            .or(body.some_text("tenant_id"))
            .filter(|_| caller.is_admin);
        let project = project.unwrap_or(&caller.project_id).to_owned();
        self.reserve(&project, "router")?;
        let router = Router {
            meta: body.meta(mint, &project),
            admin_state_up: body.flag("admin_state_up").unwrap_or(true),
            gateway_port: None,
            enable_snat: true,
            routes: Vec::new(),
        };
        let id = router.meta.id.clone();
        self.routers.insert(id.clone(), router);
        if let Some(info) = body
            .0
            .get("external_gateway_info")
            .filter(|info| !info.is_null())
            && let Err(error) = self.set_gateway(mint, caller, &id, info)
        {
            self.routers.shift_remove(&id);
            return Err(error);
        }
        Ok(id)
    }

    /// Changes a router.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn update_router(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: Attributes<'_>,
    ) -> Result<(), ApiError> {
        let body = body.only(&ROUTER)?;
        self.router(caller, id)?;
        if let Some(info) = body.0.get("external_gateway_info") {
            self.set_gateway(mint, caller, id, info)?;
        }
        let router = self
            .routers
            .get_mut(id)
            .ok_or_else(|| missing("routers", id))?;
        router.admin_state_up = body.flag("admin_state_up").unwrap_or(router.admin_state_up);
        if let Some(routes) = body.list("routes") {
            router.routes = routes;
        }
        body.update_meta(&mut router.meta, mint);
        Ok(())
    }

    fn set_gateway(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        info: &Value,
    ) -> Result<(), ApiError> {
        let old = self.routers.get(id).and_then(|r| r.gateway_port.clone());
        let old_network = old
            .as_ref()
            .and_then(|port| self.ports.get(port))
            .map(|port| port.network_id.clone());
        let wanted = info["network_id"]
            .as_str()
            .filter(|network| !network.is_empty());
        if let Some(network) = wanted
            && !self.network(caller, network)?.external
        {
            return Err(bad(format!(
                "Network {network} is not an external network."
            )));
        }
        if old_network.as_deref() != wanted {
            if let Some(network) = &old_network
                && self
                    .floating_ips
                    .values()
                    .any(|f| f.router_id.as_deref() == Some(id))
            {
                let text = format!(
                    "Gateway cannot be updated for router {id}, since a gateway to external network {network} is required by one \
                     or more floating IPs."
                );
                return Err(fault(409, "RouterExternalGatewayInUseByFloatingIp", text));
            }
            let new = match wanted {
                Some(network) => {
                    let fixed = info["external_fixed_ips"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    let fixed_ips = fixed.iter().map(|ip| {
                        (
                            ip["subnet_id"].as_str().map(str::to_owned),
                            ip["ip_address"].as_str().and_then(|t| t.parse().ok()),
                        )
                    });
                    let wish = OwnPort {
                        network_id: network.to_owned(),
                        device_id: id.to_owned(),
                        device_owner: "network:router_gateway".to_owned(),
                        fixed_ips: fixed_ips.collect(),
                        port_security: Some(false),
                        ..OwnPort::default()
                    };
                    Some(self.add_port(mint, &wish)?)
                }
                None => None,
            };
            if let Some(old) = old {
                self.drop_port(mint, &old);
            }
            if let Some(router) = self.routers.get_mut(id) {
                router.gateway_port = new;
                router.meta.touch(mint.now);
            }
        }
        if let (Some(router), Some(snat)) =
            (self.routers.get_mut(id), info["enable_snat"].as_bool())
        {
            router.enable_snat = snat;
        }
        Ok(())
    }

    /// Deletes a router.
    ///
    /// # Errors
    /// 404; 409 while it has interfaces.
    pub fn delete_router(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
    ) -> Result<(), ApiError> {
        let gateway = self.router(caller, id)?.gateway_port.clone();
        let attached: Vec<&str> = self
            .interfaces(id)
            .map(|port| port.meta.id.as_str())
            .collect();
        if !attached.is_empty() {
            let text = format!(
                "Router {id} has ports still attached: {}",
                attached.join(",")
            );
            return Err(fault(409, "RouterInUse", text));
        }
        if let Some(gateway) = gateway {
            self.drop_port(mint, &gateway);
        }
        self.routers.shift_remove(id);
        Ok(())
    }

    pub(super) fn interfaces(&self, router: &str) -> impl Iterator<Item = &super::model::Port> {
        self.ports
            .values()
            .filter(move |port| port.device_id == router && port.device_owner == INTERFACE)
    }

    /// Connects a subnet or port to a router and returns Neutron's answer.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn add_interface(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: &Map<String, Value>,
    ) -> Result<Value, ApiError> {
        let project = self.router(caller, id)?.meta.project_id.clone();
        let subnet_id = body.get("subnet_id").and_then(Value::as_str);
        let port_id = body.get("port_id").and_then(Value::as_str);
        let port_id = match (subnet_id, port_id) {
            (Some(_), Some(_)) => return Err(bad("Cannot specify both subnet-id and port-id.")),
            (None, None) => return Err(bad("Either subnet_id or port_id must be specified.")),
            (Some(subnet_id), None) => {
                let subnet = self.subnet(caller, subnet_id)?;
                let Some(gateway) = subnet.gateway else {
                    return Err(bad("Subnet for router interface must have a gateway IP."));
                };
                let network_id = subnet.network_id.clone();
                self.check_overlap(id, subnet_id)?;
                let wish = OwnPort {
                    network_id,
                    project_id: project.clone(),
                    device_id: id.to_owned(),
                    device_owner: INTERFACE.to_owned(),
                    fixed_ips: vec![(Some(subnet_id.to_owned()), Some(gateway))],
                    security_groups: Some(Vec::new()),
                    port_security: Some(false),
                    ..OwnPort::default()
                };
                self.add_port(mint, &wish)?
            }
            (None, Some(port_id)) => {
                let port = self.port(caller, port_id)?;
                if !port.device_id.is_empty() {
                    let text = format!(
                        "Unable to complete operation on port {port_id} for network {}. Port already has an attached device {}.",
                        port.network_id, port.device_id
                    );
                    return Err(fault(409, "PortInUse", text));
                }
                for ip in port.fixed_ips.clone() {
                    self.check_overlap(id, &ip.subnet_id)?;
                }
                port_id.to_owned()
            }
        };
        let port = self
            .ports
            .get_mut(&port_id)
            .ok_or_else(|| missing("ports", &port_id))?;
        id.clone_into(&mut port.device_id);
        INTERFACE.clone_into(&mut port.device_owner);
        "ACTIVE".clone_into(&mut port.status);
        port.security_groups.clear();
        port.port_security = false;
        Ok(self.interface_answer(id, &project, &port_id))
    }

    fn check_overlap(&self, router: &str, subnet_id: &str) -> Result<(), ApiError> {
        let Some(subnet) = self.subnets.get(subnet_id) else {
            return Err(missing("subnets", subnet_id));
        };
        let connected = self.interfaces(router).flat_map(|port| &port.fixed_ips);
        for other in connected.filter_map(|ip| self.subnets.get(&ip.subnet_id)) {
            if overlap(subnet.cidr, other.cidr) {
                return Err(bad(format!(
                    "Cidr {} of subnet {subnet_id} overlaps with cidr {} of subnet {}.",
                    subnet.cidr, other.cidr, other.meta.id
                )));
            }
        }
        Ok(())
    }

    fn interface_answer(&self, router: &str, project: &str, port_id: &str) -> Value {
        let port = self.ports.get(port_id);
        let network = port.map(|port| port.network_id.clone()).unwrap_or_default();
        let subnets: Vec<String> = port
            .map(|port| {
                port.fixed_ips
                    .iter()
                    .map(|ip| ip.subnet_id.clone())
                    .collect()
            })
            .unwrap_or_default();
        json!({
            "id": router, "project_id": project, "port_id": port_id, "network_id": network,
            "subnet_id": subnets.first(), "subnet_ids": subnets,
        })
    }

    /// Disconnects a subnet or port from a router and returns Neutron's answer.
    ///
    /// # Errors
    /// 400, 404; 409 while floating IPs need it.
    pub fn remove_interface(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: &Map<String, Value>,
    ) -> Result<Value, ApiError> {
        let project = self.router(caller, id)?.meta.project_id.clone();
        let subnet_id = body.get("subnet_id").and_then(Value::as_str);
        let port_id = body.get("port_id").and_then(Value::as_str);
        let found = match (port_id, subnet_id) {
            (Some(port), _) => {
                self.interfaces(id)
                    .find(|p| p.meta.id == port)
                    .ok_or_else(|| {
                        let text = format!("Router {id} does not have an interface with id {port}");
                        fault(404, "RouterInterfaceNotFound", text)
                    })?
            }
            (None, Some(subnet)) => self
                .interfaces(id)
                .find(|p| p.fixed_ips.iter().any(|ip| ip.subnet_id == subnet))
                .ok_or_else(|| {
                    let text = format!("Router {id} has no interface on subnet {subnet}");
                    fault(404, "RouterInterfaceNotFoundForSubnet", text)
                })?,
            (None, None) => return Err(bad("Either subnet_id or port_id must be specified.")),
        };
        let (port_id, subnets) = (found.meta.id.clone(), found.fixed_ips.clone());
        for ip in &subnets {
            if self.subnet_needs_router(id, &ip.subnet_id) {
                let text = format!(
                    "Router interface for subnet {} on router {id} cannot be deleted, as it is required by one or more floating \
                     IPs.",
                    ip.subnet_id
                );
                return Err(fault(409, "RouterInterfaceInUseByFloatingIP", text));
            }
        }
        let answer = self.interface_answer(id, &project, &port_id);
        self.drop_port(mint, &port_id);
        Ok(answer)
    }

    fn subnet_needs_router(&self, router: &str, subnet: &str) -> bool {
        self.floating_ips
            .values()
            .filter(|f| f.router_id.as_deref() == Some(router))
            .any(|floating| {
                let port = floating.port_id.as_ref().and_then(|id| self.ports.get(id));
                port.is_some_and(|p| {
                    p.fixed_ips.iter().any(|ip| {
                        ip.subnet_id == subnet && Some(ip.ip_address) == floating.fixed_ip
                    })
                })
            })
    }
}
