//! Rules of the field, by their ids, on the reference driver.
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

mod bench_engine;
mod citizen;
mod credentials;
mod governance;

use std::time::Duration;

use bench_engine::{Bench, create, finished, template};
use futures::future::join_all;
use magnum_core::driver::memory::CloudFault;
use magnum_core::driver::{Capability, CauseKind};
use magnum_core::store::Quota;
use magnum_core::{
    ChangeRequest, ClusterName, ClusterTemplatePatch, EngineConfig, Error, EventKind, NewCluster,
    NewNodeGroup, NodeGroupName, NodeGroupPatch, OnBusy, OperationState, Outcome, ProjectId,
    RequestContext, Resize, Status, Upgrade,
};

fn group(name: &str) -> NewNodeGroup {
    NewNodeGroup::new(NodeGroupName::new(name).unwrap())
}

async fn ready(bench: &Bench, workers: u32) {
    let created = bench.create("prod", 1, workers).await;
    let ended = finished(&bench.engine, &bench.cx, created.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn ms_06_a_foreign_cluster_looks_absent() {
    let bench = Bench::new();
    ready(&bench, 1).await;
    let engine = &bench.engine;
    let calls = bench.cloud.calls();
    let other = RequestContext::new("other", "bob");
    let id = engine
        .cluster(&bench.cx, "prod")
        .await
        .unwrap()
        .id
        .to_string();
    for key in ["prod", id.as_str()] {
        let gone = |error: Error| assert!(matches!(error, Error::NotFound { .. }), "{error}");
        gone(engine.cluster(&other, key).await.unwrap_err());
        gone(engine.resize(&other, key, Resize::to(2)).await.unwrap_err());
        gone(engine.delete_cluster(&other, key).await.unwrap_err());
        gone(engine.rotate_ca(&other, key).await.unwrap_err());
        gone(engine.secrets(&other, key).await.unwrap_err());
    }
    assert!(engine.clusters(&other).await.unwrap().is_empty());
    assert_eq!(bench.cloud.calls(), calls, "no call to the cloud");
    let theirs = create(engine, &other, "prod", 1, 1).await;
    assert_ne!(theirs.cluster.id.to_string(), id);
    assert_eq!(
        engine.cluster(&other, "prod").await.unwrap().id,
        theirs.cluster.id
    );
    assert_eq!(
        engine
            .cluster(&bench.cx, "prod")
            .await
            .unwrap()
            .id
            .to_string(),
        id
    );
}

#[tokio::test(start_paused = true)]
async fn ms_01_public_templates_are_read_by_all_and_changed_by_their_owner() {
    let bench = Bench::new();
    let engine = &bench.engine;
    template(engine, &bench.cx).await;
    let other = RequestContext::new("other", "bob");
    let admin = RequestContext::new("ops", "root").as_admin();
    let private = engine.cluster_template(&other, "small").await.unwrap_err();
    assert!(matches!(private, Error::NotFound { .. }));
    let public = ClusterTemplatePatch {
        public: Some(true),
        ..ClusterTemplatePatch::default()
    };
    let mine = engine
        .update_cluster_template(&bench.cx, "small", public.clone())
        .await;
    assert!(
        matches!(mine, Err(Error::Forbidden { .. })),
        "publishing is the operator's"
    );
    engine
        .update_cluster_template(&admin, "small", public)
        .await
        .unwrap();
    engine.cluster_template(&other, "small").await.unwrap();
    let deleted = engine.delete_cluster_template(&other, "small").await;
    assert!(matches!(deleted, Err(Error::Forbidden { .. })));
    bench.create("prod", 1, 1).await;
    let used = engine.delete_cluster_template(&admin, "small").await;
    assert!(matches!(used, Err(Error::InUse { .. })));
}

#[tokio::test(start_paused = true)]
async fn ms_07_zero_is_zero_and_parallel_creates_are_counted() {
    let bench = Bench::new();
    let engine = &bench.engine;
    template(engine, &bench.cx).await;
    let admin = RequestContext::new("ops", "root").as_admin();
    let project = ProjectId::new("demo");
    let (shown, _) = engine.quota(&bench.cx, &project).await.unwrap();
    assert_eq!(shown.clusters, Some(20));
    let limit = |clusters| {
        Some(Quota {
            clusters: Some(clusters),
            ..Quota::default()
        })
    };
    let new = |name: &str| NewCluster::new(ClusterName::new(name).unwrap(), "small");
    engine.set_quota(&admin, &project, limit(0)).await.unwrap();
    let none = engine
        .create_cluster(&bench.cx, new("a"))
        .await
        .unwrap_err();
    assert!(
        matches!(none, Error::QuotaReached { limit: 0, .. }),
        "{none}"
    );
    engine.set_quota(&admin, &project, limit(3)).await.unwrap();
    let names: Vec<_> = (0..10).map(|n| format!("c{n}")).collect();
    let all = names
        .iter()
        .map(|name| engine.create_cluster(&bench.cx, new(name)));
    let done = join_all(all).await;
    assert_eq!(done.iter().filter(|d| d.is_ok()).count(), 3);
    let set = engine.set_quota(&bench.cx, &project, None).await;
    assert!(matches!(set, Err(Error::Forbidden { .. })));
}

#[tokio::test(start_paused = true)]
async fn tv_09_several_masters_need_a_load_balancer_by_the_final_values() {
    let bench = Bench::new();
    template(&bench.engine, &bench.cx).await;
    let try_it = async |masters, lb| {
        let mut new = NewCluster::new(ClusterName::new("x").unwrap(), "small");
        new.master_count = masters;
        new.master_lb_enabled = lb;
        bench.engine.plan_create(&bench.cx, &new).await
    };
    assert!(try_it(3, Some(false)).await.is_err());
    assert!(try_it(3, None).await.is_ok());
    assert!(try_it(1, Some(false)).await.is_ok());
    let error = try_it(2, Some(false)).await.unwrap_err();
    let Error::Invalid(problems) = error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 2, "both at once: {problems}");
}

#[tokio::test(start_paused = true)]
async fn ng_04_ng_06_ng_10_what_a_resize_refuses() {
    let bench = Bench::new();
    ready(&bench, 3).await;
    let (engine, cx) = (&bench.engine, &bench.cx);
    let calls = bench.cloud.calls();
    let named = |names: &[&str]| Resize::to(2).removing(names.iter().copied());
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    let first = worker.members[0].name.clone();
    for names in [vec!["unknown"], vec![first.as_str(), "unknown"]] {
        let error = engine.resize(cx, "prod", named(&names)).await.unwrap_err();
        assert!(error.to_string().contains("unknown"), "{error}");
    }
    let default = engine.delete_node_group(cx, "prod", "default-worker").await;
    assert!(matches!(default, Err(Error::Invalid(_))));
    let reserved = engine.create_node_group(cx, "prod", group("master")).await;
    assert!(matches!(reserved, Err(Error::Invalid(_))));
    let even = Resize::to(2).of_group("default-master");
    assert!(engine.resize(cx, "prod", even).await.is_err());
    assert_eq!(bench.cloud.calls(), calls, "nothing was begun");
    let accepted = engine.resize(cx, "prod", named(&[&first])).await.unwrap();
    finished(engine, cx, accepted.operation.id).await;
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(worker.members.len(), 2);
    assert!(worker.members.iter().all(|member| member.name != first));
}

#[tokio::test(start_paused = true)]
async fn ng_09_limits_alone_change_at_once_and_as_a_whole() {
    let bench = Bench::new();
    ready(&bench, 3).await;
    let (engine, cx) = (&bench.engine, &bench.cx);
    let patch = NodeGroupPatch::default()
        .min_node_count(5)
        .max_node_count(Some(10));
    let refused = engine
        .update_node_group(cx, "prod", "default-worker", patch)
        .await;
    assert!(matches!(refused, Err(Error::Invalid(_))));
    let patch = NodeGroupPatch::default()
        .min_node_count(1)
        .max_node_count(Some(10));
    let updated = engine
        .update_node_group(cx, "prod", "default-worker", patch)
        .await
        .unwrap();
    assert!(updated.operation.is_none());
    let stored = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(
        (stored.min_node_count, stored.max_node_count),
        (1, Some(10))
    );
    assert!(engine.resize(cx, "prod", Resize::to(11)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn ha_03_sm_11_a_busy_scope_refuses_or_queues_and_other_scopes_go_on() {
    let bench = Bench::new();
    ready(&bench, 3).await;
    let (engine, cx) = (&bench.engine, &bench.cx);
    bench.cloud.set_polls_until_ready(20);
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    let heal = engine
        .replace_node(cx, "prod", &worker.members[0].name)
        .await
        .unwrap();
    assert_eq!(heal.cluster.status, Status::UPDATE_IN_PROGRESS);
    let refused = engine.resize(cx, "prod", Resize::to(4)).await.unwrap_err();
    let Error::Conflict { operation, .. } = refused else {
        panic!("{refused}")
    };
    assert_eq!(operation, heal.operation.id);
    let resize = ChangeRequest::Resize(Resize::to(4));
    let queued = engine
        .change(cx, "prod", resize, OnBusy::Queue)
        .await
        .unwrap();
    assert_eq!(queued.operation.state, OperationState::Queued);
    let other = engine
        .create_node_group(cx, "prod", group("gpu"))
        .await
        .unwrap();
    assert_eq!(other.operation.state, OperationState::Running);
    for id in [heal.operation.id, other.operation.id, queued.operation.id] {
        let ended = finished(engine, cx, id).await;
        assert_eq!(ended.outcome, Some(Outcome::Succeeded), "{ended:?}");
    }
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(worker.members.len(), 4);
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::UPDATE_COMPLETE);
}

#[tokio::test(start_paused = true)]
async fn sm_11_op_03_delete_is_always_accepted_supersedes_and_joins() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    bench.cloud.set_polls_until_ready(50);
    let created = bench.create("prod", 1, 3).await;
    tokio::time::sleep(Duration::from_secs(12)).await;
    let busy = engine.resize(cx, "prod", Resize::to(4)).await;
    assert!(matches!(busy, Err(Error::Conflict { .. })));
    let deletes = join_all((0..5).map(|_| engine.delete_cluster(cx, "prod"))).await;
    let ids: std::collections::BTreeSet<_> = deletes
        .iter()
        .map(|d| d.as_ref().unwrap().operation.id)
        .collect();
    assert_eq!(ids.len(), 1, "five deletions are one");
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::DELETE_IN_PROGRESS);
    let late = engine.create_node_group(cx, "prod", group("gpu")).await;
    assert!(matches!(late, Err(Error::Conflict { .. })), "P-18");
    finished(engine, cx, *ids.first().unwrap()).await;
    let creation = engine.operation(cx, created.operation.id).await.unwrap();
    assert_eq!(creation.outcome, Some(Outcome::Cancelled));
    assert!(bench.cloud.inventory().is_empty());
    assert!(engine.cluster(cx, "prod").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn sm_07_time_runs_out_and_a_late_completion_turns_it_round() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    bench.cloud.set_outage(true);
    let created = bench.create("prod", 1, 1).await;
    let ended = finished(engine, cx, created.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::TimedOut));
    assert_eq!(ended.causes[0].kind, CauseKind::Timeout);
    let minutes = (ended.ended_at.unwrap() - ended.created_at).num_minutes();
    assert!((60..=61).contains(&minutes), "{minutes}");
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::CREATE_FAILED);
    let reason = cluster.status_reason.unwrap();
    assert!(
        reason.contains("timed out") && reason.contains("refused"),
        "{reason}"
    );
    bench.cloud.set_outage(false);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::CREATE_COMPLETE);
    let events = engine.events(cx, 0, 10_000).await.unwrap();
    let own = || {
        events
            .iter()
            .filter(|e| e.operation == Some(created.operation.id))
    };
    let ends = own().filter(|e| matches!(e.kind, EventKind::OperationEnded { .. }));
    let recovered = own().filter(|e| matches!(e.kind, EventKind::OperationRecovered { .. }));
    assert_eq!((ends.count(), recovered.count()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn sm_08_an_outage_keeps_the_state_with_the_error_visible_and_growing_waits() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    bench.cloud.set_outage(true);
    let created = bench.create("prod", 1, 1).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::CREATE_IN_PROGRESS);
    let operation = engine.operation(cx, created.operation.id).await.unwrap();
    assert!(operation.last_error.unwrap().contains("refused"));
    assert!((9..40).contains(&operation.errors), "{}", operation.errors);
    bench.cloud.set_outage(false);
    let ended = finished(engine, cx, created.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn a_panicking_and_a_hung_call_delay_nobody_else() {
    let bench = Bench::with(EngineConfig::default());
    let (engine, cx) = (&bench.engine, &bench.cx);
    bench.cloud.inject(0, CloudFault::Panic);
    bench.cloud.inject(1, CloudFault::Hang);
    let a = bench.create("a", 1, 1).await;
    let b = bench.create("b", 1, 1).await;
    let c = bench.create("c", 1, 1).await;
    let mut took = Vec::new();
    for accepted in [a, b, c] {
        let ended = finished(engine, cx, accepted.operation.id).await;
        assert_eq!(ended.outcome, Some(Outcome::Succeeded), "{ended:?}");
        took.push((ended.ended_at.unwrap() - ended.created_at).num_seconds());
    }
    took.sort_unstable();
    assert!(
        took[1] < 60 && took[2] >= 300,
        "only the hung one waits for the limit: {took:?}"
    );
    assert!(bench.cloud.made_twice().is_empty());
}

#[tokio::test(start_paused = true)]
async fn op_01_a_failure_names_the_cause_and_can_be_retried() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    ready(&bench, 1).await;
    bench.cloud.set_capacity(Some(3));
    let grown = engine.resize(cx, "prod", Resize::to(5)).await.unwrap();
    let ended = finished(engine, cx, grown.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Failed));
    assert_eq!(ended.causes[0].kind, CauseKind::Quota);
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::UPDATE_FAILED);
    let reason = cluster.status_reason.unwrap();
    assert!(
        reason.contains("instances 3 of 3") && reason.contains("default-worker"),
        "{reason}"
    );
    bench.cloud.set_capacity(None);
    let again = engine.retry(cx, grown.operation.id).await.unwrap();
    let ended = finished(engine, cx, again.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(
        (cluster.status, cluster.status_reason),
        (Status::UPDATE_COMPLETE, None)
    );
    let first = engine.operation(cx, grown.operation.id).await.unwrap();
    assert_eq!(
        first.causes[0].kind,
        CauseKind::Quota,
        "P-30: history keeps it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_the_preflight_refuses_is_taken_back() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    ready(&bench, 2).await;
    bench.cloud.remove_image("ubuntu");
    let request = ChangeRequest::Resize(Resize::to(4));
    assert!(engine.preflight(cx, "prod", &request).await.is_err());
    let grown = engine.resize(cx, "prod", Resize::to(4)).await.unwrap();
    let ended = finished(engine, cx, grown.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Failed));
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(worker.node_count, 2);
}

#[tokio::test(start_paused = true)]
async fn up_02_up_03_an_upgrade_shows_only_when_it_has_succeeded() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    ready(&bench, 2).await;
    let to = |version: &str| Upgrade::to_version(version.parse().unwrap(), "new");
    assert!(engine.upgrade(cx, "prod", to("v1.38.0")).await.is_err());
    assert!(engine.upgrade(cx, "prod", to("v1.35.0")).await.is_err());
    let before = engine.cluster(cx, "prod").await.unwrap();
    let upgrade = engine.upgrade(cx, "prod", to("v1.37.0")).await.unwrap();
    assert_eq!(upgrade.cluster.kube_version, before.kube_version);
    finished(engine, cx, upgrade.operation.id).await;
    let after = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(after.kube_version.to_string(), "v1.37.0");
    let grown = engine.resize(cx, "prod", Resize::to(3)).await.unwrap();
    finished(engine, cx, grown.operation.id).await;
    let worker = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert!(
        worker
            .members
            .iter()
            .all(|m| m.kube_version.as_deref() == Some("v1.37.0")),
        "UP-04"
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_makes_a_repeated_creation_the_first_one() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    template(engine, cx).await;
    let mut new = NewCluster::new(ClusterName::new("prod").unwrap(), "small");
    new.idempotency_key = Some("k".to_owned());
    let first = engine.create_cluster(cx, new.clone()).await.unwrap();
    let second = engine.create_cluster(cx, new.clone()).await.unwrap();
    assert_eq!(first.cluster.id, second.cluster.id);
    assert_eq!(first.operation.id, second.operation.id);
    new.name = ClusterName::new("other").unwrap();
    assert!(matches!(
        engine.create_cluster(cx, new).await,
        Err(Error::Invalid(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn what_a_driver_does_not_claim_is_refused_when_asked_for() {
    let bench = Bench::new();
    template(&bench.engine, &bench.cx).await;
    let new = NewCluster::new(ClusterName::new("x").unwrap(), "small");
    let adopted = bench.engine.adopt_cluster(&bench.cx, new, "stack").await;
    let Err(Error::Unsupported { capability, .. }) = adopted else {
        panic!("{adopted:?}")
    };
    assert_eq!(capability, Capability::Adopt);
    assert!(bench.engine.clusters(&bench.cx).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_operation_ends_and_what_waited_goes_on() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    ready(&bench, 1).await;
    bench.cloud.set_polls_until_ready(1000);
    let grown = engine.resize(cx, "prod", Resize::to(3)).await.unwrap();
    let shrink = ChangeRequest::Resize(Resize::to(0));
    let queued = engine
        .change(cx, "prod", shrink, OnBusy::Queue)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    engine.cancel(cx, grown.operation.id).await.unwrap();
    let ended = finished(engine, cx, grown.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Cancelled));
    let ended = finished(engine, cx, queued.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn events_are_watched_with_resume() {
    use futures::StreamExt;

    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    let created = bench.create("prod", 1, 1).await;
    let mut seen = Vec::new();
    let mut stream = engine.watch(cx, 0);
    while let Some(event) = stream.next().await {
        let event = event.unwrap();
        seen.push(event.seq);
        if matches!(event.kind, EventKind::OperationEnded { .. }) {
            break;
        }
    }
    let all = engine.events(cx, 0, 1000).await.unwrap();
    assert!(
        all.iter()
            .map(|e| e.seq)
            .take(seen.len())
            .eq(seen.iter().copied())
    );
    let mut resumed = engine.watch(cx, seen[2]);
    let next = resumed.next().await.unwrap().unwrap();
    assert_eq!(next.seq, seen[3]);
    finished(engine, cx, created.operation.id).await;
}

#[tokio::test(start_paused = true)]
async fn sp_02_finished_clusters_are_looked_at_in_the_slow_round_only() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    ready(&bench, 2).await;
    tokio::time::sleep(Duration::from_secs(1300)).await;
    let before = bench.cloud.calls();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let looks = bench.cloud.calls() - before;
    assert!(
        (30..=42).contains(&looks),
        "two looks at three nodes every ten minutes: {looks}"
    );
    let victim = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap()
        .members[0]
        .clone();
    bench.cloud.remove_by_hand(&victim.name);
    tokio::time::sleep(Duration::from_secs(700)).await;
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(
        cluster.health,
        magnum_core::Health::Unhealthy,
        "drift is found"
    );
    let group = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert!(
        group
            .members
            .iter()
            .any(|m| m.phase == magnum_core::MemberPhase::NotReady)
    );
}
