//! The reference driver keeps the contract, by itself and in layers.
#![cfg(feature = "conformance")]
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

mod bench_engine;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bench_engine::{Bench, Reversing, create, finished};
use chrono::DateTime;
use magnum_core::conformance::{self, Fault, MemoryRig, Options, Report, Rig};
use magnum_core::driver::layers::{Chaos, Layered, Retry, Timeout};
use magnum_core::driver::memory::{CloudFault, MemoryCloud, MemoryDriver};
use magnum_core::driver::{Capability, ClusterDriver, DriverError};
use magnum_core::store::MemoryStore;
use magnum_core::{
    Engine, EventKind, KubeVersion, RequestContext, SimulatedClock, SystemClock, TemplateSpec,
};

const CLAIMS: [Capability; 13] = [
    Capability::CreateDelete,
    Capability::Resize,
    Capability::ResizeControlPlane,
    Capability::NodeGroups,
    Capability::ReplaceNode,
    Capability::ReplaceControlPlaneNode,
    Capability::Upgrade,
    Capability::UpdateSettings,
    Capability::RotateCa,
    Capability::RotateCredential,
    Capability::BackUpEtcd,
    Capability::RestoreEtcd,
    Capability::ProbeHealth,
];

fn assert_kept(report: &Report) {
    println!("{report}");
    report.assert_claims(CLAIMS);
    assert_eq!(report.skipped(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_memory_driver_keeps_the_contract() {
    let factory = || async { Box::new(MemoryRig::new()) as Box<dyn Rig> };
    assert_kept(&conformance::run(factory).await);
}

/// The reference driver in layers.
#[derive(Debug)]
struct LayeredRig {
    inner: MemoryRig,
    driver: Arc<dyn ClusterDriver>,
}

impl LayeredRig {
    fn new(layers: impl FnOnce(Arc<dyn ClusterDriver>) -> Arc<dyn ClusterDriver>) -> Self {
        let inner = MemoryRig::new();
        let driver = layers(inner.driver());
        Self { inner, driver }
    }
}

#[async_trait]
impl Rig for LayeredRig {
    fn driver(&self) -> Arc<dyn ClusterDriver> {
        Arc::clone(&self.driver)
    }

    fn template(&self) -> TemplateSpec {
        self.inner.template()
    }

    fn upgrade(&self) -> Option<(KubeVersion, String)> {
        self.inner.upgrade()
    }

    async fn inventory(&self) -> Vec<String> {
        self.inner.inventory().await
    }

    async fn created(&self) -> Vec<String> {
        self.inner.created().await
    }

    fn calls(&self) -> u64 {
        self.inner.calls()
    }

    fn inject(&self, after: u64, fault: Fault) {
        self.inner.inject(after, fault);
    }
}

fn patient(driver: Arc<dyn ClusterDriver>) -> Arc<dyn ClusterDriver> {
    let clock = Arc::new(SystemClock);
    let limited = Layered::around(driver, Timeout::new(Duration::from_secs(20), clock.clone()));
    Layered::around(limited, Retry::new(clock))
}

#[tokio::test(start_paused = true)]
async fn a_driver_in_retries_and_timeouts_keeps_the_contract() {
    let factory = || async { Box::new(LayeredRig::new(patient)) as Box<dyn Rig> };
    assert_kept(&conformance::run_with(factory, &Options::sampled(6)).await);
}

#[tokio::test(start_paused = true)]
async fn a_driver_in_chaos_keeps_the_contract() {
    let seed = AtomicU64::new(0);
    let factory = || {
        let seed = seed.fetch_add(1, Ordering::Relaxed);
        async move {
            let chaotic = |driver| {
                let chaos = Chaos::seeded(seed).refusing(0.1).losing(0.2).dropping(0.2);
                Layered::around(driver, chaos) as Arc<dyn ClusterDriver>
            };
            Box::new(LayeredRig::new(chaotic)) as Box<dyn Rig>
        }
    };
    assert_kept(&conformance::run_with(factory, &Options::sampled(6)).await);
}

#[tokio::test(start_paused = true)]
async fn chaos_that_is_tried_again_at_once_is_not_seen_by_the_engine() {
    let cloud = MemoryCloud::new();
    let troubled = Layered::around(
        Arc::new(MemoryDriver::new(cloud.clone())),
        Chaos::seeded(7).refusing(1.0).at_most(2),
    );
    let driver = Layered::around(troubled.clone(), Retry::new(Arc::new(SystemClock)));
    let bench = Bench::new();
    bench.create("prod", 1, 1).await;
    let view = bench.engine.cluster_view(&bench.cx, "prod").await.unwrap();
    let began = tokio::time::Instant::now();
    driver.leftovers(&view).await.unwrap();
    assert_eq!(troubled.layer().left(), 0, "two tries went wrong");
    let waited = began.elapsed();
    let pauses = Duration::from_millis(450)..Duration::from_millis(750);
    assert!(pauses.contains(&waited), "{waited:?}");

    let troubled = Layered::around(
        Arc::new(MemoryDriver::new(cloud)),
        Chaos::seeded(7).refusing(1.0).at_most(3),
    );
    let driver = Layered::around(troubled, Retry::new(Arc::new(SystemClock)));
    let error = driver.leftovers(&view).await.unwrap_err();
    assert!(matches!(error, DriverError::Unavailable { .. }), "{error}");
}

/// Follows tokio's time, which the tests have paused.
fn clock() -> Arc<SimulatedClock> {
    let start = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    Arc::new(SimulatedClock::new(start, 7))
}

fn engine(driver: Arc<dyn ClusterDriver>) -> Engine {
    Engine::builder()
        .clock(clock())
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Reversing))
        .driver(driver)
        .build()
        .unwrap()
}

/// Makes a cluster and waits until it is there.
async fn make(engine: &Engine, cx: &RequestContext) {
    let created = create(engine, cx, "prod", 1, 1).await;
    let runner = engine.clone();
    let running = tokio::spawn(async move { runner.run(std::future::pending()).await });
    let ended = finished(engine, cx, created.operation.id).await;
    assert_eq!(ended.outcome, Some(magnum_core::Outcome::Succeeded));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_ended_by_the_layer_before_the_engine_would() {
    let cloud = MemoryCloud::new();
    cloud.inject(2, CloudFault::Hang);
    let limit = Timeout::new(Duration::from_secs(5), clock());
    let engine = engine(Layered::around(Arc::new(MemoryDriver::new(cloud)), limit));
    let cx = RequestContext::new("demo", "alice");
    make(&engine, &cx).await;
    let events = engine.events(&cx, 0, 1000).await.unwrap();
    let errors: Vec<_> = events
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::OperationRetrying { error, .. } => Some(error),
            _ => None,
        })
        .collect();
    let expected = "driver memory is not available: advance did not return within 5s";
    assert_eq!(errors, [expected]);
}

#[cfg(feature = "metrics")]
#[tokio::test(start_paused = true)]
async fn calls_and_advances_are_counted() {
    use magnum_core::driver::layers::Metrics;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    let _installed = metrics::set_default_local_recorder(&recorder);
    let cloud = MemoryCloud::new();
    cloud.inject(1, CloudFault::Refuse);
    let engine = engine(Layered::around(
        Arc::new(MemoryDriver::new(cloud)),
        Metrics::new(),
    ));
    make(&engine, &RequestContext::new("demo", "alice")).await;

    let mut counted = std::collections::BTreeMap::new();
    for (key, _, _, value) in snapshots.snapshot().into_vec() {
        let key = key.key();
        let labels: Vec<_> = key.labels().map(metrics::Label::value).collect();
        let name = format!("{} {}", key.name(), labels.join(" "));
        let count = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Histogram(times) => times.len() as u64,
            DebugValue::Gauge(_) => 0,
        };
        counted.insert(name, count);
    }
    let of = |name: &str| counted.get(name).copied().unwrap_or_default();
    assert_eq!(
        of("magnum_driver_calls_total memory advance create retried"),
        1,
        "{counted:#?}"
    );
    let ok = of("magnum_driver_calls_total memory advance create ok");
    assert!(ok > 1, "{counted:#?}");
    assert_eq!(
        of("magnum_driver_call_seconds memory advance create"),
        ok + 1
    );
    assert_eq!(of("magnum_driver_advances_total memory create done"), 1);
    assert_eq!(
        of("magnum_driver_advances_total memory create again"),
        ok - 1
    );
}
