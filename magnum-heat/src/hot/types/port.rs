//! `OS::Neutron::Port`.

use super::properties;
use crate::hot::Value;

properties! {
    /// A port.
    Port = "OS::Neutron::Port" {
        required {
            /// Network, by name or id.
            network,
        }
        optional {
            /// Name.
            name,
            /// Addresses: maps of `subnet` and `ip_address`.
            fixed_ips,
            /// Security groups, by name or id.
            security_groups,
            /// Further addresses that may be used: maps of `ip_address` and `mac_address`.
            allowed_address_pairs,
            /// Hardware address.
            mac_address,
            /// What it is for.
            device_owner,
            /// Administrative state.
            admin_state_up,
            /// Whether security groups and address checks apply.
            port_security_enabled,
            /// `normal`, `direct`, `baremetal`, ...
            vnic_type = "binding:vnic_type",
            /// QoS policy, by name or id.
            qos_policy,
            /// DNS name.
            dns_name,
            /// `IGNORE` or `REPLACE_ALWAYS` or `AUTO`.
            replacement_policy,
            /// Tags.
            tags,
            /// Further keys for Neutron, as `description`.
            value_specs,
        }
    }
}

impl Port {
    /// With one address of this subnet.
    #[must_use]
    pub fn subnet(self, subnet: impl Into<Value>) -> Self {
        self.fixed_ips([Value::map([("subnet", subnet.into())])])
    }
}
