//! The way from a template to a kubeconfig and back to nothing. Every stage looks first at what has been done, so the way can be
//! taken up again wherever it was left.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt as _;
use magnum_certs::{Certificates, Profile, write_private_file};
use magnum_core::EventKind;
use magnum_core::driver::ChangeKind;
use magnum_core::store::OperationFilter;
use magnum_core::{
    Accepted, ClusterId, ClusterName, Error, MemberPhase, NewCluster, NewClusterTemplate,
    NodeGroup, Phase, Resize, TemplateName, TemplateSpec,
};
use magnum_core::{Operation, Outcome};
use magnum_examples::Inventory;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::Failure;
use crate::arguments::Arguments;
use crate::data::{DataDirectory, RunRecord};
use crate::platform::Platform;
use crate::progress::{ProgressLog, say};
use crate::report;

const CONTROL_PLANE_NODES: u32 = 3;
const WORKERS: u32 = 5;
const WORKERS_AFTER: u32 = 8;
const NAME: &str = "quickstart";
/// How long a step that is under way may take when the quick start is to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes the whole way. `false` where Ctrl-C ended it early.
pub(crate) async fn run(arguments: &Arguments) -> Result<bool, Failure> {
    check_target(&arguments.kubeconfig)?;
    let data = DataDirectory::open(arguments)?;
    let _lock = data.lock()?;
    let platform = Platform::open(arguments, &data).await?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = tokio::spawn({
        let engine = platform.engine.clone();
        async move {
            engine
                .run(async {
                    // Both an answer and a dropped sender mean the end.
                    let _ = stopped.await;
                })
                .await;
        }
    });
    let mut log = ProgressLog::new();
    log.line(&format!("running on {}", platform.describe(arguments)));
    let mut terminated = signal(SignalKind::terminate())?;
    let whole = {
        let mut journey = Journey {
            arguments,
            data: &data,
            platform: &platform,
            log: &mut log,
            seen: platform.engine.last_event().await?,
        };
        tokio::select! {
            result = journey.travel() => result.map(|()| true),
            _ = tokio::signal::ctrl_c() => Ok(false),
            _ = terminated.recv() => Ok(false),
        }
    };
    log.finish();
    drop(stop);
    end_work(worker, matches!(whole, Ok(false))).await;
    let whole = whole?;
    if whole {
        platform.end().await?;
    } else if data.is_kept() {
        say(&format!(
            "stopped; go on with --data {}",
            data.path().display()
        ));
    } else {
        say("stopped; the embedded cloud ends with this process");
    }
    Ok(whole)
}

/// Lets the step that is under way end, and its lease be given back; not for long, since dropping it is as safe as a crash.
async fn end_work(mut worker: JoinHandle<()>, asked: bool) {
    if asked {
        say("stopping when the step under way has ended; Ctrl-C again stops at once");
    }
    tokio::select! {
        _ = &mut worker => {}
        _ = tokio::signal::ctrl_c() => {}
        () = tokio::time::sleep(PATIENCE) => {}
    }
    worker.abort();
}

/// The kubeconfig's place is looked at before anything is made.
fn check_target(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() || path.is_dir() {
        return Err(format!("--kubeconfig {} cannot be a file there", path.display()).into());
    }
    Ok(())
}

struct Journey<'a> {
    arguments: &'a Arguments,
    data: &'a DataDirectory,
    platform: &'a Platform,
    log: &'a mut ProgressLog,
    /// The number of the last event that was shown.
    seen: u64,
}

impl Journey<'_> {
    async fn travel(&mut self) -> Result<(), Failure> {
        let mut run = self.take_up().await?;
        let (cluster, failed) = self.create(&mut run).await?;
        let id = cluster.to_string();
        let engine = &self.platform.engine;
        let caller = &self.platform.caller;

        if failed.is_none() && self.past(cluster, ChangeKind::Delete).await?.is_none() {
            self.stage(cluster, ChangeKind::Resize, async || {
                Ok(engine
                    .resize(caller, id.clone(), Resize::to(WORKERS_AFTER))
                    .await?)
            })
            .await?;
            self.stage(cluster, ChangeKind::ReplaceNode, async || {
                let workers = engine
                    .node_group(caller, id.clone(), "default-worker")
                    .await?;
                let node = first_ready(&workers).ok_or("no worker is ready")?;
                Ok(engine.replace_node(caller, id.clone(), node).await?)
            })
            .await?;
            let groups = engine.node_groups(caller, id.clone()).await?;
            self.check_sizes(&groups)?;
            for line in report::nodes(&groups).to_string().lines() {
                self.log.line(line);
            }
            self.kubeconfig(cluster).await?;
            if self.arguments.keep {
                self.log.line("serving until Ctrl-C");
                std::future::pending::<()>().await;
            }
        }
        self.stage(cluster, ChangeKind::Delete, async || {
            Ok(engine.delete_cluster(caller, id.clone()).await?)
        })
        .await?;

        if let Some((stacks, servers)) = self.platform.created_once().await? {
            self.log.line(&format!(
                "the cloud's ledger: {stacks} stacks and {servers} servers, each created once"
            ));
        }
        let left = Inventory::left_over(&self.platform.observer, &run.before).await?;
        let statuses = self.statuses(cluster).await?;
        for object in &left {
            self.log.line(&format!("left over: {object}"));
        }
        self.log.finish();
        // First the verdict, then the note that it was given: a kill between the two repeats it.
        say(&format!(
            "quickstart: {}, {} left over",
            statuses.join(" "),
            left.len()
        ));
        if !left.is_empty() {
            return Err(format!("{} objects are left over", left.len()).into());
        }
        run.finished = true;
        self.data.keep(&run)?;
        match failed {
            Some(reason) => {
                Err(format!("{reason}; everything that was made is removed: start again").into())
            }
            None => Ok(()),
        }
    }

    /// The run that the directory holds, or a new one.
    async fn take_up(&mut self) -> Result<RunRecord, Failure> {
        match self.data.run()? {
            Some(run) if !run.finished => {
                if run.place != self.platform.place {
                    let (run, here) = (&run.place, &self.platform.place);
                    return Err(
                        format!("the run of this directory is on {run}, not on {here}").into(),
                    );
                }
                self.log.line("going on with the run of this directory");
                return Ok(run);
            }
            Some(_) => self
                .log
                .line("the run of this directory is finished; starting a new cluster"),
            None => {}
        }
        let before = Inventory::take(&self.platform.observer).await?;
        let run = RunRecord::begin(self.platform.place.clone(), before);
        self.data.keep(&run)?;
        Ok(run)
    }

    /// The cluster, created; with the reason where its creation had failed in an earlier start.
    async fn create(
        &mut self,
        run: &mut RunRecord,
    ) -> Result<(ClusterId, Option<String>), Failure> {
        let engine = &self.platform.engine;
        let caller = &self.platform.caller;
        let known = run.cluster.is_some();
        let id = if let Some(id) = run.cluster {
            id
        } else {
            let template = self.template(run).await?;
            let mut new = NewCluster::new(ClusterName::new(NAME)?, template);
            new.master_count = CONTROL_PLANE_NODES;
            new.node_count = WORKERS;
            new.idempotency_key = Some(run.id.to_string());
            engine.preflight_create(caller, &new).await?;
            let accepted = engine.create_cluster(caller, new).await?;
            run.cluster = Some(accepted.cluster.id);
            self.data.keep(run)?;
            accepted.cluster.id
        };
        self.log.line(&format!("cluster {NAME} {id}"));
        let operation = self.past(id, ChangeKind::Create).await?.ok_or_else(|| {
            format!(
                "{} does not know the cluster",
                self.data.database().display()
            )
        })?;
        if known && operation.is_ended() && operation.outcome != Some(Outcome::Succeeded) {
            let reason = verdict(&operation);
            self.log.line(&format!("{reason}; removing what was made"));
            return Ok((id, Some(reason)));
        }
        self.follow(operation).await?;
        Ok((id, None))
    }

    /// The template of this run, made where it is not there yet; its name tells runs apart.
    async fn template(&mut self, run: &RunRecord) -> Result<String, Failure> {
        let engine = &self.platform.engine;
        let caller = &self.platform.caller;
        let name = format!("{NAME}-{}", run.id);
        let mut spec = TemplateSpec::new(&self.arguments.image, &self.arguments.flavor);
        spec.external_network = Some(self.arguments.external_network.clone());
        match engine.cluster_template(caller, name.as_str()).await {
            Ok(template) if template.spec == spec => return Ok(template.id.to_string()),
            // An earlier start was told other names, and no cluster came of it.
            Ok(template) => {
                engine
                    .delete_cluster_template(caller, template.id.to_string())
                    .await?;
            }
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let template = engine
            .create_cluster_template(
                caller,
                NewClusterTemplate {
                    name: TemplateName::new(name)?,
                    spec,
                    public: false,
                    hidden: false,
                },
            )
            .await?;
        self.log.line(&format!(
            "cluster template {} {}",
            template.name, template.id
        ));
        Ok(template.id.to_string())
    }

    /// Asks for a change unless it was asked for before, and follows it to its end.
    async fn stage(
        &mut self,
        cluster: ClusterId,
        kind: ChangeKind,
        ask: impl AsyncFnOnce() -> Result<Accepted, Failure>,
    ) -> Result<(), Failure> {
        let past = self.past(cluster, kind).await?;
        // What failed in an earlier start is asked for again.
        let operation = match past
            .filter(|past| !past.is_ended() || past.outcome == Some(Outcome::Succeeded))
        {
            Some(operation) => operation,
            None => ask().await?.operation,
        };
        self.follow(operation).await
    }

    /// The operation of this kind that the cluster has had, if any.
    async fn past(
        &self,
        cluster: ClusterId,
        kind: ChangeKind,
    ) -> Result<Option<Operation>, Failure> {
        let filter = OperationFilter {
            cluster: Some(cluster),
            ..OperationFilter::default()
        };
        let operations = self
            .platform
            .engine
            .operations(&self.platform.caller, &filter)
            .await?;
        Ok(operations
            .into_iter()
            .find(|operation| operation.change.kind() == kind))
    }

    /// Shows an operation until it ends, and fails where it does.
    async fn follow(&mut self, operation: Operation) -> Result<(), Failure> {
        let engine = &self.platform.engine;
        let caller = &self.platform.caller;
        let what = operation.change.kind();
        let mut events = engine.watch(caller, self.seen);
        if !engine.operation(caller, operation.id).await?.is_ended() {
            self.log.line(&format!("{what}: accepted"));
            while let Some(event) = events.next().await {
                let event = event?;
                self.seen = event.seq;
                if event.cluster == operation.cluster {
                    self.show(&event.kind);
                }
                let ended = matches!(event.kind, EventKind::OperationEnded { .. });
                if ended && event.operation == Some(operation.id) {
                    break;
                }
            }
        }
        let operation = engine.operation(caller, operation.id).await?;
        match operation.outcome {
            Some(Outcome::Succeeded) => {
                self.log.line(&format!("{what}: done"));
                Ok(())
            }
            _ => Err(verdict(&operation).into()),
        }
    }

    fn show(&mut self, event: &EventKind) {
        match event {
            EventKind::OperationProgress { progress } if progress.total > 0 => {
                self.log.step(&format!(
                    "{} ({} of {})",
                    progress.step, progress.done, progress.total
                ));
            }
            EventKind::OperationProgress { progress } => self.log.step(&progress.step),
            EventKind::MemberChanged {
                name,
                to: Some(MemberPhase::Ready),
                ..
            } => {
                self.log.line(&format!("node {name} is ready"));
            }
            EventKind::MemberChanged { name, to: None, .. } => {
                self.log.line(&format!("node {name} is gone"));
            }
            EventKind::MemberChanged {
                name,
                to: Some(MemberPhase::Failed),
                reason,
                ..
            } => {
                let reason = reason.as_deref().unwrap_or("no reason given");
                self.log.line(&format!("node {name} failed: {reason}"));
            }
            EventKind::ClusterStatus { to, reason, .. } => {
                let reason = reason
                    .as_ref()
                    .map(|reason| format!(": {reason}"))
                    .unwrap_or_default();
                self.log.line(&format!("cluster is {to}{reason}"));
            }
            EventKind::OperationRetrying { error, .. } => {
                self.log.step(&format!("trying again: {error}"));
            }
            EventKind::Warning { text } => self.log.line(&format!("warning: {text}")),
            _ => {}
        }
    }

    fn check_sizes(&self, groups: &[NodeGroup]) -> Result<(), Failure> {
        for (name, wanted) in [
            ("default-master", CONTROL_PLANE_NODES),
            ("default-worker", WORKERS_AFTER),
        ] {
            let ready = groups
                .iter()
                .filter(|group| group.name.as_str() == name)
                .flat_map(|group| &group.members)
                .filter(|member| member.phase == MemberPhase::Ready)
                .count();
            if ready != wanted as usize {
                return Err(format!(
                    "node group {name} has {ready} ready nodes instead of {wanted}"
                )
                .into());
            }
        }
        Ok(())
    }

    async fn kubeconfig(&mut self, id: ClusterId) -> Result<(), Failure> {
        let engine = &self.platform.engine;
        let caller = &self.platform.caller;
        let mut certificates = Certificates::new(engine);
        if let Some(proxy) = &self.platform.proxy {
            certificates = certificates.with_proxy(proxy.clone());
        }
        let profile = Profile::Admin {
            user: NAME.to_owned(),
        };
        let kubeconfig = certificates.kubeconfig(caller, id, &profile, None).await?;
        write_private_file(&self.arguments.kubeconfig, &kubeconfig.to_yaml()?)?;
        self.log.line(&format!(
            "kubectl --kubeconfig {} get nodes",
            self.arguments.kubeconfig.display()
        ));
        Ok(())
    }

    /// The statuses in which the cluster came to rest, as its history has them.
    async fn statuses(&self, cluster: ClusterId) -> Result<Vec<String>, Failure> {
        let engine = &self.platform.engine;
        let mut statuses: Vec<String> = Vec::new();
        let mut since = 0;
        loop {
            let events = engine.events(&self.platform.caller, since, 500).await?;
            let Some(last) = events.last() else {
                return Ok(statuses);
            };
            since = last.seq;
            for event in events.into_iter().filter(|event| event.cluster == cluster) {
                if let EventKind::ClusterStatus { to, .. } = event.kind
                    && to.phase != Phase::InProgress
                    && statuses.last().is_none_or(|last| last != to.as_str())
                {
                    statuses.push(to.as_str().to_owned());
                }
            }
        }
    }
}

/// How an operation ended and why, in a sentence.
fn verdict(operation: &Operation) -> String {
    let causes: Vec<_> = operation
        .causes
        .iter()
        .map(|cause| cause.sentence.as_str())
        .collect();
    let outcome = operation.outcome.map_or("has not ended", Outcome::as_str);
    format!(
        "{} {outcome}: {}",
        operation.change.kind(),
        causes.join("; ")
    )
}

/// The name of the first worker that is ready.
fn first_ready(group: &NodeGroup) -> Option<String> {
    group
        .members
        .iter()
        .find(|member| member.phase == MemberPhase::Ready)
        .map(|member| member.name.clone())
}
