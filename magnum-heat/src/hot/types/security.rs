//! `OS::Neutron`: security groups and rules.

use super::properties;

properties! {
    /// A security group.
    SecurityGroup = "OS::Neutron::SecurityGroup" {
        optional {
            /// Name.
            name,
            /// Description.
            description,
            /// Rules: maps of `direction`, `ethertype`, `protocol`, `port_range_min`, `port_range_max`,
            /// `remote_ip_prefix`, `remote_mode`, `remote_group_id`.
            rules,
        }
    }
}

properties! {
    /// One rule of a security group, as a resource of its own.
    SecurityGroupRule = "OS::Neutron::SecurityGroupRule" {
        required {
            /// Group, by name or id.
            security_group,
        }
        optional {
            /// `ingress` (Heat's default) or `egress`.
            direction,
            /// `IPv4` (Heat's default) or `IPv6`.
            ethertype,
            /// Protocol: `tcp`, `udp`, `icmp`, a number; unset is any.
            protocol,
            /// First port.
            port_range_min,
            /// Last port.
            port_range_max,
            /// Addresses of the other side.
            remote_ip_prefix,
            /// Group of the other side, by name or id.
            remote_group,
            /// Description.
            description,
        }
    }
}

impl SecurityGroupRule {
    /// For ports of this range.
    #[must_use]
    pub fn ports(self, first: u16, last: u16) -> Self {
        self.port_range_min(first).port_range_max(last)
    }
}
