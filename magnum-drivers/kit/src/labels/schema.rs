//! Reading the labels.

use std::str::FromStr;

use ipnet::IpNet;
use magnum_core::{Labels, Problems};
use serde::{Deserialize, Serialize};

use super::{BalancingMethod, method_for};

/// The labels of a cluster or node group as typed values; what is not set is `None` or the documented default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverLabels {
    /// Zone of servers, and of volumes where they have none of their own.
    pub availability_zone: Option<String>,
    /// Size of a boot volume in GiB; 0 means the flavor's own disk.
    pub boot_volume_size: u32,
    /// Its type.
    pub boot_volume_type: Option<String>,
    /// Its zone.
    pub boot_volume_zone: Option<String>,
    /// Load balancer provider.
    pub lb_provider: Option<String>,
    /// Balancing method.
    pub lb_method: Option<BalancingMethod>,
    /// Who may reach the API through the load balancer; empty means everybody.
    pub api_allowed_cidrs: Vec<IpNet>,
    /// Further names and addresses in the API's certificate.
    pub api_cert_sans: Vec<String>,
    /// Policy of the server groups.
    pub server_group_policy: String,
    /// Registry prefix of all images.
    pub image_prefix: Option<String>,
    /// Whether the OpenStack cloud controller is installed.
    pub cloud_provider: bool,
    /// DNS domain of the cluster.
    pub dns_domain: String,
    /// Who may reach port 22 of nodes; empty means nobody outside the cluster.
    pub ssh_cidrs: Vec<IpNet>,
    /// Whether nodes signal their bootstrap's progress to Heat.
    pub signals: bool,
}

impl DriverLabels {
    /// Reads them.
    ///
    /// # Errors
    /// Every label of a wrong type or out of range, all at once.
    pub fn read(labels: &Labels) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let read = Self::collect(labels, &mut problems);
        problems.into_result()?;
        Ok(read)
    }

    fn collect(labels: &Labels, problems: &mut Problems) -> Self {
        let boot_volume_size = labels.number("boot_volume_size", problems).unwrap_or(0);
        if boot_volume_size > 16_384 {
            problems.add(
                "labels.boot_volume_size",
                boot_volume_size,
                "must be at most 16384 GiB",
            );
        }
        let lb_provider = text(labels, "octavia_provider");
        let lb_method = labels.parse(
            "octavia_lb_algorithm",
            "must be ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP or SOURCE_IP_PORT",
            problems,
        );
        if let (Some(provider), Some(_)) = (&lb_provider, lb_method)
            && let Err(problem) = method_for(provider, lb_method)
        {
            problems.add(
                "labels.octavia_lb_algorithm",
                labels.get("octavia_lb_algorithm").unwrap_or_default(),
                problem.to_string(),
            );
        }
        if labels.switch("octavia_lb_healthcheck", problems) == Some(false) {
            problems.add(
                "labels.octavia_lb_healthcheck",
                "false",
                "must be true: every pool has a health monitor",
            );
        }
        let mut api_allowed_cidrs = list::<IpNet>(
            labels,
            "master_lb_allowed_cidrs",
            "must be address ranges such as 10.0.0.0/8, separated by commas",
            problems,
        );
        api_allowed_cidrs.extend(list::<IpNet>(
            labels,
            "api_master_lb_allowed_cidrs",
            "must be address ranges such as 10.0.0.0/8, separated by commas",
            problems,
        ));
        let server_group_policy =
            text(labels, "server_group_policies").unwrap_or_else(|| "soft-anti-affinity".into());
        if !matches!(
            server_group_policy.as_str(),
            "soft-anti-affinity" | "anti-affinity" | "soft-affinity" | "affinity"
        ) {
            problems.add(
                "labels.server_group_policies",
                &server_group_policy,
                "must be one of soft-anti-affinity, anti-affinity, soft-affinity, affinity",
            );
        }
        let dns_domain =
            text(labels, "dns_cluster_domain").unwrap_or_else(|| "cluster.local".into());
        if !is_dns_name(&dns_domain) {
            problems.add(
                "labels.dns_cluster_domain",
                &dns_domain,
                "must be a DNS name",
            );
        }
        let api_cert_sans = list::<String>(labels, "api_server_cert_sans", "", problems);
        for name in &api_cert_sans {
            if name.parse::<std::net::IpAddr>().is_err() && !is_dns_name(name) {
                problems.add(
                    "labels.api_server_cert_sans",
                    name,
                    "must be DNS names or addresses, separated by commas",
                );
            }
        }
        let availability_zone = text(labels, "availability_zone");
        Self {
            boot_volume_size,
            boot_volume_type: text(labels, "boot_volume_type"),
            boot_volume_zone: text(labels, "boot_volume_availability_zone")
                .or_else(|| availability_zone.clone()),
            availability_zone,
            lb_provider,
            lb_method,
            api_allowed_cidrs,
            api_cert_sans,
            server_group_policy,
            image_prefix: text(labels, "container_infra_prefix")
                .map(|prefix| prefix.trim_end_matches('/').to_owned()),
            cloud_provider: labels
                .switch("cloud_provider_enabled", problems)
                .unwrap_or(true),
            dns_domain,
            ssh_cidrs: list(
                labels,
                "node_ssh_cidrs",
                "must be address ranges such as 10.0.0.0/8, separated by commas",
                problems,
            ),
            signals: labels
                .switch("node_signals_enabled", problems)
                .unwrap_or(true),
        }
    }
}

/// A label's text; blank is the same as absent.
fn text(labels: &Labels, key: &str) -> Option<String> {
    let value = labels.get(key)?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// A label's comma-separated items; blanks around them are ignored, a bad one is noted.
fn list<T: FromStr>(labels: &Labels, key: &str, rule: &str, problems: &mut Problems) -> Vec<T> {
    let Some(value) = text(labels, key) else {
        return Vec::new();
    };
    value
        .split(',')
        .map(str::trim)
        .filter_map(|item| {
            let read = item.parse().ok();
            if read.is_none() {
                problems.add(format!("labels.{key}"), item, rule);
            }
            read
        })
        .collect()
}

fn is_dns_name(name: &str) -> bool {
    name.len() <= 253
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &str) -> Result<DriverLabels, Problems> {
        DriverLabels::read(&labels.parse().unwrap())
    }

    #[test]
    fn labels_of_a_wrong_type_are_all_reported() {
        let problems = read(
            "boot_volume_size=big,octavia_lb_algorithm=FASTEST,cloud_provider_enabled=maybe,\
             master_lb_allowed_cidrs=10.0.0.0/8,x,dns_cluster_domain=-a-,server_group_policies=near",
        )
        .unwrap_err();
        let fields: Vec<_> = problems.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "labels.boot_volume_size",
                "labels.octavia_lb_algorithm",
                "labels.master_lb_allowed_cidrs",
                "labels.server_group_policies",
                "labels.dns_cluster_domain",
                "labels.cloud_provider_enabled",
            ]
        );
    }

    #[test]
    fn nl_09_ovn_with_another_method_is_refused() {
        assert!(read("octavia_provider=ovn,octavia_lb_algorithm=ROUND_ROBIN").is_err());
        assert!(read("octavia_provider=ovn").is_ok());
    }

    #[test]
    fn nl_08_allowed_ranges_are_a_list() {
        let labels = read("master_lb_allowed_cidrs=10.0.0.0/8, 192.0.2.0/24").unwrap();
        assert_eq!(labels.api_allowed_cidrs.len(), 2);
    }

    #[test]
    fn st_03_volumes_follow_the_zone_unless_they_have_one() {
        assert_eq!(
            read("availability_zone=az2")
                .unwrap()
                .boot_volume_zone
                .as_deref(),
            Some("az2")
        );
        assert_eq!(
            read("availability_zone=az2,boot_volume_availability_zone=nova")
                .unwrap()
                .boot_volume_zone
                .as_deref(),
            Some("nova")
        );
        assert_eq!(read("unknown=kept").unwrap().boot_volume_zone, None);
    }
}
