//! Floating IPs.

use std::net::IpAddr;

use super::super::{ApiError, Caller};
use super::Mint;
use super::attributes::Attributes;
use super::model::{FloatingIp, Meta, NeutronState, fault, missing};
use super::ports::OwnPort;

const FLOATING: [&str; 10] = [
    "floating_network_id",
    "port_id",
    "fixed_ip_address",
    "floating_ip_address",
    "subnet_id",
    "description",
    "tenant_id",
    "project_id",
    "dns_name",
    "dns_domain",
];

struct Target {
    port_id: String,
    fixed_ip: IpAddr,
    router_id: String,
}

impl NeutronState {
    /// A floating IP the caller may see.
    ///
    /// # Errors
    /// 404.
    pub fn floating_ip(&self, caller: &Caller, id: &str) -> Result<&FloatingIp, ApiError> {
        let floating = self
            .floating_ips
            .get(id)
            .filter(|f| caller.sees(&f.meta.project_id));
        floating.ok_or_else(|| missing("floatingips", id))
    }

    /// Takes an address of an external network.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn create_floating_ip(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        body: Attributes<'_>,
    ) -> Result<String, ApiError> {
        let body = body.only(&FLOATING)?;
        let network_id = body.id("floating_network_id")?.to_owned();
        let project = body
            .some_text("project_id")
            .or(body.some_text("tenant_id"))
            .filter(|_| caller.is_admin);
        let project = project.unwrap_or(&caller.project_id).to_owned();
        self.reserve(&project, "floatingip")?;
        if !self.network(caller, &network_id)?.external {
            let text = format!(
                "Bad floatingip request: Network {network_id} is not a valid external network."
            );
            return Err(fault(400, "BadRequest", text));
        }
        let wanted = body
            .some_text("floating_ip_address")
            .and_then(|text| text.parse().ok());
        let subnet = body.some_text("subnet_id").map(str::to_owned);
        let mut meta = Meta::new(mint.id(), "", &project, mint.now);
        meta.revision = 0;
        body.text("description").clone_into(&mut meta.description);
        let id = meta.id.clone();
        let wish = OwnPort {
            network_id: network_id.clone(),
            device_id: id.clone(),
            device_owner: "network:floatingip".to_owned(),
            fixed_ips: if wanted.is_some() || subnet.is_some() {
                vec![(subnet, wanted)]
            } else {
                Vec::new()
            },
            port_security: Some(false),
            ..OwnPort::default()
        };
        let own_port = self.add_port(mint, &wish)?;
        let address = self.ports.get_mut(&own_port).and_then(|port| {
            "N/A".clone_into(&mut port.status);
            port.fixed_ips.first().map(|ip| ip.ip_address)
        });
        let Some(address) = address else {
            self.drop_port(mint, &own_port);
            let text = format!("No more IP addresses available on network {network_id}.");
            return Err(fault(409, "IpAddressGenerationFailure", text));
        };
        let target = match body.some_text("port_id") {
            Some(port) => match self.target(
                caller,
                &network_id,
                &id,
                address,
                port,
                body.some_text("fixed_ip_address"),
            ) {
                Ok(target) => Some(target),
                Err(error) => {
                    self.drop_port(mint, &own_port);
                    return Err(error);
                }
            },
            None => None,
        };
        let mut floating = FloatingIp {
            meta,
            network_id,
            own_port,
            port_id: None,
            fixed_ip: None,
            router_id: None,
            address,
        };
        lead(&mut floating, target);
        self.floating_ips.insert(id.clone(), floating);
        Ok(id)
    }

    /// Leads a floating IP to another port, or to none.
    ///
    /// # Errors
    /// 400, 404, 409.
    pub fn update_floating_ip(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
        body: Attributes<'_>,
    ) -> Result<(), ApiError> {
        let body = body.only(&FLOATING)?;
        let floating = self.floating_ip(caller, id)?;
        let (network, address) = (floating.network_id.clone(), floating.address);
        let target = match body.0.get("port_id") {
            None => None,
            Some(value) => Some(match value.as_str() {
                Some(port) => Some(self.target(
                    caller,
                    &network,
                    id,
                    address,
                    port,
                    body.some_text("fixed_ip_address"),
                )?),
                None => None,
            }),
        };
        let floating = self
            .floating_ips
            .get_mut(id)
            .ok_or_else(|| missing("floatingips", id))?;
        if let Some(target) = target {
            lead(floating, target);
        }
        body.update_meta(&mut floating.meta, mint);
        Ok(())
    }

    fn target(
        &self,
        caller: &Caller,
        network: &str,
        id: &str,
        address: IpAddr,
        port_id: &str,
        fixed: Option<&str>,
    ) -> Result<Target, ApiError> {
        let port = self.port(caller, port_id)?;
        let ip = match fixed {
            Some(text) => port.fixed_ips.iter().find(|ip| ip.ip_address.to_string() == text).ok_or_else(|| {
                let text = format!("Bad floatingip request: Port {port_id} does not have fixed ip {text}.");
                fault(400, "BadRequest", text)
            })?,
            None => port.fixed_ips.iter().find(|ip| ip.ip_address.is_ipv4()).ok_or_else(|| {
                let text = format!(
                    "Bad floatingip request: Cannot add floating IP to port {port_id} that has no fixed IPv4 addresses."
                );
                fault(400, "BadRequest", text)
            })?,
        };
        let taken = self.floating_ips.values().any(|f| {
            f.meta.id != id
                && f.port_id.as_deref() == Some(port_id)
                && f.fixed_ip == Some(ip.ip_address)
                && f.network_id == network
        });
        if taken {
            let text = format!(
                "Cannot associate floating IP {address} ({id}) with port {port_id} using fixed IP {}, as that fixed IP already \
                 has a floating IP on external network {network}.",
                ip.ip_address
            );
            return Err(fault(409, "FloatingIPPortAlreadyAssociated", text));
        }
        let leads = |router: &&super::model::Router| {
            let gateway = router
                .gateway_port
                .as_ref()
                .and_then(|port| self.ports.get(port));
            gateway.is_some_and(|port| port.network_id == network)
                && self
                    .interfaces(&router.meta.id)
                    .any(|p| p.fixed_ips.iter().any(|i| i.subnet_id == ip.subnet_id))
        };
        let router = self.routers.values().find(leads).ok_or_else(|| {
            let text = format!(
                "External network {network} is not reachable from subnet {}.  Therefore, cannot associate Port {port_id} with a \
                 Floating IP.",
                ip.subnet_id
            );
            fault(404, "ExternalGatewayForFloatingIPNotFound", text)
        })?;
        Ok(Target {
            port_id: port_id.to_owned(),
            fixed_ip: ip.ip_address,
            router_id: router.meta.id.clone(),
        })
    }

    /// Gives an address back.
    ///
    /// # Errors
    /// 404.
    pub fn delete_floating_ip(
        &mut self,
        mint: &Mint<'_>,
        caller: &Caller,
        id: &str,
    ) -> Result<(), ApiError> {
        let own_port = self.floating_ip(caller, id)?.own_port.clone();
        self.floating_ips.shift_remove(id);
        self.drop_port(mint, &own_port);
        Ok(())
    }
}

fn lead(floating: &mut FloatingIp, target: Option<Target>) {
    match target {
        Some(target) => {
            floating.port_id = Some(target.port_id);
            floating.fixed_ip = Some(target.fixed_ip);
            floating.router_id = Some(target.router_id);
        }
        None => (floating.port_id, floating.fixed_ip, floating.router_id) = (None, None, None),
    }
}
