//! The address ranges of a cluster.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{Labels, Problems};

/// Which ranges nodes, pods and services use. They never overlap (rule `NL-06`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPlan {
    /// The range of the subnet that is made for the nodes. Not used where a subnet is given: its own range holds then.
    pub nodes: IpNet,
    /// The pods' range.
    pub pods: IpNet,
    /// The services' range.
    pub services: IpNet,
}

/// Magnum's defaults: nodes `10.0.0.0/24`, pods `10.100.0.0/16`, services `10.254.0.0/16`.
impl Default for NetworkPlan {
    fn default() -> Self {
        let range = |text: &str| text.parse().expect("the default range is valid");
        Self {
            nodes: range("10.0.0.0/24"),
            pods: range("10.100.0.0/16"),
            services: range("10.254.0.0/16"),
        }
    }
}

impl NetworkPlan {
    /// Label naming the range of the nodes' subnet.
    pub const NODES_LABEL: &'static str = "fixed_subnet_cidr";
    /// Label naming the pods' range, beside the driver-specific ones that Magnum has.
    pub const PODS_LABELS: [&'static str; 3] = [
        "pods_network_cidr",
        "flannel_network_cidr",
        "calico_ipv4pool",
    ];
    /// Label naming the services' range.
    pub const SERVICES_LABEL: &'static str = "service_cluster_ip_range";

    /// Reads the ranges from labels: nodes `10.0.0.0/24`, pods `10.100.0.0/16`, services `10.254.0.0/16` where none is named (Magnum's defaults).
    ///
    /// # Errors
    /// Every label that is no address range, and every pair of ranges that overlap.
    pub fn from_labels(labels: &Labels) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let nodes = labels.cidr(Self::NODES_LABEL, &mut problems);
        let pods = Self::PODS_LABELS
            .iter()
            .find_map(|key| labels.cidr(key, &mut problems));
        let services = labels.cidr(Self::SERVICES_LABEL, &mut problems);
        let default = Self::default();
        let plan = Self {
            nodes: nodes.unwrap_or(default.nodes),
            pods: pods.unwrap_or(default.pods),
            services: services.unwrap_or(default.services),
        };
        problems.absorb(plan.check_overlaps(&[]));
        problems.into_result()?;
        Ok(plan)
    }

    /// As [`from_labels`](Self::from_labels), with no range overlapping one of `reserved`. A range that labels name and that does is refused,
    /// with a free one in the text; a default one is moved to a free range of the same size in the private address space of RFC 1918.
    ///
    /// # Errors
    /// As [`from_labels`](Self::from_labels), and where no free range is left.
    pub fn avoiding(labels: &Labels, reserved: &[IpNet]) -> Result<Self, Problems> {
        let mut plan = Self::from_labels(labels)?;
        let mut problems = Problems::new();
        let named = [
            labels.get(Self::NODES_LABEL).is_some(),
            Self::PODS_LABELS
                .iter()
                .any(|key| labels.get(key).is_some()),
            labels.get(Self::SERVICES_LABEL).is_some(),
        ];
        for (index, field) in ["nodes range", "pods range", "services range"]
            .into_iter()
            .enumerate()
        {
            let own = plan.all()[index];
            let Some(taken) = reserved.iter().find(|range| overlap(range, &own)) else {
                continue;
            };
            let others = plan.all().into_iter().enumerate();
            let others = others.filter(|(other, _)| *other != index).map(|(_, o)| o);
            let used: Vec<IpNet> = others.chain(reserved.iter().copied()).collect();
            match (free_range(own.prefix_len(), &used), named[index]) {
                (Some(free), false) => *plan.all_mut()[index] = free,
                (free, _) => {
                    let hint = free.map_or_else(
                        || "no private range of this size is free".to_owned(),
                        |free| format!("{free} is free"),
                    );
                    let rule = format!("must not overlap the reserved range {taken}; {hint}");
                    problems.add(field, own, rule);
                }
            }
        }
        problems.into_result()?;
        Ok(plan)
    }

    const fn all(&self) -> [IpNet; 3] {
        [self.nodes, self.pods, self.services]
    }

    fn all_mut(&mut self) -> [&mut IpNet; 3] {
        [&mut self.nodes, &mut self.pods, &mut self.services]
    }

    /// Checks the three ranges against each other and against `others` (each with the name under which it is reported).
    ///
    /// # Errors
    /// One problem for every overlapping pair, naming both.
    pub fn check_overlaps(&self, others: &[(&str, IpNet)]) -> Result<(), Problems> {
        let mut ranges = vec![
            ("nodes", self.nodes),
            ("pods", self.pods),
            ("services", self.services),
        ];
        ranges.extend_from_slice(others);
        let mut problems = Problems::new();
        for (index, (name, range)) in ranges.iter().enumerate() {
            for (other_name, other) in &ranges[index + 1..] {
                if overlap(range, other) {
                    problems.add(
                        format!("{name} range"),
                        range,
                        format!("must not overlap the {other_name} range {other}"),
                    );
                }
            }
        }
        problems.into_result()
    }
}

fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(&other.network()) || other.contains(&one.network())
}

/// The first range with this prefix in the private address space that overlaps none of `used`.
fn free_range(prefix: u8, used: &[IpNet]) -> Option<IpNet> {
    const PRIVATE: [([u8; 4], u8); 3] = [
        ([10, 0, 0, 0], 8),
        ([172, 16, 0, 0], 12),
        ([192, 168, 0, 0], 16),
    ];
    for (network, length) in PRIVATE {
        if prefix < length || prefix > 32 {
            continue;
        }
        let size = 1u64 << (32 - prefix);
        let start = u64::from(u32::from_be_bytes(network));
        let end = start + (1u64 << (32 - length));
        let mut at = start;
        while at < end {
            let address = std::net::Ipv4Addr::from(u32::try_from(at).ok()?);
            let range = IpNet::new(address.into(), prefix).ok()?;
            let Some(taken) = used.iter().find(|taken| overlap(taken, &range)) else {
                return Some(range);
            };
            // On to the first place behind the one that is in the way.
            let behind = match taken.broadcast() {
                std::net::IpAddr::V4(last) => u64::from(u32::from(last)) + 1,
                std::net::IpAddr::V6(_) => at + size,
            };
            at = behind.max(at + 1).div_ceil(size) * size;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nl_06_overlapping_ranges_are_refused_naming_both() {
        let read = |text: &str| NetworkPlan::from_labels(&text.parse().unwrap());
        let error =
            read("pods_network_cidr=10.100.0.0/16,service_cluster_ip_range=10.100.128.0/17")
                .unwrap_err()
                .to_string();
        assert!(
            error.contains("10.100.0.0/16") && error.contains("10.100.128.0/17"),
            "{error}"
        );
        assert!(read("").is_ok());
        assert!(read("fixed_subnet_cidr=10.0.0.1/33").is_err());
    }

    #[test]
    fn nl_06_no_range_overlaps_a_reserved_one() {
        let ranges = |texts: &[&str]| -> Vec<IpNet> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let plan = |labels: &str, reserved: &[&str]| {
            NetworkPlan::avoiding(&labels.parse().unwrap(), &ranges(reserved))
        };
        assert_eq!(plan("", &[]).unwrap(), NetworkPlan::default());
        let moved = plan("", &["10.0.0.0/16", "10.100.7.0/24"]).unwrap();
        assert_eq!(moved.nodes.to_string(), "10.1.0.0/24");
        assert_eq!(moved.pods.to_string(), "10.2.0.0/16");
        assert_eq!(moved.services, NetworkPlan::default().services);
        moved.check_overlaps(&[]).unwrap();
        let elsewhere = plan("", &["10.0.0.0/8"]).unwrap();
        assert_eq!(elsewhere.nodes.to_string(), "172.16.0.0/24");
        assert!(elsewhere.pods.to_string().starts_with("172."));
        let error = plan("pods_network_cidr=10.9.0.0/16", &["10.0.0.0/8"]).unwrap_err();
        assert_eq!(error.len(), 1, "{error}");
        assert!(error.to_string().contains("is free"), "{error}");
        let all = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
        assert_eq!(plan("", &all).unwrap_err().len(), 3);
    }
}
