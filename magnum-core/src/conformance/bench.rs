//! An engine on a rig, driven by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

use super::gate::{Gate, Stop};
use super::rig::Rig;
use crate::clock::Clock;
use crate::engine::{ChangeRequest, Engine, EngineConfig, RequestContext};
use crate::id::OperationId;
use crate::model::{ClusterName, NewCluster, NewClusterTemplate, TemplateName};
use crate::operation::{OnBusy, Operation};
use crate::sealer::{SealContext, SealError, Sealer};
use crate::secret::Secret;
use crate::store::{MemoryStore, OperationFilter, Store};

/// The name of the suite's cluster.
pub(super) const CLUSTER: &str = "conformance";
/// How often an engine goes round before an operation counts as one that never ends.
const ROUNDS: usize = 5000;

/// A clock that is put forward by hand and otherwise goes with tokio's.
#[derive(Debug)]
pub(super) struct HandClock {
    start: DateTime<Utc>,
    began: tokio::time::Instant,
    ahead: Mutex<(Duration, SmallRng)>,
}

impl HandClock {
    fn new(start: DateTime<Utc>) -> Self {
        Self {
            start,
            began: tokio::time::Instant::now(),
            ahead: Mutex::new((Duration::ZERO, SmallRng::seed_from_u64(1))),
        }
    }

    fn put_forward(&self, by: Duration) {
        self.ahead.lock().expect("no holder of this lock panics").0 += by;
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> DateTime<Utc> {
        let ahead = self.ahead.lock().expect("no holder of this lock panics").0;
        self.start + self.began.elapsed() + ahead
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self) -> u64 {
        let mut ahead = self.ahead.lock().expect("no holder of this lock panics");
        ahead.1.next_u64()
    }
}

/// Keeps bytes as they are, with their context before them: the suite has nothing to hide.
#[derive(Debug)]
struct Plain;

#[async_trait]
impl Sealer for Plain {
    async fn seal(&self, _: &SealContext, plain: &Secret) -> Result<Vec<u8>, SealError> {
        Ok(plain.expose().to_vec())
    }

    async fn open(&self, _: &SealContext, sealed: &[u8]) -> Result<Secret, SealError> {
        Ok(Secret::new(sealed.to_vec()))
    }
}

/// A rig with an engine on it.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) rig: Box<dyn Rig>,
    pub(super) cx: RequestContext,
    pub(super) clock: Arc<HandClock>,
    store: Arc<dyn Store>,
    rounds: AtomicU64,
}

impl Bench {
    pub(super) fn new(rig: Box<dyn Rig>) -> Self {
        let clock = Arc::new(HandClock::new(rig.begins()));
        Self {
            rig,
            cx: RequestContext::new("conformance", "conformance"),
            clock,
            store: Arc::new(MemoryStore::new()),
            rounds: AtomicU64::new(0),
        }
    }

    /// An engine on the same store, as a new process would be, that stops at a chosen write.
    pub(super) fn engine(&self, stop: Option<(u64, Stop)>) -> Result<(Engine, Arc<Gate>), String> {
        let gate = Arc::new(Gate::new(Arc::clone(&self.store), stop));
        let config = EngineConfig {
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(2),
            ..EngineConfig::default()
        };
        let store: Arc<dyn Store> = Arc::clone(&gate) as _;
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as _;
        let built = Engine::builder()
            .store(store)
            .sealer(Arc::new(Plain))
            .driver(self.rig.driver())
            .clock(clock)
            .config(config)
            .build();
        Ok((built.map_err(|error| error.to_string())?, gate))
    }

    /// Asks for the suite's cluster: one control-plane node and two workers.
    pub(super) async fn ask_to_create(&self, engine: &Engine) -> Result<OperationId, String> {
        let name = TemplateName::new("conformance").map_err(|e| e.to_string())?;
        if engine
            .cluster_template(&self.cx, "conformance")
            .await
            .is_err()
        {
            let mut spec = self.rig.template();
            spec.driver = Some(self.rig.driver().name().to_owned());
            let new = NewClusterTemplate {
                name,
                spec,
                public: false,
                hidden: false,
            };
            let made = engine.create_cluster_template(&self.cx, new).await;
            made.map_err(|error| error.to_string())?;
        }
        let name = ClusterName::new(CLUSTER).map_err(|e| e.to_string())?;
        let mut new = NewCluster::new(name, "conformance");
        new.node_count = 2;
        let accepted = engine.create_cluster(&self.cx, new).await;
        Ok(accepted.map_err(|error| error.to_string())?.operation.id)
    }

    /// Asks for a change of the suite's cluster.
    pub(super) async fn ask(
        &self,
        engine: &Engine,
        request: ChangeRequest,
    ) -> Result<OperationId, String> {
        let asked = engine
            .change(&self.cx, CLUSTER, request, OnBusy::Refuse)
            .await;
        Ok(asked.map_err(|error| error.to_string())?.operation.id)
    }

    /// One round of an engine; then time goes on to whatever is due next.
    pub(super) async fn round(&self, engine: &Engine) -> Result<(), String> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        engine.run_due().await.map_err(|error| error.to_string())?;
        self.rig.settle().await;
        self.to_next_due().await
    }

    /// How many rounds there were.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Puts the clock forward to what is due next, ends of leases included.
    pub(super) async fn to_next_due(&self) -> Result<(), String> {
        let next = self.store.next_due().await.map_err(|e| e.to_string())?;
        if let Some(next) = next
            && let Ok(wait) = (next - self.clock.now()).to_std()
        {
            self.clock.put_forward(wait + Duration::from_millis(1));
        }
        Ok(())
    }

    /// Goes on until an operation has ended.
    pub(super) async fn finish(
        &self,
        engine: &Engine,
        id: OperationId,
    ) -> Result<Operation, String> {
        for _ in 0..ROUNDS {
            let operation = engine.operation(&self.cx, id).await;
            let operation = operation.map_err(|error| error.to_string())?;
            if operation.outcome.is_some() {
                return Ok(operation);
            }
            self.round(engine).await?;
        }
        Err(format!("operation {id} does not end in {ROUNDS} rounds"))
    }

    /// Whether the cluster's operations have all ended.
    pub(super) async fn running(&self, engine: &Engine) -> Result<Vec<Operation>, String> {
        let filter = OperationFilter {
            running: true,
            ..OperationFilter::default()
        };
        let found = engine.operations(&self.cx, &filter).await;
        found.map_err(|error| error.to_string())
    }
}
