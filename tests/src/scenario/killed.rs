//! An engine that is killed in the middle goes on where it was.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use magnum_core::{ClusterName, NewCluster, Status};
use magnum_driver_kit::PollIntervals;
use magnum_heat::stack::{ListStacks, list_stacks};
use magnum_heat::{CloudConfig, Env, Session};
use tokio::process::{Child, Command};

use crate::{Bench, Failure, TestCloud, TestProject, open_engine, publish};

/// `program` is a process that calls [`work_until_killed`]. Three times it is killed with SIGKILL while it creates a cluster; the cluster is created all the same, by one
/// stack of each name and one server of each.
///
/// # Errors
/// Whatever does not hold.
pub async fn killed_engine_resumes(cloud: TestCloud, program: &Path) -> Result<(), Failure> {
    let project = TestProject::create(&cloud, "killed").await?;
    let folder = tempfile::tempdir()?;
    project.write_login(&folder.path().join(LOGIN))?;
    let accepted = {
        let session = project.session.clone();
        let engine = open_engine(
            folder.path(),
            session,
            cloud.proxy.clone(),
            cloud.polls.clone(),
        )
        .await?;
        let template = publish(&engine, &project.caller, cloud.spec()).await?;
        let mut new = NewCluster::new(ClusterName::new("killed")?, template.id.to_string());
        new.node_count = 2;
        engine.create_cluster(&project.caller, new).await?
    };

    // Long enough to be in the middle of the infrastructure, the control plane, the workers.
    let pauses = if cloud.is_real() {
        [8, 25, 30]
    } else {
        [1, 1, 1]
    };
    for pause in pauses {
        let mut worker = spawn(program, folder.path(), &cloud)?;
        tokio::time::sleep(Duration::from_secs(pause)).await;
        assert!(
            worker.try_wait()?.is_none(),
            "the worker runs until it is killed"
        );
        worker.start_kill()?;
        worker.wait().await?;
    }
    let bench = Bench::resume(cloud, project, folder).await?;
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    bench.succeeds(&accepted).await?;
    let cluster = engine.cluster(caller, accepted.cluster.id).await?;
    assert_eq!(cluster.status, Status::CREATE_COMPLETE);
    let stacks = list_stacks(&bench.project.session, ListStacks::new()).await?;
    assert_eq!(
        stacks.len(),
        3,
        "infrastructure, control plane, workers: {stacks:?}"
    );
    let servers = magnum_examples::Inventory::take(&bench.project.session).await?;
    assert_eq!(servers.count("server"), 3);

    bench
        .succeeds(&engine.delete_cluster(caller, cluster.id).await?)
        .await?;
    bench.end().await
}

/// The settings of a worker process, by its environment.
const FOLDER: &str = "BENCH_FOLDER";
const PROXY: &str = "BENCH_PROXY";
const FAST: &str = "BENCH_FAST";
/// The file with the project's login.
const LOGIN: &str = "clouds.yaml";

fn spawn(program: &Path, folder: &Path, cloud: &TestCloud) -> Result<Child, Failure> {
    Ok(Command::new(program)
        .env(FOLDER, folder)
        .env(PROXY, cloud.proxy.as_str())
        .env(FAST, if cloud.is_real() { "" } else { "yes" })
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()?)
}

/// The worker process: an engine on the folder that its environment names, until it is killed.
///
/// # Errors
/// Where the engine cannot be opened.
pub async fn work_until_killed() -> Result<(), Failure> {
    let env = Env::from_process();
    let setting = |name: &str| env.var(name).ok_or_else(|| format!("{name} is not set"));
    let folder = Path::new(setting(FOLDER)?);
    let yaml = std::fs::read_to_string(folder.join(LOGIN))?;
    let session = Session::connect(CloudConfig::from_yaml(&yaml, "bench")?).await?;
    let polls = if env.var(FAST).is_some_and(|fast| !fast.is_empty()) {
        PollIntervals::fast()
    } else {
        PollIntervals::default()
    };
    let engine = open_engine(folder, session, setting(PROXY)?.parse()?, polls).await?;
    engine.run(std::future::pending()).await;
    Ok(())
}
