//! Ports and their addresses.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::super::{ApiError, Caller};
use super::Mint;
use super::addresses::next_free;
use super::attributes::Attributes;
use super::model::{FixedIp, Meta, NeutronState, Port, fault, missing};

const PORT: [&str; 22] = [
    "tags",
    "name",
    "description",
    "network_id",
    "admin_state_up",
    "mac_address",
    "fixed_ips",
    "device_id",
    "device_owner",
    "security_groups",
    "allowed_address_pairs",
    "port_security_enabled",
    "binding:vnic_type",
    "binding:host_id",
    "binding:profile",
    "tenant_id",
    "project_id",
    "extra_dhcp_opts",
    "dns_name",
    "qos_policy_id",
    "value_specs",
    "propagate_uplink_status",
];
const NEEDS_SECURITY: &str = "Port security must be enabled and port must have an IP address in order to use security groups.";

/// A wanted address: the subnet, the address, or both.
pub type Wish = (Option<String>, Option<IpAddr>);

/// A port that the cloud itself makes.
#[derive(Debug, Clone, Default)]
pub struct OwnPort {
    /// Network.
    pub network_id: String,
    /// Owner; empty for nobody.
    pub project_id: String,
    /// Name.
    pub name: String,
    /// Used by.
    pub device_id: String,
    /// Kind of user.
    pub device_owner: String,
    /// Wanted addresses; empty means one by choice.
    pub fixed_ips: Vec<Wish>,
    /// Security groups; `None` means the project's default one (none without port security).
    pub security_groups: Option<Vec<String>>,
    /// Port security; `None` takes the network's.
    pub port_security: Option<bool>,
}

impl NeutronState {
    /// A port the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn port(&self, caller: &Caller, id: &str) -> Result<&Port, ApiError> {
        let port = self.ports.get(id).filter(|p| self.sees_port(caller, p));
        port.ok_or_else(|| missing("ports", id))
    }

    pub(super) fn sees_port(&self, caller: &Caller, port: &Port) -> bool {
        caller.sees(&port.meta.project_id)
            || self
                .networks
                .get(&port.network_id)
                .is_some_and(|n| n.meta.project_id == caller.project_id)
    }

    /// Makes a port as a user asks for it.
    ///
    /// # Errors
    /// 400, 403, 404, 409.
    pub fn create_port(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&PORT)?;
        let network_id = body.id("network_id")?.to_owned();
        let network = self.network(caller, &network_id)?;
        let (external, shared, owner) = (
            network.external,
            network.shared,
            network.meta.project_id.clone(),
        );
        let project = body
            .some_text("project_id")
            .or(body.some_text("tenant_id"))
            .filter(|_| caller.is_admin);
        let project = project.unwrap_or(&caller.project_id).to_owned();
        if external && !shared && !caller.sees(&owner) {
            let text = format!("Tenant {project} not allowed to create port on this network");
            return Err(fault(403, "HTTPForbidden", text));
        }
        let wish = OwnPort {
            network_id,
            project_id: project,
            name: body.text("name").to_owned(),
            device_id: body.text("device_id").to_owned(),
            device_owner: body.text("device_owner").to_owned(),
            fixed_ips: wanted_addresses(body.list("fixed_ips").as_deref())?,
            security_groups: body.texts("security_groups"),
            port_security: body.flag("port_security_enabled"),
        };
        let id = self.add_port(mint, &wish)?;
        if let Some(port) = self.ports.get_mut(&id) {
            body.text("description")
                .clone_into(&mut port.meta.description);
            port.admin_state_up = body.flag("admin_state_up").unwrap_or(true);
            port.meta.tags = body.texts("tags").unwrap_or_default();
            if let Some(mac) = body.some_text("mac_address") {
                mac.to_ascii_lowercase().clone_into(&mut port.mac_address);
            }
            apply_extras(port, body);
        }
        Ok(id)
    }

    /// Makes a port.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn add_port(&mut self, mint: &Mint<'_>, wish: &OwnPort) -> Result<String, ApiError> {
        let network = self
            .networks
            .get(&wish.network_id)
            .ok_or_else(|| missing("networks", &wish.network_id))?;
        let port_security = wish.port_security.unwrap_or(network.port_security);
        if !wish.project_id.is_empty() {
            self.reserve(&wish.project_id, "port")?;
        }
        if let Some(groups) = &wish.security_groups {
            if !groups.is_empty() && !port_security {
                return Err(fault(
                    400,
                    "PortSecurityAndIPRequiredForSecurityGroups",
                    NEEDS_SECURITY,
                ));
            }
            self.known_groups(&wish.project_id, groups)?;
        }
        let fixed_ips = self.allocate(&wish.network_id, &wish.fixed_ips)?;
        let security_groups = match &wish.security_groups {
            Some(groups) => groups.clone(),
            None if port_security && !wish.project_id.is_empty() => {
                vec![self.ensure_default_group(mint, &wish.project_id)]
            }
            None => Vec::new(),
        };
        let meta = Meta::new(mint.id(), &wish.name, &wish.project_id, mint.now);
        let id = meta.id.clone();
        let mac_address = self.next_mac();
        let port = Port {
            meta,
            network_id: wish.network_id.clone(),
            mac_address,
            admin_state_up: true,
            status: "DOWN".to_owned(),
            device_id: wish.device_id.clone(),
            device_owner: wish.device_owner.clone(),
            fixed_ips,
            security_groups,
            allowed_address_pairs: Vec::new(),
            port_security,
            vnic_type: "normal".to_owned(),
            host_id: String::new(),
            profile: json!({}),
        };
        self.ports.insert(id.clone(), port);
        Ok(id)
    }

    /// Changes a port.
    ///
    /// # Errors
    /// 400, 403, 404, 409.
    pub fn update_port(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: Attributes<'_>,
    ) -> Result<(), ApiError> {
        let body = body.only(&PORT)?;
        let port = self.port(caller, id)?;
        if !caller.sees(&port.meta.project_id) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:update_port is disallowed by policy",
            ));
        }
        let (project, network_id) = (port.meta.project_id.clone(), port.network_id.clone());
        let port_security = body
            .flag("port_security_enabled")
            .unwrap_or(port.port_security);
        let groups = body
            .texts("security_groups")
            .unwrap_or_else(|| port.security_groups.clone());
        if !port_security && !groups.is_empty() {
            return Err(fault(
                400,
                "PortSecurityAndIPRequiredForSecurityGroups",
                NEEDS_SECURITY,
            ));
        }
        self.known_groups(&project, &groups)?;
        let fixed_ips = match body.list("fixed_ips") {
            Some(list) => {
                let kept = self
                    .ports
                    .get_mut(id)
                    .map(|port| std::mem::take(&mut port.fixed_ips))
                    .unwrap_or_default();
                let new = wanted_addresses(Some(&list))
                    .and_then(|wanted| self.allocate(&network_id, &wanted));
                match new {
                    Ok(new) => Some(new),
                    Err(error) => {
                        if let Some(port) = self.ports.get_mut(id) {
                            port.fixed_ips = kept;
                        }
                        return Err(error);
                    }
                }
            }
            None => None,
        };
        let port = self.ports.get_mut(id).ok_or_else(|| missing("ports", id))?;
        if let Some(fixed_ips) = fixed_ips {
            port.fixed_ips = fixed_ips;
        }
        port.port_security = port_security;
        port.security_groups = groups;
        if let Some(device) = body.some_text("device_id") {
            device.clone_into(&mut port.device_id);
        }
        if let Some(owner) = body.some_text("device_owner") {
            owner.clone_into(&mut port.device_owner);
        }
        port.admin_state_up = body.flag("admin_state_up").unwrap_or(port.admin_state_up);
        apply_extras(port, body);
        body.update_meta(&mut port.meta, mint);
        Ok(())
    }

    /// Deletes a port as a user asks for it.
    ///
    /// # Errors
    /// 403, 404; 409 for ports of routers and floating IPs.
    pub fn delete_port(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
    ) -> Result<(), ApiError> {
        let port = self.port(caller, id)?;
        if !caller.sees(&port.meta.project_id) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:delete_port is disallowed by policy",
            ));
        }
        let owner = port.device_owner.clone();
        if [
            "network:router_interface",
            "network:router_gateway",
            "network:floatingip",
        ]
        .contains(&owner.as_str())
        {
            let text = format!(
                "Port {id} cannot be deleted directly via the port API: has device owner {owner}."
            );
            return Err(fault(409, "ServicePortInUse", text));
        }
        self.drop_port(mint, id);
        Ok(())
    }

    /// Removes a port and frees the floating IPs that led to it.
    pub fn drop_port(&mut self, mint: &Mint<'_>, id: &str) {
        self.ports.shift_remove(id);
        for floating in self
            .floating_ips
            .values_mut()
            .filter(|f| f.port_id.as_deref() == Some(id))
        {
            (floating.port_id, floating.fixed_ip, floating.router_id) = (None, None, None);
            floating.meta.touch(mint.now);
        }
    }

    fn taken(&self, subnet_id: &str) -> HashSet<IpAddr> {
        let addresses = self.ports.values().flat_map(|p| &p.fixed_ips);
        addresses
            .filter(|ip| ip.subnet_id == subnet_id)
            .map(|ip| ip.ip_address)
            .collect()
    }

    fn allocate(&self, network_id: &str, wanted: &[Wish]) -> Result<Vec<FixedIp>, ApiError> {
        let subnets: Vec<_> = self
            .subnets
            .values()
            .filter(|s| s.network_id == network_id)
            .collect();
        if wanted.is_empty() {
            let mut out = Vec::new();
            for v4 in [true, false] {
                let family: Vec<_> = subnets
                    .iter()
                    .filter(|s| s.cidr.addr().is_ipv4() == v4)
                    .collect();
                let found = family.iter().find_map(|subnet| {
                    let ip_address = next_free(&subnet.pools, &self.taken(&subnet.meta.id))?;
                    Some(FixedIp {
                        subnet_id: subnet.meta.id.clone(),
                        ip_address,
                    })
                });
                match found {
                    Some(ip) => out.push(ip),
                    None if family.is_empty() => {}
                    None => {
                        let text =
                            format!("No more IP addresses available on network {network_id}.");
                        return Err(fault(409, "IpAddressGenerationFailure", text));
                    }
                }
            }
            return Ok(out);
        }
        let mut out: Vec<FixedIp> = Vec::new();
        for (subnet_id, ip) in wanted {
            let subnet = match (subnet_id, ip) {
                (Some(id), _) => {
                    let subnet = self.subnets.get(id).ok_or_else(|| missing("subnets", id))?;
                    if subnet.network_id != network_id {
                        let text = format!(
                            "Invalid input for operation: Failed to create port on network {network_id}, because fixed_ips \
                             included invalid subnet {id}."
                        );
                        return Err(fault(400, "InvalidInput", text));
                    }
                    if ip.is_some_and(|ip| !subnet.cidr.contains(&ip)) {
                        let text = format!("IP address {} is not a valid IP for the specified subnet.", shown(*ip));
                        return Err(fault(400, "InvalidIpForSubnet", text));
                    }
                    subnet
                }
                (None, Some(ip)) => *subnets.iter().find(|s| s.cidr.contains(ip)).ok_or_else(|| {
                    let text =
                        format!("IP address {ip} is not a valid IP for any of the subnets on the specified network.");
                    fault(400, "InvalidIpForNetwork", text)
                })?,
                (None, None) => return Err(fault(400, "InvalidInput", "Invalid input for operation: IP allocation requires subnet_id or ip_address.")),
            };
            let id = &subnet.meta.id;
            let mut taken = self.taken(id);
            taken.extend(out.iter().map(|ip| ip.ip_address));
            let ip_address = match ip {
                Some(ip) if taken.contains(ip) => {
                    let text = format!("IP address {ip} already allocated in subnet {id}");
                    return Err(fault(409, "IpAddressAlreadyAllocated", text));
                }
                Some(ip) => *ip,
                None => next_free(&subnet.pools, &taken).ok_or_else(|| {
                    let text = format!("No more IP addresses available on network {network_id}.");
                    fault(409, "IpAddressGenerationFailure", text)
                })?,
            };
            out.push(FixedIp {
                subnet_id: id.clone(),
                ip_address,
            });
        }
        Ok(out)
    }

    fn known_groups(&self, project: &str, groups: &[String]) -> Result<(), ApiError> {
        match groups.iter().find(|id| {
            self.groups
                .get(*id)
                .is_none_or(|g| g.meta.project_id != project)
        }) {
            Some(id) => Err(missing("security-groups", id)),
            None => Ok(()),
        }
    }
}

fn shown(ip: Option<IpAddr>) -> String {
    ip.map(|ip| ip.to_string()).unwrap_or_default()
}

fn apply_extras(port: &mut Port, body: Attributes<'_>) {
    if let Some(pairs) = body.list("allowed_address_pairs") {
        let mac = port.mac_address.clone();
        port.allowed_address_pairs = pairs
            .iter()
            .map(|pair| {
                let own = pair["mac_address"].as_str().unwrap_or(&mac);
                json!({"mac_address": own, "ip_address": pair["ip_address"]})
            })
            .collect();
    }
    if let Some(kind) = body.some_text("binding:vnic_type") {
        kind.clone_into(&mut port.vnic_type);
    }
    if let Some(host) = body.some_text("binding:host_id") {
        host.clone_into(&mut port.host_id);
    }
    if let Some(profile) = body.0.get("binding:profile").filter(|p| p.is_object()) {
        port.profile = profile.clone();
    }
}

fn wanted_addresses(list: Option<&[Value]>) -> Result<Vec<Wish>, ApiError> {
    let one = |wish: &Value| {
        let subnet = wish["subnet_id"].as_str().map(str::to_owned);
        let ip = match wish["ip_address"].as_str() {
            Some(text) => Some(text.parse().map_err(|_| {
                let text = format!(
                    "Invalid input for fixed_ips. Reason: '{text}' is not a valid IP address."
                );
                fault(400, "HTTPBadRequest", text)
            })?),
            None => None,
        };
        Ok((subnet, ip))
    };
    list.unwrap_or_default().iter().map(one).collect()
}
