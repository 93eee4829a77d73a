//! Neutron's resources as JSON.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::model::{FloatingIp, Group, Meta, Network, NeutronState, Port, Router, Rule, Subnet};

pub(super) fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn with_meta(mut view: Value, meta: &Meta) -> Value {
    view["id"] = meta.id.clone().into();
    view["project_id"] = meta.project_id.clone().into();
    view["tenant_id"] = meta.project_id.clone().into();
    view["tags"] = meta.tags.clone().into();
    view["created_at"] = time(meta.created_at).into();
    view["updated_at"] = time(meta.updated_at).into();
    view["revision_number"] = meta.revision.into();
    view
}

impl NeutronState {
    pub(super) fn network_view(&self, network: &Network, admin: bool) -> Value {
        let mut subnets: Vec<&str> = self
            .subnets
            .values()
            .filter(|s| s.network_id == network.meta.id)
            .map(|s| s.meta.id.as_str())
            .collect();
        subnets.sort_unstable();
        let mut view = with_meta(
            json!({
                "id": "", "name": network.meta.name, "admin_state_up": network.admin_state_up, "mtu": network.mtu,
                "status": "ACTIVE", "subnets": subnets, "shared": network.shared, "availability_zone_hints": [],
                "availability_zones": [], "ipv4_address_scope": null, "ipv6_address_scope": null,
                "router:external": network.external, "qinq": false, "vlan_transparent": false,
                "description": network.meta.description, "port_security_enabled": network.port_security,
            }),
            &network.meta,
        );
        if network.external {
            view["is_default"] = false.into();
        }
        if admin {
            view["provider:network_type"] = network.network_type.clone().into();
            view["provider:physical_network"] = network.physical_network.clone().into();
            view["provider:segmentation_id"] = network.segmentation_id.into();
        }
        view
    }

    pub(super) fn subnet_view(&self, subnet: &Subnet) -> Value {
        let external = self
            .networks
            .get(&subnet.network_id)
            .is_some_and(|n| n.external);
        with_meta(
            json!({
                "id": "", "name": subnet.meta.name, "network_id": subnet.network_id,
                "ip_version": if subnet.cidr.addr().is_ipv4() { 4 } else { 6 }, "subnetpool_id": null,
                "enable_dhcp": subnet.enable_dhcp, "ipv6_ra_mode": null, "ipv6_address_mode": null,
                "gateway_ip": subnet.gateway, "cidr": subnet.cidr, "allocation_pools": subnet.pools,
                "host_routes": subnet.host_routes, "dns_nameservers": subnet.dns_nameservers,
                "description": subnet.meta.description, "router:external": external, "service_types": [],
            }),
            &subnet.meta,
        )
    }

    pub(super) fn port_view(&self, port: &Port, admin: bool) -> Value {
        let mut view = with_meta(
            json!({
                "id": "", "name": port.meta.name, "network_id": port.network_id, "mac_address": port.mac_address,
                "admin_state_up": port.admin_state_up, "status": port.status, "device_id": port.device_id,
                "device_owner": port.device_owner, "fixed_ips": port.fixed_ips,
                "allowed_address_pairs": port.allowed_address_pairs, "extra_dhcp_opts": [],
                "security_groups": port.security_groups, "description": port.meta.description,
                "binding:vnic_type": port.vnic_type, "port_security_enabled": port.port_security,
            }),
            &port.meta,
        );
        if admin {
            let bound = !port.host_id.is_empty();
            view["binding:profile"] = port.profile.clone();
            view["binding:host_id"] = port.host_id.clone().into();
            view["binding:vif_type"] = if bound { "ovs" } else { "unbound" }.into();
            view["binding:vif_details"] = if bound {
                json!({"port_filter": true, "ovs_create_tap": false, "bound_drivers": {"0": "ovn"}, "connectivity": "l2", "bridge_name": "br-int", "datapath_type": "system"})
            } else {
                json!({})
            };
        }
        view
    }

    pub(super) fn router_view(&self, router: &Router, admin: bool) -> Value {
        let gateway = router
            .gateway_port
            .as_ref()
            .and_then(|id| self.ports.get(id));
        let info = gateway.map(|port| {
            json!({"network_id": port.network_id, "external_fixed_ips": port.fixed_ips, "enable_snat": router.enable_snat})
        });
        let gateways: Vec<Value> = gateway
            .iter()
            .map(
                |port| json!({"network_id": port.network_id, "external_fixed_ips": port.fixed_ips}),
            )
            .collect();
        let mut view = with_meta(
            json!({
                "id": "", "name": router.meta.name, "admin_state_up": router.admin_state_up, "status": "ACTIVE",
                "enable_snat": router.enable_snat, "external_gateway_info": info, "description": router.meta.description,
                "availability_zones": [], "availability_zone_hints": [], "enable_default_route_ecmp": false,
                "enable_default_route_bfd": false, "external_gateways": gateways, "routes": router.routes, "flavor_id": null,
            }),
            &router.meta,
        );
        if admin {
            view["ha"] = true.into();
        }
        view
    }

    pub(super) fn group_view(&self, group: &Group) -> Value {
        let rules: Vec<Value> = self
            .rules
            .values()
            .filter(|r| r.group_id == group.meta.id)
            .map(|r| self.rule_view(r))
            .collect();
        with_meta(
            json!({
                "id": "", "name": group.meta.name, "stateful": group.stateful, "description": group.meta.description,
                "shared": false, "security_group_rules": rules,
            }),
            &group.meta,
        )
    }

    pub(super) fn rule_view(&self, rule: &Rule) -> Value {
        let default = rule.built_in
            && self
                .groups
                .get(&rule.group_id)
                .is_some_and(|g| g.meta.name == "default");
        with_meta(
            json!({
                "id": "", "security_group_id": rule.group_id, "ethertype": rule.ethertype, "direction": rule.direction,
                "protocol": rule.protocol, "port_range_min": rule.port_min, "port_range_max": rule.port_max,
                "remote_ip_prefix": rule.remote_prefix, "remote_address_group_id": null,
                "normalized_cidr": rule.remote_prefix, "remote_group_id": rule.remote_group,
                "standard_attr_id": rule.number, "belongs_to_default_sg": if default { Value::Null } else { false.into() },
                "description": if rule.built_in { Value::Null } else { rule.meta.description.clone().into() },
            }),
            &rule.meta,
        )
    }

    pub(super) fn floating_view(&self, floating: &FloatingIp) -> Value {
        let port = floating.port_id.as_ref().and_then(|id| self.ports.get(id));
        let details = port.map(|port| {
            json!({
                "name": port.meta.name, "network_id": port.network_id, "mac_address": port.mac_address,
                "admin_state_up": port.admin_state_up, "status": port.status, "device_id": port.device_id,
                "device_owner": port.device_owner,
            })
        });
        with_meta(
            json!({
                "id": "", "floating_ip_address": floating.address, "floating_network_id": floating.network_id,
                "router_id": floating.router_id, "port_id": floating.port_id, "fixed_ip_address": floating.fixed_ip,
                "status": if port.is_some() { "ACTIVE" } else { "DOWN" }, "description": floating.meta.description,
                "port_details": details, "dns_domain": "", "dns_name": "",
            }),
            &floating.meta,
        )
    }
}
