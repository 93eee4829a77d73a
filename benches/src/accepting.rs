//! Accepting the creation of clusters: an engine on a database file, with the reference driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use magnum_certs::{Envelope, SealingKey};
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::SqliteStore;
use magnum_core::{
    Accepted, ClusterName, Engine, NewCluster, NewClusterTemplate, RequestContext, TemplateName,
    TemplateSpec,
};
use tempfile::TempDir;

use crate::Error;

/// Clusters of one project: what an engine allows by default.
const CLUSTERS_PER_PROJECT: u64 = 20;
/// The template of all clusters.
const TEMPLATE: &str = "small";

/// An engine that accepts clusters, on a database in a directory that goes with it. The system's `TMPDIR` says where that is.
#[derive(Debug)]
pub struct Acceptance {
    engine: Engine,
    next: AtomicU64,
    _directory: TempDir,
}

impl Acceptance {
    /// An engine with a public template and no cluster. Nothing works on what it accepts until [`Acceptance::engine`] is run.
    ///
    /// # Errors
    /// Where the database cannot be made or the engine refuses its settings.
    pub async fn open() -> Result<Self, Error> {
        let directory = tempfile::tempdir()?;
        let store = SqliteStore::open(directory.path().join("magnum.db")).await?;
        let engine = Engine::builder()
            .store(Arc::new(store))
            .sealer(Arc::new(Envelope::new(SealingKey::generate()?)))
            .driver(Arc::new(MemoryDriver::new(MemoryCloud::new())))
            .build()?;
        let mut spec = TemplateSpec::new("ubuntu", "m1.small");
        spec.external_network = Some("public".to_owned());
        let template = NewClusterTemplate {
            name: TemplateName::new(TEMPLATE)?,
            spec,
            public: true,
            hidden: false,
        };
        let operator = RequestContext::new("operators", "olga").as_admin();
        engine.create_cluster_template(&operator, template).await?;
        Ok(Self {
            engine,
            next: AtomicU64::new(0),
            _directory: directory,
        })
    }

    /// The engine, to be run.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Accepts one more cluster of 3 control-plane nodes and 5 workers. Every project has as many clusters as it may.
    ///
    /// # Errors
    /// Where the engine refuses it.
    pub async fn create(&self) -> Result<Accepted, Error> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let project = format!("project-{}", number / CLUSTERS_PER_PROJECT);
        let cx = RequestContext::new(project, "alice");
        let mut new = NewCluster::new(ClusterName::new(format!("c-{number}"))?, TEMPLATE);
        new.master_count = 3;
        new.node_count = 5;
        Ok(self.engine.create_cluster(&cx, new).await?)
    }

    /// Accepts so many clusters one after the other and gives how long each took.
    ///
    /// # Errors
    /// Where the engine refuses one.
    pub async fn create_many(&self, count: usize) -> Result<Vec<Duration>, Error> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let begin = Instant::now();
            self.create().await?;
            times.push(begin.elapsed());
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_clusters_are_accepted_than_one_project_may_have() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let acceptance = Acceptance::open().await.unwrap();
            assert_eq!(acceptance.create_many(21).await.unwrap().len(), 21);
        });
    }
}
