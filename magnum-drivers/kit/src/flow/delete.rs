//! Removing a cluster: what it made itself, its stacks, its credential, its secrets.

use magnum_core::driver::{Advance, Cause, CauseKind, DriverError};
use magnum_core::{NodeGroup, ServerType, WORK_CREDENTIAL};
use magnum_heat::hot::{Document, Files};
use magnum_heat::stack::{ListStacks, list_stacks};

use super::round::Round;
use super::step::{Step, together};
use super::sweep::{sweep_load_balancers, sweep_security_groups, sweep_volumes};
use crate::credential;
use crate::fault::cloud_error;
use crate::memo::{ClusterMemo, DeletionMemo, GroupMemo, StackIntent, StackRecord};
use crate::stack_ops::{StackLook, StackProblem, describe, look, submit};

/// How often a stack's deletion is asked for before the operation gives up (rule `OP-03`).
const ATTEMPTS: u32 = 3;

/// One advance of a deletion. Nothing made, or everything gone already, is success (rule `SM-05`).
pub(super) async fn delete(round: &Round<'_>) -> Result<Advance, DriverError> {
    let mut memo = round.load_cluster().await?;
    if memo.deletion.is_none() {
        memo.deletion = Some(DeletionMemo::default());
        round.save_cluster(&memo).await?;
    }
    for part in [
        Part::Workloads,
        Part::Groups,
        Part::Leavings,
        Part::Infrastructure,
        Part::Credential,
        Part::Secrets,
    ] {
        let step = match part {
            Part::Workloads => workloads(round, &mut memo).await?,
            Part::Groups => groups(round, &mut memo).await?,
            Part::Leavings => leavings(round, &mut memo).await?,
            Part::Infrastructure => infrastructure(round, &mut memo).await?,
            Part::Credential => cloud_credential(round, &mut memo).await?,
            Part::Secrets => secrets(round, &mut memo).await?,
        };
        if step != Step::Done {
            return Ok(step.into_advance());
        }
    }
    Ok(Advance::Done)
}

#[derive(Clone, Copy)]
enum Part {
    Workloads,
    Groups,
    Leavings,
    Infrastructure,
    Credential,
    Secrets,
}

fn deletion(memo: &mut ClusterMemo) -> &mut DeletionMemo {
    memo.deletion.get_or_insert_with(DeletionMemo::default)
}

/// Load balancers of the cluster's services: they hold ports in the network.
async fn workloads(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<Step, DriverError> {
    if deletion(memo).workloads_gone || memo.outputs.is_none() {
        return Ok(Step::Done);
    }
    if sweep_load_balancers(round).await? > 0 {
        return Ok(Step::wait(
            round.config.polls.stack,
            "removing load balancers of services",
        ));
    }
    deletion(memo).workloads_gone = true;
    round.save_cluster(memo).await?;
    Ok(Step::Done)
}

/// All stacks of node groups and control plane, and stacks with the mark that no memo knows, side by side.
async fn groups(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<Step, DriverError> {
    if deletion(memo).groups_gone {
        return Ok(Step::Done);
    }
    let mut steps = Vec::new();
    let mut known: Vec<String> = memo
        .infrastructure
        .iter()
        .map(|record| record.name.clone())
        .collect();
    for group in &round.view.node_groups {
        let mut group_memo = round.load_group(group).await?;
        known.extend(group_memo.shards.iter().map(|shard| shard.name.clone()));
        if group_memo.shards.is_empty() {
            continue;
        }
        steps.push(group_stacks(round, group, &mut group_memo).await?);
    }
    if !deletion(memo).strays_listed {
        let found = list_stacks(
            &round.session,
            ListStacks::new().with_tags([round.mark.as_str()]),
        )
        .await
        .map_err(cloud_error)?;
        let strays: Vec<StackRecord> = found
            .into_iter()
            .filter(|stack| !stack.status.is_gone() && !known.contains(&stack.name))
            .map(|stack| {
                let mut record = StackRecord::new(stack.name, Document::new(), Files::new());
                record.id = Some(stack.id);
                record.seen_updated = stack.updated;
                record
            })
            .collect();
        deletion(memo).strays = strays;
        deletion(memo).strays_listed = true;
        round.save_cluster(memo).await?;
    }
    let mut strays = std::mem::take(&mut deletion(memo).strays);
    for record in &mut strays {
        steps.push(remove_stack(round, record, ServerType::Vm).await?);
    }
    strays.retain(|record| record.intent.is_some() || record.failed);
    deletion(memo).strays = strays;
    let step = together(steps);
    if step == Step::Done {
        deletion(memo).groups_gone = true;
    }
    round.save_cluster(memo).await?;
    Ok(step)
}

async fn group_stacks(
    round: &Round<'_>,
    group: &NodeGroup,
    memo: &mut GroupMemo,
) -> Result<Step, DriverError> {
    let now = round.now();
    let begin = memo.shards.iter().any(needs_intent);
    if begin {
        for shard in &mut memo.shards {
            if needs_intent(shard) {
                shard.intend(StackIntent::Delete, now);
            }
        }
        for member in &mut memo.members {
            member.enter(crate::members::MemberStage::Leaving, now);
        }
        round.save_group(group, memo).await?;
    }
    let mut steps = Vec::new();
    for shard in &mut memo.shards {
        steps.push(remove_stack(round, shard, group.spec.server_type).await?);
    }
    let step = together(steps);
    if step == Step::Done {
        memo.members.clear();
        memo.shards.clear();
    }
    round.save_group(group, memo).await?;
    Ok(match step {
        Step::Wait { after, .. } => Step::wait(
            after,
            format!("removing {}", super::round::group_text(group)),
        ),
        other => other,
    })
}

/// Whether a deletion of the stack is still to be noted.
fn needs_intent(record: &StackRecord) -> bool {
    record.intent != Some(StackIntent::Delete) && (record.id.is_some() || record.intent.is_some())
}

/// One step of removing a stack: asked for, waited for, asked again a few times after a failure (rules `HC-02`, `HC-03`).
async fn remove_stack(
    round: &Round<'_>,
    record: &mut StackRecord,
    server_type: ServerType,
) -> Result<Step, DriverError> {
    if needs_intent(record) {
        record.intend(StackIntent::Delete, round.now());
    }
    if record.intent.is_none() {
        return Ok(Step::Done);
    }
    let wait = Step::wait(
        round.config.polls.stack,
        format!("removing stack {}", record.name),
    );
    let by = round.submission(server_type);
    if !record.accepted {
        return match submit(&by, record, false).await {
            Ok(()) if record.id.is_none() => {
                record.settle(false);
                Ok(Step::Done)
            }
            Ok(()) => Ok(wait),
            Err(StackProblem::Driver(error)) => Err(error),
            Err(StackProblem::Refused(cause)) => Ok(Step::failed(cause)),
            Err(StackProblem::TooLarge(text)) => Err(DriverError::internal(text)),
        };
    }
    match look(&by, record).await? {
        StackLook::Gone => {
            record.settle(false);
            record.id = None;
            Ok(Step::Done)
        }
        StackLook::Failed(reason) => {
            record.delete_attempts += 1;
            if record.delete_attempts >= ATTEMPTS {
                let cause = describe(&record.name, &reason, &format!("stack {}", record.name));
                // The next operation begins to count anew.
                record.delete_attempts = 0;
                record.settle(true);
                return Ok(Step::failed(cause));
            }
            record.intend(StackIntent::Delete, round.now());
            Ok(wait)
        }
        _ => Ok(wait),
    }
}

/// What only goes once nothing of the cluster runs any more: load balancers once more, their groups, volumes.
async fn leavings(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<Step, DriverError> {
    if deletion(memo).volumes_gone || memo.outputs.is_none() {
        return Ok(Step::Done);
    }
    let left = sweep_load_balancers(round).await?
        + sweep_security_groups(round).await?
        + sweep_volumes(round).await?;
    if left > 0 {
        return Ok(Step::wait(
            round.config.polls.stack,
            "removing load balancers and volumes that the cluster made",
        ));
    }
    deletion(memo).volumes_gone = true;
    round.save_cluster(memo).await?;
    Ok(Step::Done)
}

async fn infrastructure(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<Step, DriverError> {
    if deletion(memo).infrastructure_gone {
        return Ok(Step::Done);
    }
    let mut step = Step::Done;
    if let Some(record) = &mut memo.infrastructure {
        step = remove_stack(round, record, ServerType::Vm).await?;
    }
    if step == Step::Done {
        deletion(memo).infrastructure_gone = true;
    }
    round.save_cluster(memo).await?;
    Ok(match step {
        Step::Wait { after, .. } => Step::wait(after, "removing the infrastructure"),
        other => other,
    })
}

async fn cloud_credential(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<Step, DriverError> {
    if deletion(memo).credential_gone {
        return Ok(Step::Done);
    }
    if let Some(record) = &memo.credential
        && matches!(
            round.config.credential,
            credential::CredentialMode::Application { .. }
        )
    {
        credential::remove(
            &round.session,
            round.cx.secrets().as_ref(),
            round.view.cluster.id,
            record,
        )
        .await?;
    }
    deletion(memo).credential_gone = true;
    round.save_cluster(memo).await?;
    Ok(Step::Done)
}

async fn secrets(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<Step, DriverError> {
    if deletion(memo).secrets_gone {
        return Ok(Step::Done);
    }
    let cluster = round.view.cluster.id;
    let store = round.cx.secrets();
    // The credential that this very work is done with is the engine's to remove.
    let purposes = store.purposes(cluster).await?;
    for purpose in purposes.into_iter().filter(|p| p != WORK_CREDENTIAL) {
        store.delete(cluster, &purpose).await?;
    }
    round.config.access.forget(cluster);
    deletion(memo).secrets_gone = true;
    round.save_cluster(memo).await?;
    Ok(Step::Done)
}

/// Removes the stacks of one group, with whatever members they have.
pub(super) async fn delete_group(
    round: &Round<'_>,
    group: &NodeGroup,
) -> Result<Advance, DriverError> {
    let mut memo = round.load_group(group).await?;
    if memo.shards.is_empty() {
        if !memo.members.is_empty() {
            memo.members.clear();
            round.save_group(group, &memo).await?;
        }
        return Ok(Advance::Done);
    }
    let names: Vec<String> = memo.members.iter().map(|m| m.name.clone()).collect();
    let step = group_stacks(round, group, &mut memo).await?;
    if step == Step::Done {
        let cluster = round.load_cluster().await?;
        if let Some(outputs) = &cluster.outputs
            && round.observed(&cluster).await?.reachable
        {
            let client = round.client(outputs).await?;
            for name in names {
                if let Err(error) = client.delete_node(&name).await {
                    round
                        .cx
                        .warn(format!(
                            "node {name} of the removed group was not deleted: {error}"
                        ))
                        .await?;
                }
            }
        }
    }
    Ok(step.into_advance())
}

/// The cause of a change that this driver does not do.
pub(super) fn unsupported(what: &str) -> Advance {
    Advance::Failed(magnum_core::driver::Failure {
        causes: vec![Cause {
            kind: CauseKind::InvalidInput,
            sentence: format!("this driver does not support {what}"),
            subject: None,
        }],
    })
}
