//! Four engines share the work on one PostgreSQL; one of them ends in the middle, and what it had begun is done by the others.
//!
//! `MAGNUM_POSTGRES_URL=postgres://user@host/database cargo run -p magnum-examples --example postgres_many_engines`
//!
//! The engines are tasks of one process here and have one cloud in memory. Nothing between them is shared but that and the database, so
//! they could as well be processes on several machines.

use std::sync::Arc;
use std::time::Duration;

use magnum_certs::{Envelope, SealingKey};
use magnum_core::driver::memory::{LedgerEntry, MemoryCloud, MemoryDriver};
use magnum_core::store::PostgresStore;
use magnum_core::{
    ClusterName, Engine, EngineConfig, NewCluster, NewClusterTemplate, OperationId, Outcome,
    RequestContext, TemplateName, TemplateSpec,
};

type Failed = Box<dyn std::error::Error + Send + Sync>;

const VARIABLE: &str = "MAGNUM_POSTGRES_URL";
const ENGINES: usize = 4;
const CLUSTERS: usize = 40;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let Ok(url) = std::env::var(VARIABLE) else {
        eprintln!(
            "postgres_many_engines: set {VARIABLE} to the URL of an empty PostgreSQL database"
        );
        std::process::exit(2);
    };
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    // All engines of one database need the same key: what one has sealed another opens.
    let key = SealingKey::generate()?.to_text();
    let mut engines = Vec::new();
    for _ in 0..ENGINES {
        let mut config = EngineConfig::default();
        config.lease = Duration::from_secs(2);
        config.max_clusters_per_project = CLUSTERS as u64;
        let key = SealingKey::from_text(secrecy::ExposeSecret::expose_secret(&key))?;
        let engine = Engine::builder()
            .store(Arc::new(PostgresStore::connect(&url, 5).await?))
            .sealer(Arc::new(Envelope::new(key)))
            .driver(Arc::new(MemoryDriver::new(cloud.clone())))
            .config(config)
            .build()?;
        engines.push(engine);
    }

    // A project of this run's own: the database may hold those of earlier ones.
    let caller = RequestContext::new(format!("project-{}", uuid::Uuid::new_v4()), "user");
    let mut spec = TemplateSpec::new("ubuntu", "m1.small");
    spec.external_network = Some("public".to_owned());
    let template = NewClusterTemplate {
        name: TemplateName::new("small")?,
        spec,
        public: false,
        hidden: false,
    };
    let template = engines[0]
        .create_cluster_template(&caller, template)
        .await?;
    let mut asked = Vec::new();
    for n in 0..CLUSTERS {
        let name = ClusterName::new(format!("c{n}"))?;
        let mut new = NewCluster::new(name, template.id.to_string());
        new.node_count = 2;
        asked.push(engines[0].create_cluster(&caller, new).await?.operation.id);
    }

    let mut running = Vec::new();
    for engine in &engines {
        let engine = engine.clone();
        running.push(tokio::spawn(async move {
            engine.run(std::future::pending()).await;
        }));
    }
    while cloud.ledger().len() < CLUSTERS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Dropped at its next await, as a crash would; its leases run out after two seconds.
    running.remove(0).abort();
    println!(
        "one engine ended after {} things were made",
        cloud.ledger().len()
    );
    succeed(&engines[1], &caller, &asked).await?;

    assert!(cloud.made_twice().is_empty(), "{:?}", cloud.made_twice());
    let made = cloud.ledger();
    let made = made
        .iter()
        .filter(|e| matches!(e, LedgerEntry::Created(_)))
        .count();
    println!(
        "{made} things made by {ENGINES} engines for {CLUSTERS} clusters: a network and 3 nodes each, none twice"
    );

    asked.clear();
    for cluster in engines[1].clusters(&caller).await? {
        asked.push(
            engines[1]
                .delete_cluster(&caller, cluster.id)
                .await?
                .operation
                .id,
        );
    }
    succeed(&engines[1], &caller, &asked).await?;
    for task in running {
        task.abort();
    }
    engines[1]
        .delete_cluster_template(&caller, &template.id.to_string())
        .await?;
    println!(
        "postgres_many_engines: {made} made once, {} left over",
        cloud.inventory().len()
    );
    Ok(())
}

async fn succeed(
    engine: &Engine,
    caller: &RequestContext,
    asked: &[OperationId],
) -> Result<(), Failed> {
    for id in asked {
        loop {
            let operation = engine.operation(caller, *id).await?;
            match operation.outcome {
                Some(Outcome::Succeeded) => break,
                Some(_) => return Err(format!("{:?}", operation.causes).into()),
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
    Ok(())
}
