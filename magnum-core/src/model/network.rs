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
                if range.contains(&other.network()) || other.contains(&range.network()) {
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
}
