//! An engine on the reference driver and simulated time, for the tests of this folder.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each test uses its part"
)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::DateTime;
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::{MemoryStore, Store};
use magnum_core::{
    Accepted, ClusterName, Engine, EngineConfig, NewCluster, NewClusterTemplate, Operation,
    OperationId, RequestContext, SealContext, SealError, Sealer, Secret, SimulatedClock,
    TemplateName, TemplateSpec,
};

/// Turns bytes around and binds them to their context: enough to see that nothing goes past it.
#[derive(Debug)]
pub struct Reversing;

#[async_trait]
impl Sealer for Reversing {
    async fn seal(&self, context: &SealContext, plain: &Secret) -> Result<Vec<u8>, SealError> {
        let mut sealed = format!("{}/{}\n", context.cluster, context.purpose).into_bytes();
        sealed.extend(plain.expose().iter().rev());
        Ok(sealed)
    }

    async fn open(&self, context: &SealContext, sealed: &[u8]) -> Result<Secret, SealError> {
        let head = format!("{}/{}\n", context.cluster, context.purpose);
        let Some(body) = sealed.strip_prefix(head.as_bytes()) else {
            return Err(SealError::DoesNotOpen {
                cluster: context.cluster,
                purpose: context.purpose.clone(),
            });
        };
        Ok(Secret::new(body.iter().rev().copied().collect::<Vec<u8>>()))
    }
}

#[derive(Debug)]
pub struct Bench {
    pub engine: Engine,
    pub cloud: MemoryCloud,
    pub store: Arc<dyn Store>,
    pub cx: RequestContext,
    running: tokio::task::JoinHandle<()>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// An engine that is not running.
pub fn engine(
    store: Arc<dyn Store>,
    cloud: MemoryCloud,
    seed: u64,
    config: EngineConfig,
) -> Engine {
    let start = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    Engine::builder()
        .store(store)
        .sealer(Arc::new(Reversing))
        .driver(Arc::new(MemoryDriver::new(cloud)))
        .clock(Arc::new(SimulatedClock::new(start, seed)))
        .config(config)
        .build()
        .unwrap()
}

impl Bench {
    pub fn new() -> Self {
        Self::with(EngineConfig::default())
    }

    pub fn with(config: EngineConfig) -> Self {
        let cloud = MemoryCloud::new();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let engine = engine(Arc::clone(&store), cloud.clone(), 7, config);
        let runner = engine.clone();
        let running = tokio::spawn(async move { runner.run(std::future::pending()).await });
        Self {
            engine,
            cloud,
            store,
            cx: RequestContext::new("demo", "alice"),
            running,
        }
    }

    pub async fn create(&self, name: &str, masters: u32, workers: u32) -> Accepted {
        create(&self.engine, &self.cx, name, masters, workers).await
    }
}

/// Makes sure of a template and asks for a cluster.
pub async fn create(
    engine: &Engine,
    cx: &RequestContext,
    name: &str,
    masters: u32,
    workers: u32,
) -> Accepted {
    template(engine, cx).await;
    let mut new = NewCluster::new(ClusterName::new(name).unwrap(), "small");
    new.master_count = masters;
    new.node_count = workers;
    engine.create_cluster(cx, new).await.unwrap()
}

pub async fn template(engine: &Engine, cx: &RequestContext) {
    if engine.cluster_template(cx, "small").await.is_ok() {
        return;
    }
    let mut spec = TemplateSpec::new("ubuntu", "m1.small");
    spec.external_network = Some("public".to_owned());
    let new = NewClusterTemplate {
        name: TemplateName::new("small").unwrap(),
        spec,
        public: false,
        hidden: false,
    };
    engine.create_cluster_template(cx, new).await.unwrap();
}

/// Waits until an operation has ended or its time is over.
pub async fn finished(engine: &Engine, cx: &RequestContext, id: OperationId) -> Operation {
    for _ in 0..20_000 {
        let operation = engine.operation(cx, id).await.unwrap();
        if operation.outcome.is_some() {
            return operation;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("operation {id} does not end");
}
