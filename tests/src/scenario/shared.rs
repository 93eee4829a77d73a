//! Several engine processes share one PostgreSQL, and some are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use magnum_certs::{Envelope, load_or_create_sealing_key};
use magnum_core::store::{OperationFilter, PostgresStore};
use magnum_core::{
    ClusterName, Engine, EngineConfig, EngineId, NewCluster, OperationId, Outcome, RequestContext,
    Resize, TemplateSpec,
};
use magnum_driver_template::TemplateDriver;
use magnum_heat::Env;
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::machines::{MachineClient, MachineServer};
use crate::{Failure, publish};

/// The settings of a worker process, by its environment.
const POSTGRES: &str = "SHARED_POSTGRES";
const MACHINES: &str = "SHARED_MACHINES";
const KEY: &str = "SHARED_KEY";
const ENGINE: &str = "SHARED_ENGINE";

/// How many engine processes there are at first; half of them are killed.
const ENGINES: usize = 4;

/// Half of `operations` make clusters, the others change and remove them, done by four processes of `program` that calls
/// [`share_until_killed`]. One is killed with SIGKILL in the middle of each half. By the ledger of the service on which they build, and not
/// by our tables, each machine was made once and none too many (rule `SP-06`).
///
/// # Errors
/// Whatever does not hold.
pub async fn killed_engines_share(
    postgres: &str,
    program: &Path,
    operations: usize,
) -> Result<(), Failure> {
    let url = magnum_core::store::conformance::fresh_schema(postgres).await?;
    let folder = tempfile::tempdir()?;
    let key = folder.path().join("key");
    let server = MachineServer::start().await?;
    let engine = open(&url, &key, &server.url, EngineId::from_uuid(Uuid::new_v4())).await?;
    let caller = RequestContext::new("project", "user");
    let mut spec = TemplateSpec::new("image", "flavor");
    spec.external_network = Some("public".to_owned());
    spec.driver = Some("template".to_owned());
    let template = publish(&engine, &caller, spec).await?;

    let clusters = operations / 2;
    let mut ids = Vec::new();
    let mut asked = Vec::new();
    for n in 0..clusters {
        let mut new = NewCluster::new(ClusterName::new(format!("c{n}"))?, template.id.to_string());
        new.node_count = 1;
        let accepted = engine.create_cluster(&caller, new).await?;
        ids.push(accepted.cluster.id);
        asked.push(accepted.operation.id);
    }
    let began = std::time::Instant::now();
    let mut workers = Vec::new();
    for _ in 0..ENGINES {
        workers.push(Worker::spawn(program, &url, &key, &server)?);
    }
    kill_at(clusters / 2, workers.remove(0), &server, &engine, &caller).await?;
    all_succeed(&engine, &caller, &asked).await?;

    // Of five clusters three grow by two nodes, and two go.
    let before = server.machines.made().len();
    let (mut grown, mut removed) = (BTreeSet::new(), BTreeSet::new());
    asked.clear();
    // Frozen meanwhile, so that there is enough to do when they go on.
    for worker in &workers {
        worker.signal("STOP").await?;
    }
    for (n, id) in ids.iter().enumerate() {
        let accepted = if n % 5 < 3 {
            grown.insert(id.to_string());
            engine.resize(&caller, *id, Resize::to(3)).await?
        } else {
            removed.insert(id.to_string());
            engine.delete_cluster(&caller, *id).await?
        };
        asked.push(accepted.operation.id);
    }
    for worker in &workers {
        worker.signal("CONT").await?;
    }
    let middle = before + grown.len() / 2;
    kill_at(middle, workers.remove(0), &server, &engine, &caller).await?;
    all_succeed(&engine, &caller, &asked).await?;
    println!(
        "{operations} operations, {} of {ENGINES} engines killed: {:.1} s",
        ENGINES - workers.len(),
        began.elapsed().as_secs_f64()
    );

    let made = server.machines.made();
    let names: BTreeSet<_> = made.iter().collect();
    assert_eq!(names.len(), made.len(), "no name is made twice");
    assert_eq!(
        made.len(),
        2 * clusters + 2 * grown.len(),
        "not one machine too many was ever made"
    );
    let mut counts = BTreeMap::<String, usize>::new();
    for machine in server.machines.all() {
        *counts.entry(machine.mark).or_default() += 1;
    }
    let expected = grown.into_iter().map(|id| (id, 4)).collect();
    assert_eq!(counts, expected, "each cluster has what it should have");
    for mut worker in workers {
        worker.kill().await?;
    }
    Ok(())
}

/// A process with an engine.
struct Worker {
    engine: EngineId,
    process: Child,
}

impl Worker {
    fn spawn(
        program: &Path,
        url: &str,
        key: &Path,
        server: &MachineServer,
    ) -> Result<Self, Failure> {
        let id = Uuid::new_v4();
        let process = Command::new(program)
            .env(POSTGRES, url)
            .env(MACHINES, server.url.as_str())
            .env(KEY, key)
            .env(ENGINE, id.to_string())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            engine: EngineId::from_uuid(id),
            process,
        })
    }

    async fn signal(&self, name: &str) -> Result<(), Failure> {
        let id = self.process.id().ok_or("the engine's process runs")?;
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(id.to_string())
            .status()
            .await?;
        if sent.success() {
            return Ok(());
        }
        Err(format!("signal {name} was not sent to process {id}").into())
    }

    async fn kill(&mut self) -> Result<(), Failure> {
        if let Some(status) = self.process.try_wait()? {
            return Err(format!("an engine ended by itself: {status}").into());
        }
        Ok(self.process.kill().await?)
    }
}

/// Kills a process when so many machines were made, and makes sure that it was at work.
async fn kill_at(
    made: usize,
    mut worker: Worker,
    server: &MachineServer,
    engine: &Engine,
    caller: &RequestContext,
) -> Result<(), Failure> {
    while server.machines.made().len() < made {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    worker.kill().await?;
    let running = OperationFilter {
        running: true,
        ..OperationFilter::default()
    };
    let running = engine.operations(caller, &running).await?;
    let orphans = running
        .iter()
        .filter(|operation| operation.lease.is_some_and(|l| l.owner == worker.engine));
    let orphans = orphans.count();
    println!(
        "killed with {orphans} operations in its hands, {} to do",
        running.len()
    );
    assert!(orphans > 0, "it was killed in the middle of its work");
    Ok(())
}

async fn all_succeed(
    engine: &Engine,
    caller: &RequestContext,
    asked: &[OperationId],
) -> Result<(), Failure> {
    for id in asked {
        let ended = loop {
            let operation = engine.operation(caller, *id).await?;
            if operation.outcome.is_some() {
                break operation;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(ended.outcome, Some(Outcome::Succeeded), "{ended:?}");
    }
    Ok(())
}

async fn open(
    postgres: &str,
    key: &Path,
    machines: &url::Url,
    id: EngineId,
) -> Result<Engine, Failure> {
    let mut config = EngineConfig::default();
    config.lease = Duration::from_secs(3);
    config.poll = Duration::from_millis(100);
    config.workers = 8;
    config.max_clusters_per_project = 100_000;
    Ok(Engine::builder()
        .id(id)
        .store(Arc::new(PostgresStore::connect(postgres, 5).await?))
        .sealer(Arc::new(Envelope::new(load_or_create_sealing_key(key)?)))
        .driver(Arc::new(TemplateDriver::new(MachineClient::new(
            machines.clone(),
        )?)))
        .config(config)
        .build()?)
}

/// Whether the environment says that [`share_until_killed`] is meant.
#[must_use]
pub fn is_asked_to_share() -> bool {
    Env::from_process().var(POSTGRES).is_some()
}

/// The worker process: an engine on the PostgreSQL that its environment names, until it is killed.
///
/// # Errors
/// Where the engine cannot be opened.
pub async fn share_until_killed() -> Result<(), Failure> {
    let env = Env::from_process();
    let setting = |name: &str| env.var(name).ok_or_else(|| format!("{name} is not set"));
    let id = EngineId::from_uuid(setting(ENGINE)?.parse()?);
    let machines = setting(MACHINES)?.parse()?;
    let engine = open(setting(POSTGRES)?, Path::new(setting(KEY)?), &machines, id).await?;
    engine.run(std::future::pending()).await;
    Ok(())
}
