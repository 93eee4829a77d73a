//! Networks and subnets.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::super::{ApiError, Caller};
use super::Mint;
use super::addresses::{Pool, default_gateway, default_pools, overlap};
use super::attributes::Attributes;
use super::model::{Network, NeutronState, Subnet, fault, missing};

const NETWORK: [&str; 16] = [
    "name",
    "description",
    "admin_state_up",
    "mtu",
    "shared",
    "router:external",
    "port_security_enabled",
    "tenant_id",
    "project_id",
    "provider:network_type",
    "provider:physical_network",
    "provider:segmentation_id",
    "is_default",
    "availability_zone_hints",
    "dns_domain",
    "vlan_transparent",
];
const SUBNET: [&str; 18] = [
    "name",
    "description",
    "network_id",
    "ip_version",
    "cidr",
    "gateway_ip",
    "allocation_pools",
    "enable_dhcp",
    "dns_nameservers",
    "host_routes",
    "tenant_id",
    "project_id",
    "ipv6_ra_mode",
    "ipv6_address_mode",
    "subnetpool_id",
    "prefixlen",
    "service_types",
    "use_default_subnetpool",
];

impl NeutronState {
    /// A network the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn network(&self, caller: &Caller, id: &str) -> Result<&Network, ApiError> {
        let network = self
            .networks
            .get(id)
            .filter(|n| self.sees_network(caller, n));
        network.ok_or_else(|| missing("networks", id))
    }

    pub(super) fn sees_network(&self, caller: &Caller, network: &Network) -> bool {
        caller.sees(&network.meta.project_id) || network.shared || network.external
    }

    /// Makes a network.
    ///
    /// # Errors
    /// 400, 403, 409.
    pub fn create_network(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&NETWORK)?;
        for (key, set) in [
            ("router:external", body.flag("router:external")),
            ("shared", body.flag("shared")),
        ] {
            if set == Some(true) && !caller.is_admin {
                let text = format!(
                    "(rule:create_network and rule:create_network:{key}) is disallowed by policy"
                );
                return Err(fault(403, "PolicyNotAuthorized", text));
            }
        }
        let project = body
            .some_text("project_id")
            .or(body.some_text("tenant_id"))
            .filter(|_| caller.is_admin);
        let project = project.unwrap_or(&caller.project_id).to_owned();
        self.reserve(&project, "network")?;
        self.ensure_default_group(mint, &project);
        let external = body.flag("router:external").unwrap_or(false);
        let network_type = body
            .some_text("provider:network_type")
            .unwrap_or("geneve")
            .to_owned();
        let flat = network_type == "flat";
        self.counter += 1;
        let network = Network {
            meta: body.meta(mint, &project),
            admin_state_up: body.flag("admin_state_up").unwrap_or(true),
            mtu: body
                .number("mtu")
                .filter(|n| *n > 0)
                .unwrap_or(if network_type == "geneve" { 1442 } else { 1500 }),
            shared: body.flag("shared").unwrap_or(false),
            external,
            port_security: body.flag("port_security_enabled").unwrap_or(true),
            physical_network: body
                .some_text("provider:physical_network")
                .map(str::to_owned),
            segmentation_id: body
                .number("provider:segmentation_id")
                .or((!flat).then_some(10_000 + self.counter)),
            network_type,
        };
        let id = network.meta.id.clone();
        self.networks.insert(id.clone(), network);
        Ok(id)
    }

    /// Changes a network.
    ///
    /// # Errors
    /// 400, 403, 404.
    pub fn update_network(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: Attributes<'_>,
    ) -> Result<(), ApiError> {
        let body = body.only(&NETWORK)?;
        if !caller.sees(&self.network(caller, id)?.meta.project_id) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:update_network is disallowed by policy",
            ));
        }
        let network = self
            .networks
            .get_mut(id)
            .ok_or_else(|| missing("networks", id))?;
        body.update_meta(&mut network.meta, mint);
        network.admin_state_up = body
            .flag("admin_state_up")
            .unwrap_or(network.admin_state_up);
        network.mtu = body.number("mtu").unwrap_or(network.mtu);
        network.port_security = body
            .flag("port_security_enabled")
            .unwrap_or(network.port_security);
        if caller.is_admin {
            network.shared = body.flag("shared").unwrap_or(network.shared);
            network.external = body.flag("router:external").unwrap_or(network.external);
        }
        Ok(())
    }

    /// Deletes a network with its subnets.
    ///
    /// # Errors
    /// 403, 404; 409 while ports stand on it.
    pub fn delete_network(&mut self, caller: &Caller, id: &str) -> Result<(), ApiError> {
        if !caller.sees(&self.network(caller, id)?.meta.project_id) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:delete_network is disallowed by policy",
            ));
        }
        let mut ports: Vec<&str> = self
            .ports
            .values()
            .filter(|p| p.network_id == id)
            .map(|p| p.meta.id.as_str())
            .collect();
        if !ports.is_empty() {
            ports.sort_unstable();
            let text = format!(
                "Unable to complete operation on network {id}. There are one or more ports still in use on the network, \
                 id for these ports is: {}.",
                ports.join(",")
            );
            return Err(fault(409, "NetworkInUse", text));
        }
        self.subnets.retain(|_, subnet| subnet.network_id != id);
        self.networks.shift_remove(id);
        Ok(())
    }

    /// A subnet the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn subnet(&self, caller: &Caller, id: &str) -> Result<&Subnet, ApiError> {
        let subnet = self.subnets.get(id).filter(|s| self.sees_subnet(caller, s));
        subnet.ok_or_else(|| missing("subnets", id))
    }

    pub(super) fn sees_subnet(&self, caller: &Caller, subnet: &Subnet) -> bool {
        caller.sees(&subnet.meta.project_id)
            || self
                .networks
                .get(&subnet.network_id)
                .is_some_and(|n| self.sees_network(caller, n))
    }

    /// Makes a subnet.
    ///
    /// # Errors
    /// 400, 403, 404, 409.
    pub fn create_subnet(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&SUBNET)?;
        let network_id = body.id("network_id")?.to_owned();
        let owner = self.network(caller, &network_id)?.meta.project_id.clone();
        if !caller.sees(&owner) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:create_subnet is disallowed by policy",
            ));
        }
        let project = if caller.is_admin {
            owner
        } else {
            caller.project_id.clone()
        };
        let text = body.text("cidr");
        let cidr: IpNet = text
            .parse()
            .map_err(|_| invalid(format!("{text} is not in a CIDR format.")))?;
        let cidr = cidr.trunc();
        let version = if cidr.addr().is_ipv4() { 4 } else { 6 };
        if body
            .number("ip_version")
            .is_some_and(|asked| asked != version)
        {
            return Err(invalid(format!(
                "Invalid CIDR {cidr} for IP version {}.",
                body.number("ip_version").unwrap_or(4)
            )));
        }
        if self
            .subnets
            .values()
            .any(|s| s.network_id == network_id && overlap(s.cidr, cidr))
        {
            return Err(invalid(format!(
                "Requested subnet with cidr: {cidr} for network: {network_id} overlaps with another subnet."
            )));
        }
        self.reserve(&project, "subnet")?;
        let gateway = gateway(body, cidr)?;
        let pools = match body
            .list("allocation_pools")
            .filter(|pools| !pools.is_empty())
        {
            Some(pools) => given_pools(&pools, cidr)?,
            None => default_pools(cidr, gateway),
        };
        let mut meta = body.meta(mint, &project);
        meta.revision = 0;
        let subnet = Subnet {
            network_id: network_id.clone(),
            cidr,
            gateway,
            pools,
            enable_dhcp: body.flag("enable_dhcp").unwrap_or(true),
            dns_nameservers: body.texts("dns_nameservers").unwrap_or_default(),
            host_routes: body.list("host_routes").unwrap_or_default(),
            meta,
        };
        let id = subnet.meta.id.clone();
        self.subnets.insert(id.clone(), subnet);
        if let Some(network) = self.networks.get_mut(&network_id) {
            network.meta.touch(mint.now);
        }
        Ok(id)
    }

    /// Changes a subnet.
    ///
    /// # Errors
    /// 400, 404.
    pub fn update_subnet(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: Attributes<'_>,
    ) -> Result<(), ApiError> {
        let body = body.only(&SUBNET)?;
        if !caller.sees(&self.subnet(caller, id)?.meta.project_id) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:update_subnet is disallowed by policy",
            ));
        }
        let subnet = self
            .subnets
            .get_mut(id)
            .ok_or_else(|| missing("subnets", id))?;
        if body.0.contains_key("gateway_ip") {
            subnet.gateway = gateway(body, subnet.cidr)?;
        }
        subnet.enable_dhcp = body.flag("enable_dhcp").unwrap_or(subnet.enable_dhcp);
        if let Some(servers) = body.texts("dns_nameservers") {
            subnet.dns_nameservers = servers;
        }
        if let Some(routes) = body.list("host_routes") {
            subnet.host_routes = routes;
        }
        body.update_meta(&mut subnet.meta, mint);
        Ok(())
    }

    /// Deletes a subnet.
    ///
    /// # Errors
    /// 403, 404; 409 while ports have addresses of it.
    pub fn delete_subnet(&mut self, caller: &Caller, id: &str) -> Result<(), ApiError> {
        if !caller.sees(&self.subnet(caller, id)?.meta.project_id) {
            return Err(fault(
                403,
                "PolicyNotAuthorized",
                "rule:delete_subnet is disallowed by policy",
            ));
        }
        if self
            .ports
            .values()
            .any(|p| p.fixed_ips.iter().any(|ip| ip.subnet_id == id))
        {
            let text = format!(
                "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this subnet."
            );
            return Err(fault(409, "SubnetInUse", text));
        }
        self.subnets.shift_remove(id);
        Ok(())
    }
}

fn invalid(text: impl AsRef<str>) -> ApiError {
    fault(
        400,
        "InvalidInput",
        format!("Invalid input for operation: {}", text.as_ref()),
    )
}

fn gateway(body: Attributes<'_>, cidr: IpNet) -> Result<Option<IpAddr>, ApiError> {
    match body.0.get("gateway_ip") {
        None => Ok(Some(default_gateway(cidr))),
        Some(Value::String(text)) if !text.is_empty() => text.parse().map(Some).map_err(|_| {
            fault(
                400,
                "HTTPBadRequest",
                format!(
                    "Invalid input for gateway_ip. Reason: '{text}' is not a valid IP address."
                ),
            )
        }),
        Some(_) => Ok(None),
    }
}

fn given_pools(pools: &[Value], cidr: IpNet) -> Result<Vec<Pool>, ApiError> {
    let read = |pool: &Value| -> Option<Pool> {
        let start = pool["start"].as_str()?.parse().ok()?;
        let end = pool["end"].as_str()?.parse().ok()?;
        Some(Pool { start, end })
    };
    let mut out = Vec::new();
    for pool in pools {
        let shown = format!(
            "{}-{}",
            pool["start"].as_str().unwrap_or_default(),
            pool["end"].as_str().unwrap_or_default()
        );
        let pool = read(pool).ok_or_else(|| {
            fault(
                400,
                "InvalidAllocationPool",
                format!("The allocation pool {shown} is not valid."),
            )
        })?;
        if !cidr.contains(&pool.start) || !cidr.contains(&pool.end) {
            let text = format!("The allocation pool {shown} spans beyond the subnet cidr {cidr}.");
            return Err(fault(400, "OutOfBoundsAllocationPool", text));
        }
        out.push(pool);
    }
    Ok(out)
}
