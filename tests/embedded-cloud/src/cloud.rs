//! The embedded cloud as a whole: OpenStack, node simulator and proxy in one process.

use std::path::PathBuf;
use std::time::Duration;

use crate::node::{AdminLogin, Simulator, SimulatorConfig, SimulatorError};
use crate::openstack::{Cloud, Latency};

use crate::openstack::StartError;

/// How an embedded cloud is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port on 127.0.0.1; a free one by default, with a journal the one of the last run.
    pub port: Option<u16>,
    /// Folder of the state that outlives the process. Default: none.
    pub journal: Option<PathBuf>,
    /// Ends the cloud after so long without a request. Default: never.
    pub idle: Option<Duration>,
    /// Makes ids and build times repeatable. Default: random.
    pub seed: Option<u64>,
    /// Build times.
    pub latency: Latency,
    /// Lifetime of tokens. Default 4 hours.
    pub token_lifetime: Duration,
    /// Starts the node simulator and the proxy to the clusters' Kubernetes stand-ins. Default: yes.
    pub simulator: bool,
    /// How often the node simulator looks at the servers. Default 150 ms.
    pub simulator_poll: Duration,
    /// Load balancer providers that are enabled; the first is the default. Default `ovn` only.
    pub load_balancer_providers: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: None,
            journal: None,
            idle: None,
            seed: None,
            latency: Latency::default(),
            token_lifetime: Duration::from_secs(4 * 3600),
            simulator: true,
            simulator_poll: Duration::from_millis(150),
            load_balancer_providers: vec!["ovn".to_owned()],
        }
    }
}

/// A running embedded cloud. It ends when dropped.
#[derive(Debug)]
pub struct EmbeddedCloud {
    cloud: Cloud,
    simulator: Option<Simulator>,
}

/// Why an embedded cloud cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// The OpenStack side: its port or its journal.
    #[error(transparent)]
    OpenStack(#[from] StartError),
    /// The node simulator: a port or its journal.
    #[error("the node simulator cannot start: {0}")]
    Simulator(#[from] SimulatorError),
}

impl EmbeddedCloud {
    /// Starts all services, and the node simulator as a client of them.
    ///
    /// # Errors
    /// When a port is taken or a journal is unusable.
    pub async fn start(options: Options) -> Result<Self, EmbeddedError> {
        let cloud = Cloud::start(options).await?;
        let options = cloud.options();
        let mut simulator = None;
        if options.simulator {
            let auth_url = format!("{}/identity/v3", cloud.base_url());
            let login = AdminLogin::new(auth_url, "admin", "adminpw", "admin");
            let mut config = SimulatorConfig::new(login);
            config.poll_interval = options.simulator_poll;
            config.journal = options.journal.as_ref().map(|folder| folder.join("nodes"));
            if let Some(seed) = options.seed {
                config.seed = seed;
            }
            simulator = Some(Simulator::start(config).await?);
        }
        Ok(Self { cloud, simulator })
    }

    /// The HTTP CONNECT proxy to the clusters, for a kubeconfig's `proxy-url`; empty without the node simulator.
    #[must_use]
    pub fn proxy_url(&self) -> String {
        self.simulator
            .as_ref()
            .map(Simulator::proxy_url)
            .unwrap_or_default()
    }

    /// The node simulator, for its faults.
    #[must_use]
    pub fn simulator(&self) -> Option<&Simulator> {
        self.simulator.as_ref()
    }

    /// `http://127.0.0.1:PORT/identity/v3`.
    #[must_use]
    pub fn auth_url(&self) -> String {
        format!("{}/identity/v3", self.cloud.base_url())
    }

    /// `http://127.0.0.1:PORT`: where `/_embedded` is.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.cloud.base_url()
    }

    /// The OpenStack side, for tests inside the process.
    #[must_use]
    pub fn openstack(&self) -> &Cloud {
        &self.cloud
    }

    /// The text of a `clouds.yaml` with the clouds `embedded` (user and project demo) and `embedded-admin`.
    #[must_use]
    pub fn clouds_yaml(&self) -> String {
        clouds_yaml(&self.auth_url())
    }

    /// Resolves when the cloud ends by itself: asked over HTTP, or idle.
    pub async fn stopped(&self) {
        self.cloud.stopped().await;
    }

    /// Writes the journal and ends the cloud in order.
    pub async fn shutdown(mut self) {
        if let Some(simulator) = self.simulator.take() {
            simulator.shutdown().await;
        }
        self.cloud.flush().await;
        self.cloud.retire();
    }
}

impl Drop for EmbeddedCloud {
    fn drop(&mut self) {
        self.cloud.stop();
    }
}

fn clouds_yaml(auth_url: &str) -> String {
    let mut text = "clouds:\n".to_owned();
    for (name, user, password) in [
        ("embedded", "demo", "demopw"),
        ("embedded-admin", "admin", "adminpw"),
    ] {
        text.push_str(&format!(
            "  {name}:\n    region_name: RegionOne\n    identity_api_version: 3\n    auth_type: password\n    auth:\n      \
             auth_url: {auth_url}\n      username: {user}\n      password: {password}\n      project_name: {user}\n      \
             user_domain_name: Default\n      project_domain_name: Default\n"
        ));
    }
    text
}
