//! The running simulator.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::cluster::Cluster;
use super::openstack::{Cloud, http_client};
use super::shared::Shared;
use super::state::{ActiveFault, JournalDir, State};
use super::{SimulatorConfig, SimulatorError, admin, lifecycle, watcher};
use crate::proxy::{ConnectProxy, Routes};

/// A running node simulator with its CONNECT proxy and admin API. Dropping it stops it; only
/// [`Simulator::shutdown`] also waits for the last write of the journal.
#[derive(Debug)]
pub struct Simulator {
    shared: Arc<Shared>,
    proxy: Option<ConnectProxy>,
    admin_url: String,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Simulator {
    /// Starts the simulator: opens the proxy and the admin API, takes up the journal, and begins
    /// to look at the cloud. The cloud need not answer yet; an outage is waited out.
    ///
    /// # Errors
    /// A port that cannot be opened, an unreadable journal, or a cluster of it that cannot serve.
    pub async fn start(config: SimulatorConfig) -> Result<Self, SimulatorError> {
        let (journal, mut state) = match &config.journal {
            Some(path) => JournalDir::open(path).map(|(j, s)| (Some(j), s))?,
            None => (None, State::default()),
        };
        if state.faults.is_empty() {
            state.faults = config
                .faults
                .iter()
                .map(|f| ActiveFault {
                    fault: f.clone(),
                    hits: 0,
                })
                .collect();
        }
        let routes = Routes::default();
        let proxy = start_proxy(&config, &state, routes.clone()).await?;
        let listener = listen_admin(&config, &state).await?;
        let admin = listener
            .local_addr()
            .map_err(|source| SimulatorError::Listen {
                what: "admin API",
                address: "127.0.0.1".into(),
                source,
            })?;
        state.proxy_port = proxy.port();
        state.admin_port = admin.port();
        let records: Vec<_> = state.clusters.values().cloned().collect();
        let cloud = Cloud::new(config.login.clone())?;
        let shared = Arc::new(Shared::new(
            config,
            cloud,
            http_client()?,
            routes,
            proxy.url(),
            state,
            journal,
        ));
        for record in records {
            let cluster =
                Cluster::start(&record)
                    .await
                    .map_err(|reason| SimulatorError::Kubernetes {
                        cluster: record.id.clone(),
                        reason,
                    })?;
            shared.refresh_route(&record, &cluster);
            shared
                .clusters
                .write()
                .await
                .insert(record.id.clone(), Arc::new(cluster));
        }
        shared.save();
        let (stop, stopped) = watch::channel(false);
        let mut over = stopped.clone();
        let router = admin::router(shared.clone());
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
            let _ = over.changed().await;
        });
        let tasks = vec![
            tokio::spawn(async move {
                let _ = serving.await;
            }),
            tokio::spawn(watcher::run(shared.clone(), stopped.clone())),
            tokio::spawn(keep_up(shared.clone(), stopped.clone())),
            tokio::spawn(keep_saved(shared.clone(), stopped)),
        ];
        Ok(Self {
            shared,
            proxy: Some(proxy),
            admin_url: format!("http://{admin}"),
            stop,
            tasks,
        })
    }

    /// Address of the CONNECT proxy, for a kubeconfig's `proxy-url`: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn proxy_url(&self) -> String {
        self.shared.proxy_url.clone()
    }

    /// Address of the admin API: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// Stops everything and waits until the journal is written.
    pub async fn shutdown(mut self) {
        let _ = self.stop.send(true);
        for task in self.tasks.drain(..) {
            task.abort();
            let _ = task.await;
        }
        if let Some(proxy) = self.proxy.take() {
            proxy.shutdown().await;
        }
        self.shared.save();
        self.shared.clusters.write().await.clear();
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn start_proxy(
    config: &SimulatorConfig,
    state: &State,
    routes: Routes,
) -> Result<ConnectProxy, SimulatorError> {
    if config.proxy_port == 0 && state.proxy_port != 0 {
        if let Ok(proxy) = ConnectProxy::start(state.proxy_port, routes.clone()).await {
            return Ok(proxy);
        }
        tracing::warn!(port = state.proxy_port, "the journal's proxy port is taken");
    }
    ConnectProxy::start(config.proxy_port, routes).await
}

async fn listen_admin(
    config: &SimulatorConfig,
    state: &State,
) -> Result<TcpListener, SimulatorError> {
    if config.admin_port == 0
        && state.admin_port != 0
        && let Ok(listener) = TcpListener::bind(("127.0.0.1", state.admin_port)).await
    {
        return Ok(listener);
    }
    TcpListener::bind(("127.0.0.1", config.admin_port))
        .await
        .map_err(|source| SimulatorError::Listen {
            what: "admin API",
            address: format!("127.0.0.1:{}", config.admin_port),
            source,
        })
}

/// Runs the lifecycle of all clusters.
async fn keep_up(shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let mut count = 0u64;
    loop {
        tokio::select! {
            () = tokio::time::sleep(shared.config.tick) => {}
            _ = stopped.changed() => return,
        }
        let clusters: Vec<_> = shared.clusters.read().await.values().cloned().collect();
        for cluster in clusters {
            lifecycle::tick(&shared, &cluster, count.is_multiple_of(50)).await;
        }
        count += 1;
    }
}

/// Writes the journal soon after changes.
async fn keep_saved(shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = shared.dirty.notified() => {}
            _ = stopped.changed() => return,
        }
        shared.save();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
