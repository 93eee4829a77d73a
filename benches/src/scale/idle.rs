//! Clusters that nobody changes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::{Commit, SqliteStore, Store as _, Write};
use magnum_core::{ClusterId, ClusterName, Engine, NewCluster, NodeGroupId, Outcome};
use uuid::Uuid;

use super::{caller, engine, template};
use crate::Error;
use crate::budget::{Amount, memory, process_time};

/// How many clusters are written in one transaction.
const BATCH: usize = 500;
/// Longer than any measurement here.
const LEASE: Duration = Duration::from_secs(30);

/// What an engine takes that has nothing to do.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    /// The share of one core.
    pub cpu: Amount,
    /// Resident memory at the end.
    pub resident: Option<Amount>,
    /// The most that was resident.
    pub peak: Option<Amount>,
}

/// Fills a database with so many finished clusters of one control-plane node and two workers: one is made by an engine, the others are
/// copies of its rows under other ids and names.
///
/// # Errors
/// Those of the store and the engine.
pub async fn fill(path: &Path, clusters: usize) -> Result<(), Error> {
    let store = Arc::new(SqliteStore::open(path).await?);
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    let engine = engine(store.clone(), Arc::new(MemoryDriver::new(cloud)), LEASE)?;
    let first = make_one(&engine).await?;
    let view = engine.cluster_view(&caller(), first).await?;
    let mut left = clusters.saturating_sub(1);
    let mut number = 0;
    while left > 0 {
        let mut commit = Commit::default();
        for _ in 0..left.min(BATCH) {
            number += 1;
            let mut cluster = view.cluster.clone();
            cluster.id = ClusterId::from_uuid(Uuid::new_v4());
            cluster.name = ClusterName::new(format!("idle-{number}"))?;
            for group in &view.node_groups {
                let mut group = group.clone();
                group.id = NodeGroupId::from_uuid(Uuid::new_v4());
                group.cluster_id = cluster.id;
                // The copies have no memo, so a look at them finds no members.
                group.members.clear();
                commit.writes.push(Write::NodeGroup(Box::new(group)));
            }
            let at = commit.writes.len() - view.node_groups.len();
            commit.writes.insert(at, Write::Cluster(Box::new(cluster)));
        }
        left -= left.min(BATCH);
        store.commit(commit).await?;
    }
    Ok(())
}

async fn make_one(engine: &Engine) -> Result<ClusterId, Error> {
    template(engine).await?;
    let mut new = NewCluster::new(ClusterName::new("first")?, "small");
    new.node_count = 2;
    let accepted = engine.create_cluster(&caller(), new).await?;
    while engine.run_due().await? > 0 {}
    let ended = engine.operation(&caller(), accepted.operation.id).await?;
    if ended.outcome == Some(Outcome::Succeeded) {
        return Ok(accepted.cluster.id);
    }
    Err(format!("the first cluster was not made: {ended:?}").into())
}

/// Lets an engine run on such a database for a while, in a process that has done nothing else.
///
/// # Errors
/// Those of the store.
pub async fn idle(path: &Path, during: Duration) -> Result<Idle, Error> {
    let store = Arc::new(SqliteStore::open(path).await?);
    let driver = Arc::new(MemoryDriver::new(MemoryCloud::new()));
    let engine = engine(store, driver, LEASE)?;
    let running = tokio::spawn(async move { engine.run(std::future::pending()).await });
    // What is read once at the start does not count.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (elapsed, before) = (Instant::now(), process_time());
    tokio::time::sleep(during).await;
    let cpu = process_time().saturating_sub(before);
    let share = cpu.as_secs_f64() / elapsed.elapsed().as_secs_f64();
    running.abort();
    Ok(Idle {
        cpu: Amount::share(share),
        resident: memory("VmRSS:"),
        peak: memory("VmHWM:"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_filled_database_holds_living_clusters_of_which_none_is_worked_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("magnum.db");
        fill(&path, 700).await.unwrap();
        let store = Arc::new(SqliteStore::open(&path).await.unwrap());
        let driver = Arc::new(MemoryDriver::new(MemoryCloud::new()));
        let engine = engine(store, driver, LEASE).unwrap();
        assert_eq!(engine.run_due().await.unwrap(), 0);
        let all = engine.clusters(&caller()).await.unwrap();
        assert_eq!(all.len(), 700);
        let groups = engine.node_groups(&caller(), all[699].id).await.unwrap();
        assert_eq!(groups.len(), 2);
    }
}
