//! Going on after a crash.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use magnum_core::driver::layers::{DriverCall, DriverLayer, Layered};
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::driver::{Advance, DriverError};
use magnum_core::store::SqliteStore;
use magnum_core::{ClusterId, ClusterName, Engine, NewCluster};

use super::{caller, engine, template};
use crate::Error;

/// How long a dead engine's leases hold.
const LEASE: Duration = Duration::from_secs(2);
/// How long all operations may take to be in flight.
const LIMIT: Duration = Duration::from_secs(120);

/// How soon operations go on.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    /// From the opening of the database until every operation was worked on again.
    pub all_resumed: Duration,
    /// Of that, until the store was open and the engine built.
    pub opened: Duration,
}

/// Notes which clusters were worked on.
#[derive(Debug, Default)]
struct Seen(Mutex<HashSet<ClusterId>>);

impl Seen {
    fn count(&self) -> usize {
        self.0.lock().expect("no holder of this lock panics").len()
    }
}

#[derive(Debug)]
struct Notes(Arc<Seen>);

impl DriverLayer for Notes {
    async fn around<'a, T, F>(&'a self, _: DriverCall<'a>, run: F) -> Result<T, DriverError>
    where
        T: Send + 'a,
        F: Fn() -> BoxFuture<'a, Result<T, DriverError>> + Send + Sync + 'a,
    {
        run().await
    }

    fn advanced(&self, call: DriverCall<'_>, _: &Advance) {
        let mut seen = self.0.0.lock().expect("no holder of this lock panics");
        seen.insert(call.cluster);
    }
}

/// An engine on the database, and what it has worked on.
async fn open(path: &Path, cloud: &MemoryCloud) -> Result<(Engine, Arc<Seen>), Error> {
    let store = Arc::new(SqliteStore::open(path).await?);
    let seen = Arc::new(Seen::default());
    let driver = Arc::new(MemoryDriver::new(cloud.clone()));
    let driver = Layered::around(driver, Notes(Arc::clone(&seen)));
    Ok((engine(store, driver, LEASE)?, seen))
}

/// Drops an engine in the middle of so many creations, as a crash would, and opens another one on the same database.
///
/// # Errors
/// Those of the store and the engine; operations that do not get going.
pub async fn restart(path: &Path, operations: usize) -> Result<Restart, Error> {
    // Nodes that are never ready within this measurement keep all operations in flight.
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(u32::MAX);
    let (first, seen) = open(path, &cloud).await?;
    template(&first).await?;
    for n in 0..operations {
        let mut new = NewCluster::new(ClusterName::new(format!("c{n}"))?, "small");
        new.node_count = 2;
        first.create_cluster(&caller(), new).await?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.spawn(async move { first.run(std::future::pending()).await });
    until(&seen, operations).await?;
    // Every task of the first engine ends at its next await.
    tokio::task::spawn_blocking(move || drop(runtime)).await?;

    let began = Instant::now();
    let (second, seen) = open(path, &cloud).await?;
    let opened = began.elapsed();
    let running = tokio::spawn(async move { second.run(std::future::pending()).await });
    until(&seen, operations).await?;
    let all_resumed = began.elapsed();
    running.abort();
    Ok(Restart {
        all_resumed,
        opened,
    })
}

async fn until(seen: &Seen, operations: usize) -> Result<(), Error> {
    let began = Instant::now();
    while seen.count() < operations {
        if began.elapsed() > LIMIT {
            let seen = seen.count();
            return Err(format!("only {seen} of {operations} operations got going").into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn everything_in_flight_goes_on_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("magnum.db");
        let restart = restart(&path, 5).await.unwrap();
        assert!(restart.opened <= restart.all_resumed);
    }
}
