//! What a change needs of the project's quotas at its peak.

use magnum_core::driver::{Change, ClusterView, QuotaNeed};
use magnum_core::{NodeGroup, NodeGroupRole, Problems, ServerType};

/// Needs in numbers, without the flavors' sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuotaNeeds {
    /// Servers by group name, with the group's flavor.
    pub servers: Vec<(String, String, u64)>,
    /// Ports.
    pub ports: u64,
    /// Networks.
    pub networks: u64,
    /// Subnets.
    pub subnets: u64,
    /// Routers.
    pub routers: u64,
    /// Floating addresses.
    pub floating_ips: u64,
    /// Security groups.
    pub security_groups: u64,
    /// Load balancers.
    pub load_balancers: u64,
    /// Volumes.
    pub volumes: u64,
    /// Size of those volumes in GiB.
    pub gigabytes: u64,
}

impl QuotaNeeds {
    /// The servers in all.
    #[must_use]
    pub fn server_count(&self) -> u64 {
        self.servers.iter().map(|(_, _, count)| count).sum()
    }

    /// As the plan of a dry run lists them; what is not needed is left out.
    #[must_use]
    pub fn to_plan(&self) -> Vec<QuotaNeed> {
        [
            ("compute", "instances", self.server_count()),
            ("network", "ports", self.ports),
            ("network", "networks", self.networks),
            ("network", "subnets", self.subnets),
            ("network", "routers", self.routers),
            ("network", "floating addresses", self.floating_ips),
            ("network", "security groups", self.security_groups),
            ("load-balancer", "load balancers", self.load_balancers),
            ("block-storage", "volumes", self.volumes),
            ("block-storage", "gigabytes", self.gigabytes),
        ]
        .into_iter()
        .filter(|(_, _, amount)| *amount > 0)
        .map(|(service, resource, amount)| QuotaNeed {
            service: service.to_owned(),
            resource: resource.to_owned(),
            amount,
        })
        .collect()
    }
}

/// The needs of a change: new members (one more than in the end where new ones come first), and for a creation the infrastructure.
#[must_use]
pub fn needs_of(view: &ClusterView, change: &Change) -> QuotaNeeds {
    let mut needs = QuotaNeeds::default();
    match change {
        Change::Create => {
            for group in &view.node_groups {
                add_members(&mut needs, group, u64::from(group.node_count));
            }
            infrastructure(&mut needs, view);
        }
        Change::CreateNodeGroup { node_group } => {
            if let Some(group) = view.node_group(*node_group) {
                add_members(&mut needs, group, u64::from(group.node_count));
            }
        }
        Change::Resize {
            node_group,
            node_count,
            remove,
        } => {
            if let Some(group) = view.node_group(*node_group) {
                let staying = group
                    .members
                    .iter()
                    .filter(|member| !remove.contains(&member.id))
                    .count();
                let more = u64::from(*node_count).saturating_sub(staying as u64);
                add_members(&mut needs, group, more);
            }
        }
        Change::ReplaceNode { node_group, .. } => {
            if let Some(group) = view.node_group(*node_group)
                && group.spec.server_type == ServerType::Vm
            {
                add_members(&mut needs, group, 1);
            }
        }
        _ => {}
    }
    needs
}

fn add_members(needs: &mut QuotaNeeds, group: &NodeGroup, count: u64) {
    if count == 0 {
        return;
    }
    needs
        .servers
        .push((group.name.to_string(), group.spec.flavor.clone(), count));
    needs.ports += count;
    let boot = group
        .spec
        .labels
        .number("boot_volume_size", &mut Problems::new())
        .unwrap_or(0);
    if boot > 0 && group.spec.server_type == ServerType::Vm {
        needs.volumes += count;
        needs.gigabytes += count * u64::from(boot);
    }
}

fn infrastructure(needs: &mut QuotaNeeds, view: &ClusterView) {
    let spec = &view.cluster.spec;
    if spec.fixed_network.is_none() && spec.fixed_subnet.is_none() {
        needs.networks += 1;
        needs.subnets += 1;
        needs.ports += 2;
        if spec.external_network.is_some() {
            needs.routers += 1;
        }
    }
    needs.security_groups += 2;
    if spec.master_lb.enabled {
        needs.load_balancers += 1;
        needs.ports += 1;
    }
    let floating = if spec.master_lb.enabled {
        spec.master_lb.floating_ip
    } else {
        spec.floating_ip_enabled
    };
    if floating && spec.external_network.is_some() {
        needs.floating_ips += 1;
    }
    debug_assert!(
        view.node_groups
            .iter()
            .filter(|group| group.role == NodeGroupRole::ControlPlane)
            .count()
            <= 1,
        "a cluster has one control plane"
    );
}

/// Compares one need with what is free; `None` is unlimited.
pub(super) fn compare(
    service: &str,
    resource: &str,
    need: u64,
    limit: i64,
    used: i64,
    problems: &mut Problems,
) {
    if limit < 0 || need == 0 {
        return;
    }
    let after = used.saturating_add(i64::try_from(need).unwrap_or(i64::MAX));
    if after > limit {
        problems.add(
            format!("{service} quota"),
            resource,
            format!("{used} of {limit} used, needs {need} more"),
        );
    }
}
