//! The infrastructure stack: made once, its outputs read once.

use std::collections::BTreeMap;

use magnum_core::driver::{Cause, DriverError};
use magnum_core::{NodeGroupRole, ServerType};
use magnum_heat::hot::Files;

use super::round::Round;
use super::step::Step;
use crate::memo::{ClusterMemo, NodeNetwork, StackIntent, StackRecord};
use crate::stack_ops::{
    StackLook, StackProblem, describe, is_follow_up, look_with_outputs, read_resources, submit,
    vanished,
};
use crate::stacks::{InfrastructureInput, read_outputs, render_infrastructure};

/// Brings the infrastructure about.
pub(super) async fn infrastructure(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
) -> Result<Step, DriverError> {
    if memo.outputs.is_some() {
        return Ok(Step::Done);
    }
    let fresh = prepare(round, memo).await?;
    if let Some((operation, cause)) = &memo.infrastructure_failure
        && *operation == round.cx.operation
    {
        return Ok(Step::failed(cause.clone()));
    }
    let wait = Step::wait(round.config.polls.stack, "creating the infrastructure");
    let by = round.submission(ServerType::Vm);
    let Some(record) = &mut memo.infrastructure else {
        return Ok(wait);
    };
    if !record.accepted {
        match submit(&by, record, fresh).await {
            Ok(()) => {
                round.save_cluster(memo).await?;
                round.report_facts(memo, None).await?;
                return Ok(wait);
            }
            Err(StackProblem::Driver(error)) => return Err(error),
            Err(StackProblem::Refused(cause)) => return fail(round, memo, cause).await,
            Err(StackProblem::TooLarge(text)) => {
                let cause = describe(&record.name, &text, "infrastructure");
                return fail(round, memo, cause).await;
            }
        }
    }
    let (verdict, stack) = look_with_outputs(&by, record).await?;
    match verdict {
        StackLook::Running => Ok(wait),
        StackLook::Gone => {
            let cause = vanished(record);
            fail(round, memo, cause).await
        }
        StackLook::Failed(reason) => {
            let cause = failure(round, record, &reason).await?;
            fail(round, memo, cause).await
        }
        StackLook::Complete => {
            let outputs: BTreeMap<String, serde_json::Value> = stack
                .map(|stack| {
                    stack
                        .outputs
                        .into_iter()
                        .map(|output| (output.key, output.value))
                        .collect()
                })
                .unwrap_or_default();
            let mut outputs = read_outputs(&outputs)
                .map_err(|problem| DriverError::internal(problem.to_string()))?;
            if let Some(facts) = &memo.facts
                && let NodeNetwork::Given { mtu, .. } = &facts.network
            {
                outputs.mtu = *mtu;
            }
            record.settle(false);
            memo.outputs = Some(outputs);
            memo.infrastructure_failure = None;
            round.save_cluster(memo).await?;
            round.report_facts(memo, None).await?;
            Ok(Step::Done)
        }
    }
}

/// Notes and writes the intent where none is pending; gives whether it was noted just now.
async fn prepare(round: &Round<'_>, memo: &mut ClusterMemo) -> Result<bool, DriverError> {
    let now = round.now();
    let failed_before = memo
        .infrastructure_failure
        .as_ref()
        .is_some_and(|(operation, _)| *operation != round.cx.operation);
    match &mut memo.infrastructure {
        None => {
            let Some(facts) = &memo.facts else {
                return Err(DriverError::internal(
                    "nothing was looked up for the cluster",
                ));
            };
            let cluster = &round.view.cluster;
            let virtual_control_plane = round.view.node_groups.iter().any(|group| {
                group.role == NodeGroupRole::ControlPlane
                    && group.spec.server_type == ServerType::Vm
            });
            let document = render_infrastructure(&InfrastructureInput {
                names: &round.names,
                mark: &round.mark,
                facts,
                nodes: cluster.network.nodes,
                network_driver: &cluster.spec.network_driver,
                dns_nameservers: &cluster.spec.dns_nameservers,
                virtual_control_plane,
            })
            .map_err(|error| DriverError::internal(error.to_string()))?;
            let mut record =
                StackRecord::new(round.names.infrastructure_stack(), document, Files::new());
            record.intend(StackIntent::Create, now);
            memo.infrastructure = Some(record);
        }
        // Another operation tries again: Heat makes what is missing of the same document.
        Some(record) if record.intent.is_none() && failed_before => {
            record.intend(
                if record.id.is_some() {
                    StackIntent::Update
                } else {
                    StackIntent::Create
                },
                now,
            );
            memo.infrastructure_failure = None;
        }
        Some(_) => return Ok(false),
    }
    round.save_cluster(memo).await?;
    Ok(true)
}

async fn fail(
    round: &Round<'_>,
    memo: &mut ClusterMemo,
    cause: Cause,
) -> Result<Step, DriverError> {
    if let Some(record) = &mut memo.infrastructure {
        record.settle(true);
    }
    memo.infrastructure_failure = Some((round.cx.operation, cause.clone()));
    round.save_cluster(memo).await?;
    Ok(Step::failed(cause))
}

/// The first real failure among the stack's resources.
async fn failure(
    round: &Round<'_>,
    record: &StackRecord,
    reason: &str,
) -> Result<Cause, DriverError> {
    let views = read_resources(&round.session, record).await?;
    let failed = views
        .values()
        .filter(|view| view.status.is_failed())
        .min_by_key(|view| is_follow_up(&view.reason));
    Ok(match failed {
        Some(view) => describe(&view.name, &view.reason, "infrastructure"),
        None => describe(&record.name, reason, "infrastructure"),
    })
}
