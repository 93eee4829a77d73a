//! The engine: accepts requests in milliseconds, and drives what was accepted to its end.

mod builder;
mod calls;
mod change;
mod config;
mod context;
mod create;
mod credentials;
mod dry_run;
mod governance;
mod health;
mod looks;
mod policy;
mod port;
mod reads;
mod request;
mod rules;
mod run;
mod secrets;
mod step;
mod telemetry;
mod templates;
mod understand;
mod watch;

use std::sync::Arc;

pub use builder::EngineBuilder;
pub use config::EngineConfig;
pub use context::RequestContext;
pub use health::EngineHealth;
pub(crate) use health::Pulse;
pub use policy::{Deed, MagnumPolicy, Policy};
pub use request::{
    Accepted, ChangeRequest, ClusterKey, ClusterTemplatePatch, NodeGroupPatch, NodeGroupUpdate,
    Resize, Upgrade,
};
pub use secrets::SealedSecrets;

use crate::clock::Clock;
use crate::credential::CredentialProvider;
use crate::driver::DriverRegistry;
use crate::error::Error;
use crate::id::{EngineId, ProjectId};
use crate::model::{Cluster, FlavorSizes};
use crate::sealer::Sealer;
use crate::secret_store::SecretStore;
use crate::store::{Store, Visibility};

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) id: EngineId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) sealer: Arc<dyn Sealer>,
    pub(crate) secrets: Arc<dyn SecretStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) config: EngineConfig,
    pub(crate) drivers: DriverRegistry,
    pub(crate) credentials: Option<Arc<dyn CredentialProvider>>,
    pub(crate) flavors: Option<Arc<dyn FlavorSizes>>,
    pub(crate) pulse: Pulse,
}

/// The engine. Clones share everything; several engines in one process, or on one database, do not disturb each other.
///
/// Requests are accepted by its methods in one transaction each, without any call to a cloud; [`run`](Self::run) works on them.
/// The two need not be in the same process.
#[derive(Debug, Clone)]
pub struct Engine(pub(crate) Arc<Inner>);

impl Engine {
    /// Begins to put an engine together.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::new()
    }

    /// The engine's identity in leases.
    #[must_use]
    pub fn id(&self) -> EngineId {
        self.0.id
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &EngineConfig {
        &self.0.config
    }

    /// Its drivers.
    #[must_use]
    pub fn drivers(&self) -> &DriverRegistry {
        &self.0.drivers
    }

    pub(crate) fn demand(
        &self,
        cx: &RequestContext,
        deed: Deed,
        owner: &ProjectId,
    ) -> Result<(), Error> {
        if self.0.policy.allows(cx, deed, owner) {
            return Ok(());
        }
        Err(Error::Forbidden {
            what: format!("{deed:?} for user {}", cx.user_id),
        })
    }

    /// The living cluster with a name or id that the caller can see; a foreign one looks absent (rule `MS-06`).
    pub(crate) async fn find(&self, cx: &RequestContext, key: &str) -> Result<Cluster, Error> {
        let own = Visibility::Project(cx.project_id.clone());
        let mut found = self.0.store.find_clusters(&own, key).await?;
        if found.is_empty() && cx.visibility() == Visibility::Everything {
            let everywhere = cx.visibility();
            found = self.0.store.find_clusters(&everywhere, key).await?;
        }
        match found.len() {
            0 => Err(Error::not_found("cluster", key)),
            1 => Ok(found.remove(0)),
            _ => Err(Error::Ambiguous {
                kind: "cluster",
                name: key.to_owned(),
                ids: found.iter().map(|c| c.id.to_string()).collect(),
            }),
        }
    }
}
