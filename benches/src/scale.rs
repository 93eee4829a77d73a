//! Many clusters and many operations: what an engine costs when it has nothing to do, how fast several work together, and how soon one goes
//! on after a crash.

mod idle;
mod restart;
mod shared;

pub use idle::{Idle, fill, idle};
pub use restart::{Restart, restart};
pub use shared::{Throughput, throughput};

use std::sync::Arc;
use std::time::Duration;

use magnum_certs::{Envelope, SealingKey};
use magnum_core::driver::ClusterDriver;
use magnum_core::store::Store;
use magnum_core::{
    ClusterTemplate, Engine, EngineConfig, NewClusterTemplate, RequestContext, TemplateName,
    TemplateSpec,
};

use crate::Error;

/// Who asks for everything here.
fn caller() -> RequestContext {
    RequestContext::new("project", "user")
}

/// The same key in every process: what one has sealed another opens.
fn sealer() -> Arc<Envelope> {
    Arc::new(Envelope::new(SealingKey::from_bytes([7; 32])))
}

/// An engine with default settings, but a short lease and room for all clusters.
fn engine(
    store: Arc<dyn Store>,
    driver: Arc<dyn ClusterDriver>,
    lease: Duration,
) -> Result<Engine, Error> {
    let mut config = EngineConfig::default();
    config.lease = lease;
    config.max_clusters_per_project = 1_000_000;
    Ok(Engine::builder()
        .store(store)
        .sealer(sealer())
        .driver(driver)
        .config(config)
        .build()?)
}

/// The template of all clusters here.
async fn template(engine: &Engine) -> Result<ClusterTemplate, Error> {
    let mut spec = TemplateSpec::new("ubuntu", "m1.small");
    spec.external_network = Some("public".to_owned());
    let new = NewClusterTemplate {
        name: TemplateName::new("small")?,
        spec,
        public: false,
        hidden: false,
    };
    Ok(engine.create_cluster_template(&caller(), new).await?)
}
