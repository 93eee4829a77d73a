//! A process that is killed in the middle of a creation, and another that goes on where it was: nothing is made twice.
//!
//! `cargo run -p magnum-examples --example resume_after_crash`
//!
//! The embedded cloud runs in this process. The engine runs in a second one, which is this program started again, on a database in a
//! directory. That one is killed with SIGKILL as soon as the cloud's ledger shows its first server; then an engine in this process opens
//! the same database.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use magnum_certs::{Envelope, load_or_create_sealing_key};
use magnum_core::store::SqliteStore;
use magnum_core::{
    ClusterName, Engine, EngineConfig, NewCluster, NewClusterTemplate, OperationId, Outcome,
    RequestContext, TemplateName, TemplateSpec,
};
use magnum_driver_k8s_nova::NovaDriver;
use magnum_driver_kit::connector::HttpConnect;
use magnum_driver_kit::{Access, BuiltinAddons, DriverConfig, PollIntervals};
use magnum_embedded_cloud::{EmbeddedCloud, Options};
use magnum_heat::{CloudConfig, Session};

type Failed = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    if let (Some(folder), Some(proxy)) = (arguments.next(), arguments.next()) {
        let (engine, _) = open(Path::new(&folder), &proxy).await?;
        engine.run(std::future::pending()).await;
        return Ok(());
    }
    let cloud = EmbeddedCloud::start(Options::default()).await?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("clouds.yaml"), cloud.clouds_yaml())?;

    // Ask for a cluster. What is accepted is in the database; nothing works on it in this process yet.
    let (engine, caller) = open(folder.path(), &cloud.proxy_url()).await?;
    let mut spec = TemplateSpec::new("ubuntu-k8s-v1.36", "m1.small");
    spec.external_network = Some("public".to_owned());
    let template = NewClusterTemplate {
        name: TemplateName::new("small")?,
        spec,
        public: false,
        hidden: false,
    };
    engine.create_cluster_template(&caller, template).await?;
    let mut new = NewCluster::new(ClusterName::new("prod")?, "small");
    new.node_count = 2;
    let accepted = engine.create_cluster(&caller, new).await?;
    drop(engine);

    let mut worker = tokio::process::Command::new(std::env::current_exe()?)
        .arg(folder.path())
        .arg(cloud.proxy_url())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    while !created(&cloud).contains_key("server") {
        if let Some(status) = worker.try_wait()? {
            return Err(format!("the engine's process ended by itself: {status}").into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    worker.kill().await?;
    println!("killed when the cloud had made {:?}", created(&cloud));

    // The same database: the operation goes on when the dead engine's lease has run out, here after two seconds.
    let (engine, caller) = open(folder.path(), &cloud.proxy_url()).await?;
    let running = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(std::future::pending()).await }
    });
    succeed(&engine, &caller, accepted.operation.id).await?;
    let cluster = engine.cluster(&caller, accepted.cluster.id).await?;
    let made = created(&cloud);
    println!(
        "{} is {}: the cloud has made {made:?}",
        cluster.name, cluster.status
    );
    assert_eq!(
        (made["stack"], made["server"]),
        (3, 3),
        "nothing is made twice"
    );

    let deleted = engine.delete_cluster(&caller, cluster.id).await?;
    succeed(&engine, &caller, deleted.operation.id).await?;
    running.abort();
    cloud.shutdown().await;
    println!(
        "resume_after_crash: CREATE_COMPLETE with {} stacks and {} servers, each made once",
        made["stack"], made["server"]
    );
    Ok(())
}

/// An engine on the directory's database, with the login in its `clouds.yaml`.
async fn open(folder: &Path, proxy: &str) -> Result<(Engine, RequestContext), Failed> {
    let yaml = std::fs::read_to_string(folder.join("clouds.yaml"))?;
    let session = Session::connect(CloudConfig::from_yaml(&yaml, "embedded")?).await?;
    let caller = RequestContext::new(session.project_id().await?, session.user_id().await?);
    let mut driver = DriverConfig::new();
    let way = HttpConnect::new(proxy.parse()?);
    driver.access = Arc::new(Access::new(Arc::new(way), Arc::new(BuiltinAddons)));
    driver.polls = PollIntervals::fast();
    let mut settings = EngineConfig::default();
    settings.lease = Duration::from_secs(2);
    let key = load_or_create_sealing_key(&folder.join("key"))?;
    let engine = Engine::builder()
        .store(Arc::new(SqliteStore::open(folder.join("magnum.db")).await?))
        .sealer(Arc::new(Envelope::new(key)))
        .driver(Arc::new(NovaDriver::new(session, driver)))
        .config(settings)
        .build()?;
    Ok((engine, caller))
}

/// How many objects of each kind the cloud has made, by its own ledger.
fn created(cloud: &EmbeddedCloud) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in cloud.openstack().ledger().entries() {
        if entry.action == "create" {
            *counts.entry(entry.kind).or_default() += 1;
        }
    }
    counts
}

async fn succeed(engine: &Engine, caller: &RequestContext, id: OperationId) -> Result<(), Failed> {
    loop {
        let operation = engine.operation(caller, id).await?;
        match operation.outcome {
            Some(Outcome::Succeeded) => return Ok(()),
            Some(_) => return Err(format!("{:?}", operation.causes).into()),
            None => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
