//! Quotas that run out are said in one sentence that an operator can act on.

use magnum_core::EventKind;
use magnum_core::Outcome;
use magnum_core::driver::CauseKind;
use magnum_core::{ClusterName, NewCluster, Status};

use crate::{Bench, Failure};

/// A quota that is too small is found before anything is made.
///
/// # Errors
/// Whatever does not hold.
pub async fn quota_is_said_before(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    bench.project.compute_quota("instances", 3).await?;
    let template = bench.template(bench.cloud.spec()).await?;
    let mut new = NewCluster::new(ClusterName::new("big")?, template.id.to_string());
    new.master_count = 3;
    new.node_count = 5;
    let refusal = engine
        .preflight_create(caller, &new)
        .await
        .expect_err("8 do not fit in 3")
        .to_string();
    assert!(
        refusal.contains("instances") && refusal.contains('3') && refusal.contains('8'),
        "{refusal}"
    );

    let accepted = engine.create_cluster(caller, new).await?;
    let operation = bench.end_of(&accepted).await?;
    assert_eq!(operation.outcome, Some(Outcome::Failed));
    let cluster = engine.cluster(caller, accepted.cluster.id).await?;
    assert_eq!(cluster.status, Status::CREATE_FAILED);
    let reason = cluster.status_reason.unwrap_or_default();
    assert!(reason.contains("instances"), "{reason}");
    assert!(
        bench.project.left_over().await?.is_empty(),
        "nothing was made"
    );
    bench
        .succeeds(&engine.delete_cluster(caller, cluster.id).await?)
        .await?;
    bench.end().await
}

/// A quota that runs out while servers are being made is named with its numbers (rules `OP-01`, `OP-02`).
///
/// # Errors
/// Whatever does not hold.
pub async fn quota_is_said_in_one_sentence(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let template = bench.template(bench.cloud.spec()).await?;
    let mut new = NewCluster::new(ClusterName::new("late")?, template.id.to_string());
    new.node_count = 3;
    let accepted = engine.create_cluster(caller, new).await?;
    let project = &bench.project;
    let mut lowered = false;
    let operation = bench
        .end_of_with(&accepted, async |event| {
            // The look at quotas is over when the first step is reported.
            if !lowered && matches!(event, EventKind::OperationProgress { .. }) {
                lowered = true;
                project.compute_quota("instances", 1).await?;
            }
            Ok(())
        })
        .await?;
    assert_eq!(operation.outcome, Some(Outcome::Failed));
    let cause = operation.causes.first().ok_or("a failure has a cause")?;
    assert_eq!(cause.kind, CauseKind::Quota, "{cause:?}");
    assert!(
        cause.sentence.contains("instances 1 of 1"),
        "{}",
        cause.sentence
    );
    assert!(
        !cause.sentence.contains("Traceback") && !cause.sentence.contains("resources."),
        "{}",
        cause.sentence
    );
    let cluster = engine.cluster(caller, accepted.cluster.id).await?;
    assert_eq!(cluster.status, Status::CREATE_FAILED);
    assert!(
        cluster
            .status_reason
            .unwrap_or_default()
            .contains("instances 1 of 1")
    );
    bench
        .succeeds(&engine.delete_cluster(caller, accepted.cluster.id).await?)
        .await?;
    bench.end().await
}
