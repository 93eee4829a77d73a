//! An engine on the reference driver, for examples that need no cloud.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use magnum_certs::{Certificates, Envelope, ReferenceKeys, SealingKey};
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::MemoryStore;
use magnum_core::{
    Accepted, Clock, ClusterName, Engine, EventKind, NewCluster, NewClusterTemplate, Outcome,
    RequestContext, TemplateName, TemplateSpec,
};

/// An engine whose clusters are entries of a map, with real keys and certificates on their nodes, and a clock that waits for nothing.
#[derive(Debug)]
pub struct ReferenceWorld {
    /// The engine.
    pub engine: Engine,
    /// A member of the project that owns the clusters.
    pub caller: RequestContext,
    /// What the driver makes.
    pub cloud: MemoryCloud,
    /// The certificates of the engine's clusters.
    pub certificates: Certificates,
    clock: Arc<Skipping>,
}

impl ReferenceWorld {
    /// An engine with one cluster of one control-plane node and two workers.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn with_cluster(name: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let cloud = MemoryCloud::new();
        let clock = Arc::new(Skipping::default());
        let driver = MemoryDriver::new(cloud.clone()).with_keys(Arc::new(ReferenceKeys::default()));
        let engine = Engine::builder()
            .store(Arc::new(MemoryStore::new()))
            .sealer(Arc::new(Envelope::new(SealingKey::generate()?)))
            .driver(Arc::new(driver))
            .clock(Arc::clone(&clock) as _)
            .build()?;
        let world = Self {
            certificates: Certificates::new(&engine).with_clock(Arc::clone(&clock) as _),
            caller: RequestContext::new("project-a", "alice"),
            engine,
            cloud,
            clock,
        };
        let mut spec = TemplateSpec::new("ubuntu", "m1.small");
        spec.external_network = Some("public".to_owned());
        let template = NewClusterTemplate {
            name: TemplateName::new("small")?,
            spec,
            public: false,
            hidden: false,
        };
        world
            .engine
            .create_cluster_template(&world.caller, template)
            .await?;
        let mut new = NewCluster::new(ClusterName::new(name)?, "small");
        new.node_count = 2;
        let created = world.engine.create_cluster(&world.caller, new).await?;
        world.finish(&created, |_| ()).await?;
        Ok(world)
    }

    /// Lets the engine work until an operation has succeeded; `at` hears of every event meanwhile.
    ///
    /// # Errors
    /// Those of the engine, and where the operation ended otherwise.
    pub async fn finish(
        &self,
        accepted: &Accepted,
        mut at: impl FnMut(&EventKind),
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut seen = self.engine.last_event().await?;
        loop {
            self.engine.run_due().await?;
            self.clock.skip(Duration::from_secs(5));
            for event in self.engine.events(&self.caller, seen, 1000).await? {
                seen = event.seq;
                at(&event.kind);
            }
            let operation = self
                .engine
                .operation(&self.caller, accepted.operation.id)
                .await?;
            match operation.outcome {
                None => {}
                Some(Outcome::Succeeded) => return Ok(()),
                Some(other) => return Err(format!("{other:?}: {:?}", operation.causes).into()),
            }
        }
    }
}

/// The system's clock, put forward where nothing but time is waited for.
#[derive(Debug, Default)]
struct Skipping(Mutex<Duration>);

impl Skipping {
    fn skip(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

#[async_trait]
impl Clock for Skipping {
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().0
    }
}
