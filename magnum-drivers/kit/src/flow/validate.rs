//! Checks of a change without a cloud.

use magnum_core::driver::{Change, ClusterView};
use magnum_core::{NodeGroup, NodeGroupRole, Problems, ServerType};

use super::addons::plain_values;
use crate::config::DriverConfig;
use crate::labels::DriverLabels;

/// What one driver allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverLimits {
    /// The driver's name, for texts.
    pub driver: &'static str,
    /// Kinds of machines that may be control-plane nodes.
    pub control_plane: &'static [ServerType],
    /// Kinds of machines that may be workers.
    pub workers: &'static [ServerType],
}

/// Finds everything wrong with a change. Pure.
///
/// # Errors
/// All problems at once.
pub fn validate(
    limits: &DriverLimits,
    config: &DriverConfig,
    view: &ClusterView,
    change: &Change,
) -> Result<(), Problems> {
    let mut problems = Problems::new();
    match change {
        Change::Create => {
            cluster(limits, config, view, &mut problems);
            for each in &view.node_groups {
                group(limits, each, &mut problems);
            }
        }
        Change::CreateNodeGroup { node_group } => {
            if let Some(each) = view.node_group(*node_group) {
                group(limits, each, &mut problems);
            }
        }
        _ => {}
    }
    problems.into_result()
}

fn cluster(
    limits: &DriverLimits,
    config: &DriverConfig,
    view: &ClusterView,
    problems: &mut Problems,
) {
    let spec = &view.cluster.spec;
    let labels = DriverLabels::read(&view.cluster.labels.effective);
    let prefix = labels
        .as_ref()
        .ok()
        .and_then(|labels| labels.image_prefix.clone());
    problems.absorb(labels.map(drop));
    if let Err(error) = config.access.addons().addons(&plain_values(view, prefix)) {
        problems.add("network_driver", &spec.network_driver, error.to_string());
    }
    if spec.docker_volume_size.is_some_and(|size| size > 0) {
        problems.add(
            "docker_volume_size",
            spec.docker_volume_size.unwrap_or_default(),
            format!(
                "the driver {} has no extra volumes for containers",
                limits.driver
            ),
        );
    }
    if view
        .cluster
        .labels
        .effective
        .get("etcd_volume_size")
        .is_some_and(|size| !matches!(size.trim(), "" | "0"))
    {
        problems.add(
            "labels.etcd_volume_size",
            view.cluster
                .labels
                .effective
                .get("etcd_volume_size")
                .unwrap_or_default(),
            format!("the driver {} keeps etcd on the root disk", limits.driver),
        );
    }
    let masters = view.control_plane().map_or(0, |group| group.node_count);
    if masters.is_multiple_of(2) {
        problems.add("master_count", masters, "must be odd");
    }
    if masters > 1 && !spec.master_lb.enabled {
        problems.add(
            "master_count",
            masters,
            "several control-plane nodes need master_lb_enabled",
        );
    }
    let bare_metal = view
        .node_groups
        .iter()
        .any(|group| group.spec.server_type == ServerType::BareMetal);
    if bare_metal && spec.fixed_network.is_none() && spec.fixed_subnet.is_none() {
        problems.add("fixed_network", "", "must be given for bare metal nodes");
    }
}

fn group(limits: &DriverLimits, group: &NodeGroup, problems: &mut Problems) {
    let allowed = match group.role {
        NodeGroupRole::ControlPlane => limits.control_plane,
        NodeGroupRole::Worker => limits.workers,
    };
    if !allowed.contains(&group.spec.server_type) {
        problems.add(
            format!("node group {} server_type", group.name),
            group.spec.server_type.as_str(),
            format!(
                "the driver {} does not build such nodes for it",
                limits.driver
            ),
        );
    }
    match DriverLabels::read(&group.spec.labels) {
        Ok(labels) => {
            if labels.boot_volume_size > 0 && group.spec.server_type == ServerType::BareMetal {
                problems.add(
                    format!("node group {} labels.boot_volume_size", group.name),
                    labels.boot_volume_size,
                    "bare metal nodes have no boot volumes",
                );
            }
        }
        // Labels of default groups are the cluster's own, which are reported once.
        Err(wrong) if !group.is_default => problems.absorb(Err(wrong)),
        Err(_) => {}
    }
}
