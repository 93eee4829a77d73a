//! Changes of one node group of a cluster that stands.

use magnum_core::driver::{Advance, Change, DriverError};
use magnum_core::{MemberId, NodeGroupId};

use super::delete::delete_group;
use super::group::{Goal, GroupWork};
use super::round::Round;
use crate::lookup::resolve;

fn group<'a>(
    round: &Round<'a>,
    id: NodeGroupId,
) -> Result<&'a magnum_core::NodeGroup, DriverError> {
    round
        .view
        .node_group(id)
        .ok_or_else(|| DriverError::internal(format!("node group {id} is not in the cluster")))
}

/// Brings a group to a size.
pub(super) async fn resize(
    round: &Round<'_>,
    id: NodeGroupId,
    wanted: u32,
    remove: &[MemberId],
    change: &Change,
) -> Result<Advance, DriverError> {
    work(
        round,
        id,
        &Goal {
            wanted,
            named: remove.to_vec(),
            new_first: false,
        },
        change,
    )
    .await
}

/// Puts a new member in the place of one; its size stays.
pub(super) async fn replace(
    round: &Round<'_>,
    id: NodeGroupId,
    member: &MemberId,
    change: &Change,
) -> Result<Advance, DriverError> {
    let wanted = group(round, id)?.node_count;
    work(
        round,
        id,
        &Goal {
            wanted,
            named: vec![member.clone()],
            new_first: true,
        },
        change,
    )
    .await
}

/// Makes a group that the view lists.
pub(super) async fn create_group(
    round: &Round<'_>,
    id: NodeGroupId,
    change: &Change,
) -> Result<Advance, DriverError> {
    let wanted = group(round, id)?.node_count;
    work(
        round,
        id,
        &Goal {
            wanted,
            ..Goal::default()
        },
        change,
    )
    .await
}

async fn work(
    round: &Round<'_>,
    id: NodeGroupId,
    goal: &Goal,
    change: &Change,
) -> Result<Advance, DriverError> {
    let memo = round.load_cluster().await?;
    let group = group(round, id)?;
    let mut work = GroupWork::new(round, group, &memo).await?;
    if !work.has_facts() {
        let found = resolve(&round.session, round.view, change).await?;
        if let Some(facts) = found.groups.get(&id) {
            work.set_facts(facts.clone());
        }
    }
    Ok(work.pass(goal).await?.into_advance())
}

/// Removes a group with all its members: their pods move away first. One that the view does not list any more is gone.
pub(super) async fn remove_group(
    round: &Round<'_>,
    id: NodeGroupId,
) -> Result<Advance, DriverError> {
    let Some(group) = round.view.node_group(id) else {
        return Ok(Advance::Done);
    };
    let memo = round.load_cluster().await?;
    if memo.outputs.is_some() {
        let mut work = GroupWork::new(round, group, &memo).await?;
        if !work.memo.members.is_empty() && work.has_facts() {
            let step = work.pass(&Goal::default()).await?;
            if !matches!(step, super::step::Step::Done | super::step::Step::Failed(_)) {
                return Ok(step.into_advance());
            }
        }
    }
    delete_group(round, group).await
}
