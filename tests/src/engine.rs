//! An engine at work on a test cloud.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use magnum_certs::{Envelope, load_or_create_sealing_key};
use magnum_core::EventKind;
use magnum_core::store::SqliteStore;
use magnum_core::{
    Accepted, ClusterTemplate, CredentialProvider, Engine, EngineBuilder, EngineConfig,
    NewClusterTemplate, RequestContext, SealedSecrets, SecretStore, TemplateName, TemplateSpec,
};
use magnum_core::{Operation, Outcome};
use magnum_driver_k8s_ironic::IronicDriver;
use magnum_driver_k8s_nova::NovaDriver;
use magnum_driver_kit::connector::HttpConnect;
use magnum_driver_kit::{Access, BuiltinAddons, DriverConfig, PollIntervals, SessionSource};
use magnum_heat::Session;
use tokio::task::JoinHandle;
use url::Url;

use crate::{Failure, TestCloud, TestProject};

/// An engine on SQLite in `folder`, with both drivers.
///
/// # Errors
/// Where the store or the key cannot be opened.
pub async fn open_engine(
    folder: &Path,
    session: Session,
    proxy: Url,
    polls: PollIntervals,
) -> Result<Engine, Failure> {
    let builder = engine_builder(folder, proxy, polls, |_| (Arc::new(session), None)).await?;
    Ok(builder.build()?)
}

/// What drivers log in with, and what makes it, where something does.
pub type Logins = (Arc<dyn SessionSource>, Option<Arc<dyn CredentialProvider>>);

/// An engine to be on SQLite in `folder`, with both drivers and the logins that `logins` makes over the engine's secrets.
///
/// # Errors
/// Where the store or the key cannot be opened.
pub async fn engine_builder(
    folder: &Path,
    proxy: Url,
    polls: PollIntervals,
    logins: impl FnOnce(Arc<dyn SecretStore>) -> Logins,
) -> Result<EngineBuilder, Failure> {
    let store = Arc::new(SqliteStore::open(folder.join("magnum.db")).await?);
    let sealer = Arc::new(Envelope::new(load_or_create_sealing_key(
        &folder.join("key"),
    )?));
    let (sessions, provider) = logins(Arc::new(SealedSecrets::new(store.clone(), sealer.clone())));
    let mut builder = builder(sessions, proxy, polls);
    if let Some(provider) = provider {
        builder = builder.credentials(provider);
    }
    Ok(builder.store(store).sealer(sealer))
}

/// Both drivers and the settings of an engine without store and sealer.
pub(crate) fn builder(
    sessions: Arc<dyn SessionSource>,
    proxy: Url,
    polls: PollIntervals,
) -> EngineBuilder {
    let mut config = DriverConfig::new();
    config.access = Arc::new(Access::new(
        Arc::new(HttpConnect::new(proxy)),
        Arc::new(BuiltinAddons),
    ));
    config.polls = polls;
    let mut settings = EngineConfig::default();
    settings.lease = Duration::from_secs(5);
    Engine::builder()
        .driver(Arc::new(NovaDriver::new(sessions.clone(), config.clone())))
        .driver(Arc::new(IronicDriver::new(sessions, config)))
        .config(settings)
}

/// Publishes a template.
///
/// # Errors
/// Those of the engine.
pub async fn publish(
    engine: &Engine,
    caller: &RequestContext,
    spec: TemplateSpec,
) -> Result<ClusterTemplate, Failure> {
    let new = NewClusterTemplate {
        name: TemplateName::new("template")?,
        spec,
        public: false,
        hidden: false,
    };
    Ok(engine.create_cluster_template(caller, new).await?)
}

fn work(engine: &Engine) -> JoinHandle<()> {
    let engine = engine.clone();
    tokio::spawn(async move { engine.run(std::future::pending()).await })
}

/// A cloud, a project on it, and an engine that works for it.
#[derive(Debug)]
pub struct Bench {
    /// The cloud.
    pub cloud: TestCloud,
    /// The project.
    pub project: TestProject,
    /// The engine.
    pub engine: Engine,
    /// Its folder.
    pub folder: tempfile::TempDir,
    worker: JoinHandle<()>,
}

impl Bench {
    /// Sets everything up and starts the engine.
    ///
    /// # Errors
    /// Where something does not start.
    pub async fn start(cloud: TestCloud, name: &str) -> Result<Self, Failure> {
        let project = TestProject::create(&cloud, name).await?;
        Self::resume(cloud, project, tempfile::tempdir()?).await
    }

    /// Starts an engine on a folder that another may have used before.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn resume(
        cloud: TestCloud,
        project: TestProject,
        folder: tempfile::TempDir,
    ) -> Result<Self, Failure> {
        // Shown where `RUST_LOG` asks for it.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .with_test_writer()
            .try_init();
        let session = Arc::new(project.session.clone());
        let builder = engine_builder(
            folder.path(),
            cloud.proxy.clone(),
            cloud.polls.clone(),
            |_| (session, None),
        )
        .await?;
        let engine = builder.clock(Arc::clone(&cloud.clock)).build()?;
        Ok(Self::with_engine(cloud, project, folder, engine))
    }

    /// Starts an engine that was opened elsewhere.
    #[must_use]
    pub fn with_engine(
        cloud: TestCloud,
        project: TestProject,
        folder: tempfile::TempDir,
        engine: Engine,
    ) -> Self {
        let worker = work(&engine);
        Self {
            cloud,
            project,
            engine,
            folder,
            worker,
        }
    }

    /// Goes on with another engine.
    pub(crate) fn take(&mut self, engine: Engine) {
        self.worker.abort();
        self.worker = work(&engine);
        self.engine = engine;
    }

    /// Publishes a template.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn template(&self, spec: TemplateSpec) -> Result<ClusterTemplate, Failure> {
        publish(&self.engine, &self.project.caller, spec).await
    }

    /// Prints what happens until the operation ends, and gives it as it ended.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn end_of(&self, accepted: &Accepted) -> Result<Operation, Failure> {
        self.end_of_with(accepted, async |_| Ok(())).await
    }

    /// As [`end_of`](Self::end_of), with something to do at each event.
    ///
    /// # Errors
    /// Those of the engine and of `at`.
    pub async fn end_of_with(
        &self,
        accepted: &Accepted,
        mut at: impl AsyncFnMut(&EventKind) -> Result<(), Failure>,
    ) -> Result<Operation, Failure> {
        let began = std::time::Instant::now();
        let mut events = self.engine.watch(&self.project.caller, 0);
        while let Some(event) = events.next().await {
            let event = event?;
            if event.operation != Some(accepted.operation.id) {
                continue;
            }
            println!("{:7.1} s  {:?}", began.elapsed().as_secs_f64(), event.kind);
            at(&event.kind).await?;
            if matches!(event.kind, EventKind::OperationEnded { .. }) {
                break;
            }
        }
        Ok(self
            .engine
            .operation(&self.project.caller, accepted.operation.id)
            .await?)
    }

    /// Waits for success.
    ///
    /// # Errors
    /// Those of the engine; the causes where it ended otherwise.
    pub async fn succeeds(&self, accepted: &Accepted) -> Result<(), Failure> {
        let operation = self.end_of(accepted).await?;
        if operation.outcome == Some(Outcome::Succeeded) {
            return Ok(());
        }
        Err(format!(
            "{} ended as {:?}: {:?}",
            operation.change.kind(),
            operation.outcome,
            operation.causes
        )
        .into())
    }

    /// Stops the engine, and removes the project where nothing is left in it.
    ///
    /// # Errors
    /// What is left over.
    pub async fn end(self) -> Result<(), Failure> {
        self.worker.abort();
        let left = self.project.left_over().await?;
        if !left.is_empty() {
            return Err(format!("left over: {}", left.join(", ")).into());
        }
        self.project.remove().await?;
        self.cloud.end().await;
        Ok(())
    }
}
