//! Making a cluster: infrastructure, first control-plane node, pod network and cloud provider, the other control-plane nodes one at a
//! time, then all worker groups side by side.

use magnum_core::NodeGroup;
use magnum_core::driver::{Advance, Cause, CauseKind, Change, DriverError};

use super::addons::{further_addons, required_addons};
use super::group::{Goal, GroupWork};
use super::infrastructure::infrastructure;
use super::round::Round;
use super::step::{Step, together};
use crate::credential::{self, CredentialMode};
use crate::lookup::resolve;
use crate::members::MemberStage;
use crate::memo::{AddonPhases, ClusterMemo, CredentialRecord};
use crate::stacks::API_PORT;

/// One advance of a creation.
pub(super) async fn create(round: &Round<'_>) -> Result<Advance, DriverError> {
    let mut memo = round.load_cluster().await?;
    if memo.created {
        return Ok(Advance::Done);
    }
    if round.cx.cancelled && memo.infrastructure.is_none() {
        return Ok(Step::failed(Cause {
            kind: CauseKind::Cancelled,
            sentence: "cancelled before anything was made".to_owned(),
            subject: None,
        })
        .into_advance());
    }
    look_up(round, &mut memo).await?;
    cloud_credential(round, &mut memo).await?;
    round.pki().await?;
    let step = infrastructure(round, &mut memo).await?;
    if step != Step::Done {
        return Ok(step.into_advance());
    }
    let control_plane = round
        .view
        .control_plane()
        .ok_or_else(|| DriverError::internal("the cluster has no control plane"))?;
    let step = control_plane_step(round, &mut memo, control_plane).await?;
    if step != Step::Done {
        return Ok(step.into_advance());
    }
    let mut steps = Vec::new();
    for group in round.view.workers() {
        let mut work = GroupWork::new(round, group, &memo).await?;
        steps.push(
            work.pass(&Goal {
                wanted: group.node_count,
                ..Goal::default()
            })
            .await?,
        );
    }
    let step = together(steps);
    if step != Step::Done {
        return Ok(step.into_advance());
    }
    let step = further_addons(round, &mut memo).await?;
    if step != Step::Done {
        return Ok(step.into_advance());
    }
    if round.view.cluster.facts.coe_version.is_none() {
        // A crash came between the memo and the report.
        report_reached(round, &memo).await?;
    }
    memo.created = true;
    round.save_cluster(&memo).await?;
    Ok(Advance::Done)
}

/// Looks everything up once and writes it down.
async fn look_up(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<(), DriverError> {
    if memo.facts.is_some() {
        return Ok(());
    }
    let found = resolve(&round.session, round.view, &Change::Create).await?;
    for group in &round.view.node_groups {
        let mut group_memo = round.load_group(group).await?;
        if group_memo.facts.is_none()
            && let Some(facts) = found.groups.get(&group.id)
        {
            group_memo.facts = Some(facts.clone());
            round.save_group(group, &group_memo).await?;
        }
    }
    memo.facts = found.cluster;
    round.save_cluster(memo).await
}

/// Makes the cluster's cloud credential; its name is written first.
async fn cloud_credential(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<(), DriverError> {
    if matches!(round.config.credential, CredentialMode::None) {
        return Ok(());
    }
    if memo.credential.as_ref().is_some_and(|c| c.id.is_some()) {
        return Ok(());
    }
    if memo.credential.is_none() {
        memo.credential = Some(CredentialRecord {
            name: round.names.credential(0),
            id: None,
            generation: 0,
        });
        round.save_cluster(memo).await?;
    }
    if let Some(record) = &mut memo.credential {
        credential::ensure(
            &round.session,
            round.cx.secrets().as_ref(),
            round.view.cluster.id,
            &round.config.credential,
            record,
        )
        .await?;
        if record.id.is_none() {
            record.id = Some(String::new());
        }
    }
    round.save_cluster(memo).await
}

/// Brings the control plane to its size, one node at a time.
async fn control_plane_step(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
    group: &NodeGroup,
) -> Result<Step, DriverError> {
    let total = group.node_count;
    let snapshot = memo.clone();
    let mut work = GroupWork::new(round, group, &snapshot).await?;
    let never_ready = work
        .memo
        .counting()
        .all(|member| !matches!(member.stage, MemberStage::Ready | MemberStage::NotReady));
    work = work.beginning_the_cluster(never_ready);
    let counting = u32::try_from(work.memo.counting().count()).unwrap_or(u32::MAX);
    let step = work
        .pass(&Goal {
            wanted: counting.clamp(1, total.max(1)),
            ..Goal::default()
        })
        .await?;
    if let Step::Failed(_) = step {
        return Ok(step);
    }
    let begins_anew = never_ready
        && work
            .memo
            .counting()
            .all(|member| matches!(member.stage, MemberStage::Planned | MemberStage::Building));
    if begins_anew && memo.api_reached {
        // The first node failed after its API had answered: what was installed went with it.
        memo.api_reached = false;
        memo.addons = AddonPhases::default();
        memo.first_signal = None;
        round.save_cluster(memo).await?;
    }
    if let Some(step) = reach(round, memo, &work).await? {
        return Ok(counted(step, work.memo.ready(), total));
    }
    if memo.api_reached {
        let step = required_addons(round, memo).await?;
        if step != Step::Done {
            return Ok(counted(step, work.memo.ready(), total));
        }
    }
    if step != Step::Done {
        return Ok(counted(step, work.memo.ready(), total));
    }
    let counting = u32::try_from(work.memo.counting().count()).unwrap_or(u32::MAX);
    if counting < total {
        work.grow().await?;
        let step = work.pass(&Goal::default()).await?;
        return Ok(counted(step, work.memo.ready(), total));
    }
    Ok(Step::Done)
}

/// The step's count and text in terms of the whole control plane.
fn counted(step: Step, ready: u32, total: u32) -> Step {
    match step {
        Step::Wait { after, .. } => Step::Wait {
            after,
            text: format!("control plane {ready} of {total} ready"),
            done: (ready, total),
        },
        other => other,
    }
}

/// Reports where the API is and which version answers there.
async fn report_reached(round: &Round<'_>, memo: &ClusterMemo) -> Result<(), DriverError> {
    let Some(outputs) = &memo.outputs else {
        return Ok(());
    };
    let client = round.client(outputs).await?;
    let version = client.version().await.ok().map(|v| v.git_version);
    round.report_facts(memo, version).await
}

/// Notes when the API answers for the first time, and fails where it does not although the first node says that it is up.
async fn reach(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
    work: &GroupWork<'_>,
) -> Result<Option<Step>, DriverError> {
    if memo.api_reached {
        return Ok(None);
    }
    let joining = work
        .memo
        .members
        .iter()
        .any(|member| matches!(member.stage, MemberStage::Joining | MemberStage::Ready));
    if !joining {
        return Ok(None);
    }
    let observed = round.observed(memo).await?;
    if observed.reachable {
        memo.api_reached = true;
        round.save_cluster(memo).await?;
        report_reached(round, memo).await?;
        return Ok(None);
    }
    let now = round.now();
    let done = work
        .memo
        .members
        .iter()
        .any(|member| member.signal.as_deref() == Some("done"));
    if done && memo.first_signal.is_none() {
        memo.first_signal = Some(now);
        round.save_cluster(memo).await?;
    }
    let waited = memo
        .first_signal
        .map(|signal| (now - signal).to_std().unwrap_or_default());
    let patience = round.config.patience.endpoint;
    if waited.is_some_and(|waited| waited >= patience) {
        let Some(outputs) = &memo.outputs else {
            return Ok(None);
        };
        let endpoint =
            crate::bootstrap::Endpoint::new(outputs.client_address().to_string(), API_PORT);
        let way = round
            .config
            .access
            .connector()
            .describe(round.view.cluster.id, &endpoint);
        return Ok(Some(Step::failed(Cause {
            kind: CauseKind::EndpointUnreachable,
            sentence: format!(
                "the Kubernetes API at https://{endpoint}, reached {way}, did not answer within {} minutes after the first control-plane node was up: {}",
                patience.as_secs() / 60,
                observed.problem.as_deref().unwrap_or("no answer")
            ),
            subject: Some("control plane".to_owned()),
        })));
    }
    Ok(Some(Step::wait(
        round.config.polls.nodes,
        "waiting for the first control-plane node",
    )))
}
