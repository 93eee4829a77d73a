//! Several engines on one PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use magnum_core::driver::memory::{LedgerEntry, MemoryCloud, MemoryDriver};
use magnum_core::store::PostgresStore;
use magnum_core::{ClusterName, Engine, NewCluster, Outcome};

use super::{caller, engine, template};
use crate::Error;

/// Longer than any measurement here.
const LEASE: Duration = Duration::from_secs(60);
/// Connections of each engine to the database.
const CONNECTIONS: u32 = 10;

/// What several engines do together.
#[derive(Debug, Clone, Copy)]
pub struct Throughput {
    /// Operations in a second, from the first being worked on to the last being done.
    pub per_second: f64,
    /// How long accepting all of them took before.
    pub accepting: Duration,
}

/// Lets engines do so many operations: each makes a cluster of one control-plane node and one worker. Afterwards the ledger of the cloud
/// must show each network and node once.
///
/// # Errors
/// Those of the store and the engines; an operation that was not done, or done twice.
pub async fn throughput(
    postgres: &str,
    engines: usize,
    operations: usize,
) -> Result<Throughput, Error> {
    let url = magnum_core::store::conformance::fresh_schema(postgres).await?;
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    let mut all = Vec::new();
    for _ in 0..engines.max(1) {
        let store = Arc::new(PostgresStore::connect(&url, CONNECTIONS).await?);
        let driver = Arc::new(MemoryDriver::new(cloud.clone()));
        all.push(engine(store, driver, LEASE)?);
    }
    template(&all[0]).await?;
    let began = Instant::now();
    let mut last = None;
    for n in 0..operations {
        let mut new = NewCluster::new(ClusterName::new(format!("c{n}"))?, "small");
        new.node_count = 1;
        last = Some(all[0].create_cluster(&caller(), new).await?.operation.id);
    }
    let accepting = began.elapsed();

    let began = Instant::now();
    let running: Vec<_> = all
        .iter()
        .map(|engine| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.run(std::future::pending()).await })
        })
        .collect();
    // Watched by what the cloud has made, so that watching costs the database nothing until the end.
    while cloud.ledger_len() < operations * 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    while let Some(id) = last {
        let ended = all[0].operation(&caller(), id).await?.outcome.is_some();
        if ended && unfinished(&all[0]).await? == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let took = began.elapsed();
    for task in running {
        task.abort();
    }
    check(&all[0], &cloud, operations).await?;
    Ok(Throughput {
        per_second: operations as f64 / took.as_secs_f64(),
        accepting,
    })
}

async fn unfinished(engine: &Engine) -> Result<usize, Error> {
    let filter = magnum_core::store::OperationFilter {
        running: true,
        ..Default::default()
    };
    Ok(engine.operations(&caller(), &filter).await?.len())
}

async fn check(engine: &Engine, cloud: &MemoryCloud, operations: usize) -> Result<(), Error> {
    let filter = magnum_core::store::OperationFilter::default();
    let done = engine.operations(&caller(), &filter).await?;
    let succeeded = done
        .iter()
        .filter(|operation| operation.outcome == Some(Outcome::Succeeded));
    let succeeded = succeeded.count();
    let ledger = cloud.ledger();
    let made = ledger
        .iter()
        .filter(|entry| matches!(entry, LedgerEntry::Created(_)));
    let (made, twice) = (made.count(), cloud.made_twice().len());
    if (succeeded, made, twice, ledger.len()) == (operations, operations * 3, 0, operations * 3) {
        return Ok(());
    }
    Err(format!(
        "{succeeded} of {operations} operations succeeded, {made} things were made, {twice} of them twice"
    )
    .into())
}
