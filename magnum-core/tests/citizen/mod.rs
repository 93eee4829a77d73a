//! The engine as a citizen of its process: health, key, events that are kept, looks that hang.

use std::sync::Arc;
use std::time::Duration;

use magnum_core::driver::memory::{CloudFault, MemoryCloud};
use magnum_core::store::{MemoryStore, Store};
use magnum_core::{
    Engine, EngineConfig, Error, Outcome, RequestContext, Resize, SealContext, SealError, Sealer,
    Secret,
};

use crate::bench_engine::{Bench, create, engine, finished};

#[tokio::test(start_paused = true)]
async fn health_tells_running_lag_and_store() {
    let bench = Bench::new();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let health = bench.engine.health().await;
    assert!(health.is_healthy() && health.running, "{health:?}");
    assert!(health.last_round.is_some() && health.lag.is_zero());
    // Another engine on the same store that does not run.
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let idle = engine(store, MemoryCloud::new(), 1, EngineConfig::default());
    let cx = RequestContext::new("demo", "alice");
    create(&idle, &cx, "prod", 1, 1).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    let health = idle.health().await;
    assert!(!health.running && health.is_healthy(), "{health:?}");
    assert!(health.lag >= Duration::from_secs(90), "{health:?}");
}

/// A sealer with a key of its own.
#[derive(Debug)]
struct Keyed(u8);

#[async_trait::async_trait]
impl Sealer for Keyed {
    async fn seal(&self, _: &SealContext, plain: &Secret) -> Result<Vec<u8>, SealError> {
        let bytes = plain.expose().iter().map(|byte| byte ^ self.0);
        Ok([self.0].into_iter().chain(bytes).collect())
    }

    async fn open(&self, context: &SealContext, sealed: &[u8]) -> Result<Secret, SealError> {
        match sealed.split_first() {
            Some((key, bytes)) if *key == self.0 => {
                let plain: Vec<u8> = bytes.iter().map(|byte| byte ^ self.0).collect();
                Ok(Secret::new(plain))
            }
            _ => Err(SealError::DoesNotOpen {
                cluster: context.cluster,
                purpose: context.purpose.clone(),
            }),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_exchanged_sealing_key_is_said_at_start_and_nothing_is_worked_on() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let cloud = MemoryCloud::new();
    let start = chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    let clock = Arc::new(magnum_core::SimulatedClock::new(start, 5));
    let with_key = |key| {
        let driver = magnum_core::driver::memory::MemoryDriver::new(cloud.clone());
        Engine::builder()
            .store(Arc::clone(&store))
            .sealer(Arc::new(Keyed(key)))
            .clock(Arc::clone(&clock) as _)
            .driver(Arc::new(driver))
    };
    let right = with_key(7).open().await.unwrap();
    let cx = RequestContext::new("demo", "alice");
    let created = create(&right, &cx, "prod", 1, 1).await;
    let error = with_key(9).open().await.unwrap_err();
    assert!(matches!(error, Error::SealingKey), "{error}");
    let wrong = with_key(9).build().unwrap();
    assert!(matches!(wrong.run_due().await, Err(Error::SealingKey)));
    let run = wrong.run(tokio::time::sleep(Duration::from_secs(600)));
    run.await;
    assert_eq!(cloud.calls(), 0, "nothing was begun with the wrong key");
    let health = wrong.health().await;
    assert!(
        !health.is_healthy() && health.key_problem.is_some(),
        "{health:?}"
    );
    let stop = tokio::time::sleep(Duration::from_secs(600));
    right.run(stop).await;
    let ended = right.operation(&cx, created.operation.id).await.unwrap();
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn old_events_go_by_age_and_by_count_while_the_engine_runs() {
    let mut config = EngineConfig::default();
    config.events_max_age = Some(Duration::from_secs(3600));
    let bench = Bench::with(config);
    let (engine, cx) = (&bench.engine, &bench.cx);
    let created = bench.create("prod", 1, 1).await;
    finished(engine, cx, created.operation.id).await;
    tokio::time::sleep(Duration::from_secs(3000)).await;
    let all = engine.events(cx, 0, 1000).await.unwrap().len();
    assert!(all > 5);
    let grown = engine.resize(cx, "prod", Resize::to(2)).await.unwrap();
    finished(engine, cx, grown.operation.id).await;
    tokio::time::sleep(Duration::from_secs(1800)).await;
    let kept = engine.events(cx, 0, 1000).await.unwrap();
    assert!(
        !kept.is_empty() && kept[0].seq > all as u64 - 1,
        "{}",
        kept[0].seq
    );

    let mut config = EngineConfig::default();
    config.events_max_age = None;
    config.events_max_count = Some(3);
    let bench = Bench::with(config);
    let created = bench.create("prod", 1, 1).await;
    finished(&bench.engine, &bench.cx, created.operation.id).await;
    tokio::time::sleep(Duration::from_secs(1300)).await;
    let kept = bench.engine.events(&bench.cx, 0, 1000).await.unwrap();
    let last = bench.engine.last_event().await.unwrap();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2].seq, last);
}

/// One finished cluster whose look hangs, one whose look panics: neither delays another cluster's look, nor any operation.
#[tokio::test(start_paused = true)]
async fn hung_and_panicking_looks_delay_no_other_cluster_and_no_operation() {
    let mut config = EngineConfig::default();
    config.workers = 2;
    config.looks_at_once = 4;
    let bench = Bench::with(config);
    let (engine, cx) = (&bench.engine, &bench.cx);
    for name in ["a", "b", "c", "d", "e", "f"] {
        let created = bench.create(name, 1, 1).await;
        finished(engine, cx, created.operation.id).await;
    }
    tokio::time::sleep(Duration::from_secs(700)).await;
    // The next calls of the cloud are those of looks.
    for call in 0..2 {
        bench.cloud.inject(call, CloudFault::Hang);
    }
    bench.cloud.inject(2, CloudFault::Panic);
    let victims = ["a", "b", "c", "d", "e", "f"];
    for name in victims {
        let group = engine.node_group(cx, name, "default-worker").await.unwrap();
        bench.cloud.remove_by_hand(&group.members[0].name);
    }
    tokio::time::sleep(Duration::from_secs(605)).await;
    let mut noticed = 0;
    for name in victims {
        let cluster = engine.cluster(cx, name).await.unwrap();
        noticed += u32::from(cluster.health == magnum_core::Health::Unhealthy);
    }
    assert!(
        noticed >= 4,
        "the others were looked at in their round: {noticed}"
    );
    let grown = engine.resize(cx, "f", Resize::to(2)).await.unwrap();
    let ended = finished(engine, cx, grown.operation.id).await;
    let took = (ended.ended_at.unwrap() - ended.created_at).num_seconds();
    assert!(took < 60, "an operation waits for no look: {took} s");
    tokio::time::sleep(Duration::from_secs(1300)).await;
    for name in &victims[..5] {
        let cluster = engine.cluster(cx, *name).await.unwrap();
        assert_eq!(
            cluster.health,
            magnum_core::Health::Unhealthy,
            "{name} in the end"
        );
    }
}

#[cfg(feature = "metrics")]
#[test]
fn figures_of_operations_steps_and_looks_are_recorded() {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    let recorder = DebuggingRecorder::new();
    let shown = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let bench = Bench::new();
            let created = bench.create("prod", 1, 1).await;
            finished(&bench.engine, &bench.cx, created.operation.id).await;
            tokio::time::sleep(Duration::from_secs(1300)).await;
        });
    });
    let figures = shown.snapshot().into_vec();
    let counted = |name: &str| -> u64 {
        let own = figures.iter().filter(|(key, ..)| key.key().name() == name);
        own.map(|(.., value)| match value {
            DebugValue::Counter(count) => *count,
            DebugValue::Histogram(values) => values.len() as u64,
            DebugValue::Gauge(_) => 1,
        })
        .sum()
    };
    assert_eq!(counted("magnum_operations_accepted_total"), 1);
    assert_eq!(counted("magnum_operations_ended_total"), 1);
    assert_eq!(counted("magnum_operation_seconds"), 1);
    assert!(counted("magnum_steps_total") >= 2);
    assert!(counted("magnum_looks_total") >= 1);
    assert_eq!(counted("magnum_engine_busy"), 1);
}

#[tokio::test(start_paused = true)]
async fn ha_01_a_report_from_inside_is_kept_until_a_probe_knows_better() {
    use magnum_core::{Health, HealthReport};

    let bench = Bench::new();
    let (engine, cx) = (&bench.engine, &bench.cx);
    let created = bench.create("prod", 1, 1).await;
    finished(engine, cx, created.operation.id).await;
    let report = |health| HealthReport {
        health,
        reason: Some("said the agent".to_owned()),
    };
    let unknown = engine
        .report_health(cx, "prod", report(Health::Unknown))
        .await;
    assert!(matches!(unknown, Err(Error::Invalid(_))));
    let reader = RequestContext::new("demo", "eve").with_roles(["reader"]);
    let refused = engine
        .report_health(&reader, "prod", report(Health::Healthy))
        .await;
    assert!(matches!(refused, Err(Error::Forbidden { .. })));
    let other = RequestContext::new("other", "bob");
    let foreign = engine
        .report_health(&other, "prod", report(Health::Healthy))
        .await;
    assert!(matches!(foreign, Err(Error::NotFound { .. })));
    engine
        .report_health(cx, "prod", report(Health::Unhealthy))
        .await
        .unwrap();
    let health = async || engine.cluster(cx, "prod").await.unwrap().health;
    assert_eq!(health().await, Health::Unhealthy);
    bench.cloud.set_outage(true);
    tokio::time::sleep(Duration::from_secs(1300)).await;
    assert_eq!(
        health().await,
        Health::Unhealthy,
        "kept while nobody gets through"
    );
    bench.cloud.set_outage(false);
    tokio::time::sleep(Duration::from_secs(1300)).await;
    assert_eq!(health().await, Health::Healthy, "by probe");
}

#[tokio::test(start_paused = true)]
async fn sm_05_op_06_a_cluster_that_was_never_begun_is_deleted_with_nothing_left() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let cloud = MemoryCloud::new();
    let engine = engine(store, cloud.clone(), 1, EngineConfig::default());
    let cx = RequestContext::new("demo", "alice");
    let created = create(&engine, &cx, "prod", 1, 1).await;
    let deleted = engine.delete_cluster(&cx, "prod").await.unwrap();
    engine
        .run(tokio::time::sleep(Duration::from_secs(60)))
        .await;
    let ended = engine.operation(&cx, deleted.operation.id).await.unwrap();
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
    assert!(ended.leftovers.is_empty() && cloud.ledger().is_empty());
    assert!(engine.cluster(&cx, "prod").await.is_err());
    assert!(
        engine
            .leftovers(&cx, created.cluster.id)
            .await
            .unwrap()
            .is_empty()
    );
}
