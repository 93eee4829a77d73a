//! One cluster's whole life on the reference driver.
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

mod bench_engine;

use bench_engine::{Bench, finished};
use magnum_core::driver::ChangeKind;
use magnum_core::state::Status;
use magnum_core::{EventKind, NewNodeGroup, NodeGroupName, OnBusy, Outcome, Resize};

#[tokio::test(start_paused = true)]
async fn a_cluster_is_created_changed_and_removed_with_nothing_left() {
    let bench = Bench::new();
    let cx = &bench.cx;
    let engine = &bench.engine;
    let created = bench.create("prod", 3, 5).await;
    let operation = finished(engine, cx, created.operation.id).await;
    assert_eq!(operation.outcome, Some(Outcome::Succeeded), "{operation:?}");
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::CREATE_COMPLETE);
    assert!(cluster.facts.api_address.is_some());

    let group = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(group.members.len(), 5);
    let victim = group.members[1].clone();
    let replaced = engine.replace_node(cx, "prod", &victim.name).await.unwrap();
    finished(engine, cx, replaced.operation.id).await;
    let group = engine
        .node_group(cx, "prod", "default-worker")
        .await
        .unwrap();
    assert_eq!(group.members.len(), 5);
    assert!(group.members.iter().all(|m| m.id != victim.id));

    let resized = engine.resize(cx, "prod", Resize::to(8)).await.unwrap();
    finished(engine, cx, resized.operation.id).await;
    let mut groups = Vec::new();
    for name in ["a", "b", "c"] {
        let new = NewNodeGroup::new(NodeGroupName::new(name).unwrap());
        groups.push(engine.create_node_group(cx, "prod", new).await.unwrap());
    }
    for accepted in groups {
        let ended = finished(engine, cx, accepted.operation.id).await;
        assert_eq!(ended.outcome, Some(Outcome::Succeeded), "NG-03");
    }
    let deleted = engine.delete_node_group(cx, "prod", "a").await.unwrap();
    finished(engine, cx, deleted.operation.id).await;
    assert_eq!(engine.node_groups(cx, "prod").await.unwrap().len(), 4);
    let cluster = engine.cluster(cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::UPDATE_COMPLETE, "SM-03");

    let deleted = engine.delete_cluster(cx, "prod").await.unwrap();
    assert_eq!(deleted.cluster.status, Status::DELETE_IN_PROGRESS);
    finished(engine, cx, deleted.operation.id).await;
    assert!(engine.cluster(cx, "prod").await.is_err());
    assert!(bench.cloud.inventory().is_empty());
    assert!(bench.cloud.made_twice().is_empty());
    assert!(engine.leftovers(cx, cluster.id).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn op_04_one_start_and_one_end_per_operation() {
    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    let created = bench.create("prod", 1, 1).await;
    finished(engine, cx, created.operation.id).await;
    let queued = engine
        .change(
            cx,
            "prod",
            magnum_core::ChangeRequest::Resize(Resize::to(2)),
            OnBusy::Queue,
        )
        .await
        .unwrap();
    finished(engine, cx, queued.operation.id).await;
    let events = engine.events(cx, 0, 1000).await.unwrap();
    for (id, kind) in [
        (created.operation.id, ChangeKind::Create),
        (queued.operation.id, ChangeKind::Resize),
    ] {
        let count = |wanted: fn(&EventKind) -> Option<ChangeKind>| {
            let own = events.iter().filter(|e| e.operation == Some(id));
            own.filter(|e| wanted(&e.kind) == Some(kind)).count()
        };
        let started = count(|k| match k {
            EventKind::OperationStarted { change } => Some(*change),
            _ => None,
        });
        let ended = count(|k| match k {
            EventKind::OperationEnded { change, .. } => Some(*change),
            _ => None,
        });
        assert_eq!((started, ended), (1, 1), "{kind}");
    }
    assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq));
}
