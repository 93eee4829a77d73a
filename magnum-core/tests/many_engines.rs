//! Several engines on one store, of which some die.
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

mod bench_engine;

use std::sync::Arc;
use std::time::Duration;

use bench_engine::{Bench, Reversing, create, finished};
use magnum_core::driver::memory::{LedgerEntry, MemoryCloud, MemoryDriver};
use magnum_core::store::{MemoryStore, Store};
use magnum_core::{Engine, EngineConfig, EventKind, Outcome, RequestContext};

fn engine(store: &Arc<dyn Store>, cloud: &MemoryCloud) -> Engine {
    let mut config = EngineConfig::default();
    config.lease = Duration::from_secs(1);
    config.poll = Duration::from_millis(50);
    config.workers = 8;
    config.max_clusters_per_project = 1000;
    Engine::builder()
        .store(Arc::clone(store))
        .sealer(Arc::new(Reversing))
        .driver(Arc::new(MemoryDriver::new(cloud.clone())))
        .config(config)
        .build()
        .unwrap()
}

/// Four engines share the creations; two are killed on the way. Each thing is made once, by the cloud's own ledger.
async fn shared(stores: [Arc<dyn Store>; 4], clusters: usize) {
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    let engines: Vec<_> = stores.iter().map(|store| engine(store, &cloud)).collect();
    let cx = RequestContext::new("demo", "alice");
    let mut asked = Vec::new();
    for n in 0..clusters {
        let accepted = create(&engines[0], &cx, &format!("c{n}"), 1, 2).await;
        asked.push(accepted.operation.id);
    }
    let mut running: Vec<_> = engines
        .iter()
        .map(|engine| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.run(std::future::pending()).await })
        })
        .collect();
    while cloud.ledger().len() < clusters {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for dead in running.drain(..2) {
        dead.abort();
    }
    for id in asked {
        let ended = finished(&engines[3], &cx, id).await;
        assert_eq!(ended.outcome, Some(Outcome::Succeeded), "{ended:?}");
    }
    assert!(cloud.made_twice().is_empty());
    let made = cloud.ledger();
    let made = made
        .iter()
        .filter(|entry| matches!(entry, LedgerEntry::Created(_)));
    assert_eq!(made.count(), clusters * 4, "a network and three nodes each");
    let events = engines[3].events(&cx, 0, u32::MAX).await.unwrap();
    let ends = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::OperationEnded { .. }));
    assert_eq!(ends.count(), clusters, "one end each");
    for task in running {
        task.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sp_06_four_engines_share_a_memory_store_and_two_die() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let stores = std::array::from_fn(|_| Arc::clone(&store));
    shared(stores, 100).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sp_06_four_engines_share_a_postgresql_and_two_die() {
    use magnum_core::store::PostgresStore;

    let Ok(url) = std::env::var("MAGNUM_TEST_POSTGRES_URL") else {
        return;
    };
    let url = magnum_core::store::conformance::fresh_schema(&url)
        .await
        .unwrap();
    let connect = async || {
        let store = PostgresStore::connect(&url, 5).await.unwrap();
        Arc::new(store) as Arc<dyn Store>
    };
    let stores = [
        connect().await,
        connect().await,
        connect().await,
        connect().await,
    ];
    shared(stores, 50).await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_steps_under_way_and_gives_their_leases_back() {
    let bench = Bench::new();
    bench.create("prod", 1, 3).await;
    let other = engine(&bench.store, &bench.cloud);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let runner = other.clone();
    let running = tokio::spawn(async move {
        runner.run(async { drop(stopped.await) }).await;
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    drop(stop);
    running.await.unwrap();
    let every = magnum_core::store::OperationFilter::default();
    let all = bench.engine.operations(&bench.cx, &every).await.unwrap();
    for operation in all {
        let owner = operation.lease.map(|lease| lease.owner);
        assert_ne!(owner, Some(other.id()), "a lease outlived the shutdown");
    }
}
