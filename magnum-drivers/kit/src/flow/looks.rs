//! Looking at a cluster without changing it: its members, its health.

use std::collections::BTreeMap;

use magnum_core::driver::DriverError;
use magnum_core::{Health, Member, MemberPhase, NodeGroupId};

use super::observe::{approve_serving, follow_nodes, serving_members};
use super::round::Round;
use crate::members::MemberStage;

/// The members of a group as memo and cluster know them now.
pub(super) async fn members(
    round: &Round<'_>,
    id: NodeGroupId,
) -> Result<Vec<Member>, DriverError> {
    let Some(group) = round.view.node_group(id) else {
        return Ok(Vec::new());
    };
    let memo = round.load_cluster().await?;
    let mut group_memo = round.load_group(group).await?;
    let observed = round.observed(&memo).await?;
    follow_nodes(&mut group_memo.members, observed, round.now());
    Ok(group_memo.to_members())
}

/// The cluster's health. Serving certificates that known members ask for meanwhile are approved on the way.
pub(super) async fn health(round: &Round<'_>) -> Result<(Health, Option<String>), DriverError> {
    let memo = round.load_cluster().await?;
    let Some(outputs) = &memo.outputs else {
        return Ok((
            Health::Unknown,
            Some("the cluster has no API yet".to_owned()),
        ));
    };
    let observed = round.observed(&memo).await?;
    if !observed.reachable {
        let why = observed.problem.clone().unwrap_or_default();
        return Ok((
            Health::Unknown,
            Some(format!("the API does not answer: {why}")),
        ));
    }
    let mut problems = Vec::new();
    let mut known = BTreeMap::new();
    let mut total = 0usize;
    for group in &round.view.node_groups {
        let mut group_memo = round.load_group(group).await?;
        follow_nodes(&mut group_memo.members, observed, round.now());
        known.extend(serving_members(&group_memo.members));
        for member in &group_memo.members {
            if !member.stage.counts() {
                continue;
            }
            total += 1;
            if member.stage == MemberStage::NotReady {
                problems.push(format!(
                    "{}: {}",
                    member.name,
                    member.reason.as_deref().unwrap_or("not ready")
                ));
            } else if member.to_member().phase != MemberPhase::Ready {
                problems.push(format!(
                    "{} is {}",
                    member.name,
                    member.to_member().phase.as_str()
                ));
            }
        }
    }
    if !known.is_empty() {
        let client = round.client(outputs).await?;
        if let Err(error) = approve_serving(client, &known).await {
            tracing::debug!(%error, "serving certificates were not looked at");
        }
    }
    if total == 0 {
        return Ok((
            Health::Unhealthy,
            Some("the cluster has no nodes".to_owned()),
        ));
    }
    if problems.is_empty() {
        return Ok((Health::Healthy, None));
    }
    Ok((Health::Unhealthy, Some(problems.join("; "))))
}
