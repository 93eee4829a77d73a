//! `OS::Neutron`: networks, subnets, routers, floating IPs.

use super::properties;

properties! {
    /// A network.
    Net = "OS::Neutron::Net" {
        optional {
            /// Name.
            name,
            /// Administrative state.
            admin_state_up,
            /// Whether other projects may use it.
            shared,
            /// DNS domain.
            dns_domain,
            /// Whether ports have security groups by default.
            port_security_enabled,
            /// QoS policy, by name or id.
            qos_policy,
            /// Availability zones it may be placed in.
            availability_zone_hints,
            /// Tags.
            tags,
            /// Further keys for Neutron, as `mtu`.
            value_specs,
        }
    }
}

properties! {
    /// A subnet.
    Subnet = "OS::Neutron::Subnet" {
        required {
            /// Network, by name or id.
            network,
        }
        optional {
            /// Range.
            cidr,
            /// Name.
            name,
            /// 4 or 6.
            ip_version,
            /// Subnet pool, by name or id.
            subnetpool,
            /// Prefix length taken from the pool.
            prefixlen,
            /// Gateway; an empty text is none.
            gateway_ip,
            /// DNS servers.
            dns_nameservers,
            /// Whether Neutron answers DHCP.
            enable_dhcp,
            /// Ranges that addresses are taken from: maps of `start` and `end`.
            allocation_pools,
            /// Routes given to hosts.
            host_routes,
            /// How IPv6 addresses are given.
            ipv6_address_mode,
            /// How IPv6 routers are announced.
            ipv6_ra_mode,
            /// Tags.
            tags,
            /// Further keys for Neutron.
            value_specs,
        }
    }
}

properties! {
    /// A router.
    Router = "OS::Neutron::Router" {
        optional {
            /// Name.
            name,
            /// External gateway: a map with `network` and optionally `enable_snat`, `external_fixed_ips`.
            external_gateway_info,
            /// Administrative state.
            admin_state_up,
            /// Whether it is distributed (administrators).
            distributed,
            /// Whether it is highly available (administrators).
            ha,
            /// Availability zones it may be placed in.
            availability_zone_hints,
            /// Tags.
            tags,
            /// Further keys for Neutron.
            value_specs,
        }
    }
}

impl Router {
    /// With a gateway to this external network.
    #[must_use]
    pub fn gateway(self, network: impl Into<crate::hot::Value>) -> Self {
        self.external_gateway_info(crate::hot::Value::map([("network", network.into())]))
    }
}

properties! {
    /// Connects a router and a subnet (or port).
    RouterInterface = "OS::Neutron::RouterInterface" {
        required {
            /// Router, by name or id.
            router,
        }
        optional {
            /// Subnet, by name or id.
            subnet,
            /// Port, by name or id.
            port,
        }
    }
}

properties! {
    /// A floating IP.
    FloatingIp = "OS::Neutron::FloatingIP" {
        required {
            /// External network, by name or id.
            floating_network,
        }
        optional {
            /// Port it leads to, by id.
            port_id,
            /// Address of the port it leads to.
            fixed_ip_address,
            /// The address itself, where it is to be a certain one.
            floating_ip_address,
            /// Subnet of the external network, by name or id.
            floating_subnet,
            /// DNS domain.
            dns_domain,
            /// DNS name.
            dns_name,
            /// Further keys for Neutron, as `description`.
            value_specs,
        }
    }
}

properties! {
    /// Leads a floating IP to a port.
    FloatingIpAssociation = "OS::Neutron::FloatingIPAssociation" {
        required {
            /// Floating IP, by id.
            floatingip_id,
        }
        optional {
            /// Port, by id.
            port_id,
            /// Address of the port.
            fixed_ip_address,
        }
    }
}
