//! The dry run: what a change would do, in words and needs.

use magnum_core::driver::{Change, ClusterView, Plan, PlannedAction};
use magnum_core::{MemberId, NodeGroup, ServerType};

use super::round::group_text;
use crate::lookup::needs_of;
use crate::members::Names;

/// What `change` would do. Pure.
#[must_use]
pub fn plan(view: &ClusterView, change: &Change) -> Plan {
    let names = Names::of(&view.cluster);
    let mut actions = Vec::new();
    match change {
        Change::Create => {
            actions.push(PlannedAction::Create(format!(
                "infrastructure: stack {}",
                names.infrastructure_stack()
            )));
            for group in &view.node_groups {
                actions.push(PlannedAction::Create(nodes(group, group.node_count)));
            }
        }
        Change::CreateNodeGroup { node_group } => {
            if let Some(group) = view.node_group(*node_group) {
                actions.push(PlannedAction::Create(nodes(group, group.node_count)));
            }
        }
        Change::DeleteNodeGroup { node_group } => {
            if let Some(group) = view.node_group(*node_group) {
                let members = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
                actions.push(PlannedAction::Delete(nodes(group, members)));
            }
        }
        Change::Resize {
            node_group,
            node_count,
            remove,
        } => {
            if let Some(group) = view.node_group(*node_group) {
                resize(&mut actions, group, *node_count, remove);
            }
        }
        Change::ReplaceNode { node_group, member } => {
            if let Some(group) = view.node_group(*node_group) {
                let order = match group.spec.server_type {
                    ServerType::Vm => "the new one first",
                    ServerType::BareMetal => "the old one first",
                };
                actions.push(PlannedAction::Replace(format!(
                    "{}: node {}, {order}",
                    group_text(group),
                    names.server(&group.name, member)
                )));
            }
        }
        Change::Delete => {
            for group in &view.node_groups {
                let members = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
                actions.push(PlannedAction::Delete(nodes(group, members)));
            }
            actions.push(PlannedAction::Delete(
                "load balancers and volumes that the cluster made".to_owned(),
            ));
            actions.push(PlannedAction::Delete("infrastructure".to_owned()));
        }
        _ => {}
    }
    Plan {
        actions,
        quota: needs_of(view, change).to_plan(),
    }
}

fn nodes(group: &NodeGroup, count: u32) -> String {
    let plural = if count == 1 { "node" } else { "nodes" };
    format!("{}: {count} {plural}", group_text(group))
}

fn resize(
    actions: &mut Vec<PlannedAction>,
    group: &NodeGroup,
    node_count: u32,
    remove: &[MemberId],
) {
    let have = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
    let named = u32::try_from(
        group
            .members
            .iter()
            .filter(|member| remove.contains(&member.id))
            .count(),
    )
    .unwrap_or(u32::MAX);
    let staying = have - named;
    let go = named + staying.saturating_sub(node_count);
    let come = node_count.saturating_sub(staying);
    if go > 0 {
        actions.push(PlannedAction::Delete(nodes(group, go)));
    }
    if come > 0 {
        actions.push(PlannedAction::Create(nodes(group, come)));
    }
}
