//! Security group rules: the least that a cluster needs.
//!
//! Nothing but the API is open to addresses outside the node subnet, and etcd is open to control-plane nodes only.
//! Rules inside the cluster name the node subnet and not the other group: rules by group cost much on large groups.

use ipnet::IpNet;
use magnum_heat::hot::Value;

use super::API_PORT;

/// One rule for incoming traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingress {
    /// `tcp`, `udp`, `icmp`, or a protocol number.
    pub protocol: &'static str,
    /// First and last port; none where the protocol has no ports.
    pub ports: Option<(u16, u16)>,
    /// Where it may come from; none means members of the same group.
    pub from: Option<IpNet>,
}

impl Ingress {
    const fn port(protocol: &'static str, port: u16, from: IpNet) -> Self {
        Self::range(protocol, port, port, from)
    }

    const fn range(protocol: &'static str, first: u16, last: u16, from: IpNet) -> Self {
        Self {
            protocol,
            ports: Some((first, last)),
            from: Some(from),
        }
    }

    /// The rule as Heat's inline form.
    #[must_use]
    pub fn to_value(&self, nodes: IpNet) -> Value {
        let range = self.from.unwrap_or(nodes);
        let v6 = matches!(range, IpNet::V6(_));
        let mut entries: Vec<(&str, Value)> = vec![
            ("direction", "ingress".into()),
            ("ethertype", if v6 { "IPv6" } else { "IPv4" }.into()),
            (
                "protocol",
                if v6 && self.protocol == "icmp" {
                    "ipv6-icmp"
                } else {
                    self.protocol
                }
                .into(),
            ),
        ];
        if let Some((first, last)) = self.ports {
            entries.push(("port_range_min", first.into()));
            entries.push(("port_range_max", last.into()));
        }
        match self.from {
            Some(range) => entries.push(("remote_ip_prefix", range.to_string().into())),
            None => entries.push(("remote_mode", "remote_group_id".into())),
        }
        Value::map(entries)
    }
}

fn everywhere(nodes: IpNet) -> IpNet {
    match nodes {
        IpNet::V4(_) => IpNet::V4(ipnet::Ipv4Net::default()),
        IpNet::V6(_) => IpNet::V6(ipnet::Ipv6Net::default()),
    }
}

/// What the pod network needs between nodes.
fn pod_network(network_driver: &str, nodes: IpNet) -> Vec<Ingress> {
    match network_driver {
        "calico" => vec![
            Ingress::port("tcp", 179, nodes),
            Ingress {
                protocol: "4",
                ports: None,
                from: Some(nodes),
            },
            Ingress::port("udp", 4789, nodes),
            Ingress::port("tcp", 5473, nodes),
            Ingress::range("udp", 51_820, 51_821, nodes),
        ],
        "cilium" => vec![
            Ingress::port("udp", 8472, nodes),
            Ingress::port("tcp", 4240, nodes),
            Ingress::port("tcp", 4244, nodes),
            Ingress::port("udp", 51_871, nodes),
        ],
        "flannel" => vec![Ingress::port("udp", 8472, nodes)],
        // A network that the user brings: everything inside the node subnet, since we do not know what it needs.
        _ => vec![
            Ingress::range("tcp", 1024, 65_535, nodes),
            Ingress::range("udp", 1024, 65_535, nodes),
        ],
    }
}

fn common(nodes: IpNet, network_driver: &str, ssh: &[IpNet]) -> Vec<Ingress> {
    let mut rules = vec![
        Ingress {
            protocol: "icmp",
            ports: None,
            from: Some(nodes),
        },
        Ingress::port("tcp", 10_250, nodes),
    ];
    rules.extend(pod_network(network_driver, nodes));
    rules.extend(ssh.iter().map(|range| Ingress::port("tcp", 22, *range)));
    rules
}

/// The rules of control-plane nodes. `clients` may reach the API; empty means everybody.
///
/// `clients_arrive_as_themselves` is false where a load balancer's own address is all that nodes see: then the node subnet suffices.
#[must_use]
pub fn control_plane_rules(
    nodes: IpNet,
    network_driver: &str,
    ssh: &[IpNet],
    clients: &[IpNet],
    clients_arrive_as_themselves: bool,
) -> Vec<Ingress> {
    let mut rules = vec![Ingress::port("tcp", API_PORT, nodes)];
    if clients_arrive_as_themselves {
        if clients.is_empty() {
            rules = vec![Ingress::port("tcp", API_PORT, everywhere(nodes))];
        } else {
            rules.extend(
                clients
                    .iter()
                    .filter(|range| **range != nodes)
                    .map(|range| Ingress::port("tcp", API_PORT, *range)),
            );
        }
    }
    rules.push(Ingress {
        protocol: "tcp",
        ports: Some((2379, 2380)),
        from: None,
    });
    rules.extend(common(nodes, network_driver, ssh));
    rules
}

/// The rules of workers. Service ports are open to the node subnet, from where load balancers come; the cloud controller adds its own.
#[must_use]
pub fn worker_rules(nodes: IpNet, network_driver: &str, ssh: &[IpNet]) -> Vec<Ingress> {
    let mut rules = common(nodes, network_driver, ssh);
    rules.push(Ingress::port("tcp", 10_256, nodes));
    rules.push(Ingress::range("tcp", 30_000, 32_767, nodes));
    rules.push(Ingress::range("udp", 30_000, 32_767, nodes));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn open_ports(rules: &[Ingress]) -> Vec<(u16, u16)> {
        rules
            .iter()
            .filter(|rule| rule.from.is_some_and(|range| range.prefix_len() == 0))
            .filter_map(|rule| rule.ports)
            .collect()
    }

    #[test]
    fn only_the_api_is_open_to_the_world() {
        let nodes = net("10.0.0.0/24");
        for driver in ["flannel", "calico", "cilium", "none"] {
            let control_plane = control_plane_rules(nodes, driver, &[], &[], true);
            assert_eq!(open_ports(&control_plane), [(6443, 6443)]);
            assert!(open_ports(&worker_rules(nodes, driver, &[])).is_empty());
            let hidden = control_plane_rules(nodes, driver, &[], &[], false);
            assert!(open_ports(&hidden).is_empty());
        }
    }

    #[test]
    fn etcd_is_open_to_control_plane_nodes_only() {
        let nodes = net("10.0.0.0/24");
        let reaches = |rules: &[Ingress], port: u16| {
            rules
                .iter()
                .filter(|r| {
                    r.protocol == "tcp" && r.ports.is_some_and(|(a, b)| a <= port && port <= b)
                })
                .map(|r| r.from)
                .collect::<Vec<_>>()
        };
        let control_plane = control_plane_rules(nodes, "flannel", &[], &[], true);
        assert_eq!(reaches(&control_plane, 2379), [None]);
        assert_eq!(reaches(&control_plane, 10_250), [Some(nodes)]);
        assert!(reaches(&worker_rules(nodes, "flannel", &[]), 2379).is_empty());
    }

    #[test]
    fn nl_08_allowed_ranges_keep_the_cluster_itself_in() {
        let nodes = net("10.0.0.0/24");
        let rules = control_plane_rules(nodes, "flannel", &[], &[net("192.0.2.0/24")], true);
        let api: Vec<_> = rules
            .iter()
            .filter(|r| r.ports == Some((API_PORT, API_PORT)))
            .filter_map(|r| r.from)
            .collect();
        assert_eq!(api, [nodes, net("192.0.2.0/24")]);
    }

    #[test]
    fn rules_of_ipv6_networks_say_so() {
        let nodes = net("2001:db8::/64");
        let rule = Ingress {
            protocol: "icmp",
            ports: None,
            from: Some(nodes),
        };
        let json = rule.to_value(nodes).into_json();
        assert_eq!(json["ethertype"], "IPv6");
        assert_eq!(json["protocol"], "ipv6-icmp");
    }
}
