//! What an embedder sets for the Kubernetes drivers.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magnum_certs::PkiOptions;
use magnum_core::driver::DriverError;
use magnum_core::{Cluster, ClusterId, ProjectId};
use magnum_heat::Session;

use crate::access::Access;
use crate::credential::CredentialMode;
use crate::fault::cloud_error;

/// Gives the session with which a project's clusters are run.
#[async_trait]
pub trait SessionSource: Debug + Send + Sync + 'static {
    /// A session scoped to `project`. Called once in every advance, so keep sessions: logging in again costs a token.
    ///
    /// # Errors
    /// [`DriverError::Unavailable`] where it may work later, [`DriverError::Internal`] where it will not.
    async fn session(&self, project: &ProjectId) -> Result<Session, DriverError>;

    /// The session to work on one cluster with; the project's where nothing else is said. [`WorkCredentials`](crate::credential::WorkCredentials)
    /// gives one that belongs to the cluster alone.
    ///
    /// # Errors
    /// As [`session`](Self::session).
    async fn cluster_session(&self, cluster: &Cluster) -> Result<Session, DriverError> {
        self.session(&cluster.project_id).await
    }

    /// Told when a session that was given for a cluster is not accepted any more, so that the next one is made anew.
    async fn forget(&self, cluster: ClusterId) {
        let _ = cluster;
    }
}

/// One session for its own project: clusters of other projects are refused.
#[async_trait]
impl SessionSource for Session {
    async fn session(&self, project: &ProjectId) -> Result<Session, DriverError> {
        let own = self.project_id().await.map_err(cloud_error)?;
        if own == project.as_str() {
            return Ok(self.clone());
        }
        Err(DriverError::internal(format!(
            "the cluster belongs to project {project}, the session is for project {own}"
        )))
    }
}

#[async_trait]
impl<S: SessionSource + ?Sized> SessionSource for Arc<S> {
    async fn session(&self, project: &ProjectId) -> Result<Session, DriverError> {
        (**self).session(project).await
    }

    async fn cluster_session(&self, cluster: &Cluster) -> Result<Session, DriverError> {
        (**self).cluster_session(cluster).await
    }

    async fn forget(&self, cluster: ClusterId) {
        (**self).forget(cluster).await;
    }
}

/// How often things are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollIntervals {
    /// A stack that is being changed. Default 5 s.
    pub stack: Duration,
    /// Nodes that are awaited. Default 5 s.
    pub nodes: Duration,
    /// The signals of a node that is awaited. Default 20 s.
    pub signals: Duration,
    /// Pods that have to leave a node. Default 3 s.
    pub drain: Duration,
}

impl Default for PollIntervals {
    fn default() -> Self {
        Self {
            stack: Duration::from_secs(5),
            nodes: Duration::from_secs(5),
            signals: Duration::from_secs(20),
            drain: Duration::from_secs(3),
        }
    }
}

impl PollIntervals {
    /// For clouds that answer at once, such as the embedded one: a tenth of a second, signals every half second.
    #[must_use]
    pub const fn fast() -> Self {
        Self {
            stack: Duration::from_millis(100),
            nodes: Duration::from_millis(100),
            signals: Duration::from_millis(500),
            drain: Duration::from_millis(100),
        }
    }
}

/// How long parts of a change may take. The whole is limited by the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// From a control-plane node's success signal to an answer of the API. Default 5 min.
    pub endpoint: Duration,
    /// From a virtual machine's start to its node being ready. Default 20 min.
    pub virtual_join: Duration,
    /// From a physical machine's start to its node being ready. Default 90 min.
    pub bare_metal_join: Duration,
    /// For pods to leave a node. Default 5 min; afterwards they are deleted.
    pub drain: Duration,
    /// For a ready node to ask for its serving certificate, before a change ends without it. Default 1 min.
    pub serving: Duration,
    /// Validity of a virtual machine's credential to join. Default 24 h.
    pub virtual_credential: Duration,
    /// Validity of a physical machine's credential to join. Default 72 h.
    pub bare_metal_credential: Duration,
    /// Heat's own limit for stacks of virtual machines, in minutes. Default 60.
    pub virtual_stack_mins: u64,
    /// Heat's own limit for stacks of physical machines, in minutes. Default 240.
    pub bare_metal_stack_mins: u64,
}

impl Default for Patience {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Self {
            endpoint: minutes(5),
            virtual_join: minutes(20),
            bare_metal_join: minutes(90),
            drain: minutes(5),
            serving: minutes(1),
            virtual_credential: minutes(24 * 60),
            bare_metal_credential: minutes(72 * 60),
            virtual_stack_mins: 60,
            bare_metal_stack_mins: 240,
        }
    }
}

/// Everything that is set for a driver. Start from [`DriverConfig::new`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DriverConfig {
    /// How clusters' APIs are reached, and what is installed in them.
    pub access: Arc<Access>,
    /// How often things are looked at.
    pub polls: PollIntervals,
    /// How long parts of a change may take.
    pub patience: Patience,
    /// The cloud credential that clusters get.
    pub credential: CredentialMode,
    /// How clusters' keys are made.
    pub pki: PkiOptions,
    /// CA bundle (PEM) of the cloud's own API, where it is private; goes to nodes and into the cloud controller's configuration.
    pub cloud_ca: Option<String>,
    /// Public keys that may log in on nodes, beside the key pair.
    pub ssh_authorized_keys: Vec<String>,
    /// Time servers of nodes; empty keeps what the image has.
    pub ntp_servers: Vec<String>,
}

impl DriverConfig {
    /// Direct connections, built-in add-ons, an application credential per cluster, P-256 keys.
    #[must_use]
    pub fn new() -> Self {
        Self {
            access: Arc::default(),
            polls: PollIntervals::default(),
            patience: Patience::default(),
            credential: CredentialMode::default(),
            pki: PkiOptions::default(),
            cloud_ca: None,
            ssh_authorized_keys: Vec::new(),
            ntp_servers: Vec::new(),
        }
    }
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self::new()
    }
}
