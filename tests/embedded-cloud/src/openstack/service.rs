//! What every service of the embedded cloud provides.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use axum::Router;
use serde_json::Value;

use super::{Cloud, Persist};

/// The services of the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServiceKind {
    /// Identity.
    Keystone,
    /// Compute.
    Nova,
    /// Networks.
    Neutron,
    /// Images.
    Glance,
    /// Orchestration.
    Heat,
    /// Load balancers.
    Octavia,
    /// Secrets.
    Barbican,
    /// Volumes.
    Cinder,
    /// Bare metal.
    Ironic,
    /// Inventories of hosts.
    Placement,
}

impl ServiceKind {
    /// All services, in the order in which they are started.
    pub const ALL: [Self; 10] = [
        Self::Keystone,
        Self::Glance,
        Self::Neutron,
        Self::Placement,
        Self::Ironic,
        Self::Cinder,
        Self::Nova,
        Self::Octavia,
        Self::Barbican,
        Self::Heat,
    ];

    /// The first segment of the service's paths, without slash.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Keystone => "identity",
            Self::Nova => "compute",
            Self::Neutron => "network",
            Self::Glance => "image",
            Self::Heat => "heat",
            Self::Octavia => "load-balancer",
            Self::Barbican => "key-manager",
            Self::Cinder => "volume",
            Self::Ironic => "baremetal",
            Self::Placement => "placement",
        }
    }

    /// The name used in faults, the inventory and the journal: the project's own name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keystone => "keystone",
            Self::Nova => "nova",
            Self::Neutron => "neutron",
            Self::Glance => "glance",
            Self::Heat => "heat",
            Self::Octavia => "octavia",
            Self::Barbican => "barbican",
            Self::Cinder => "cinder",
            Self::Ironic => "ironic",
            Self::Placement => "placement",
        }
    }

    /// The service whose prefix this is.
    #[must_use]
    pub fn from_prefix(prefix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.prefix() == prefix)
    }
}

impl fmt::Display for ServiceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One OpenStack service.
///
/// ```text
/// #[derive(Debug)]
/// pub struct Nova { state: Store<NovaState> }        // NovaState: Serialize + DeserializeOwned, all that must outlive a kill
///
/// impl Service for Nova {
///     fn kind(&self) -> ServiceKind { ServiceKind::Nova }
///     fn state(&self) -> &dyn Persist { &self.state }
///     fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
///         Router::new().route("/v2.1/servers", post(create)).with_state(self)
///     }
///     fn inventory(&self, project: Option<&str>) -> Value { json!({"servers": [...]}) }
///     fn resume(self: Arc<Self>, cloud: &Cloud) { /* for each server still in BUILD: cloud.spawn(build(..)) */ }
/// }
///
/// async fn create(cloud: Cloud, caller: Caller, version: Microversion, State(nova): State<Arc<Nova>>, Json(body): Json<Value>)
///     -> Result<(StatusCode, Json<Value>), ApiError> {
///     let id = cloud.uuid();
///     nova.state.write(|s| s.servers.insert(id.clone(), ..));
///     cloud.ledger().record(&cloud, "server", "create", &id, name, &caller.project_id);
///     let (nova, inner) = (nova.clone(), cloud.clone());
///     cloud.spawn(async move { inner.build(Build::Server).await; nova.state.write(|s| ..ACTIVE..) });
///     Ok((StatusCode::ACCEPTED, Json(..)))
/// }
/// ```
///
/// - Paths reach the router without the prefix and without a trailing slash (`/compute/v2.1/servers/` becomes `/v2.1/servers`;
///   `/compute` becomes `/`). The unstripped one is in [`Cloud::url`].
/// - [`Cloud`], `Caller` and `Microversion` are extractors and work with any router state. `Caller` answers 401 by itself.
/// - An unknown path or method answers 501 by itself, a request id header is set by itself.
/// - All mutable state goes through `Store::write`: that is what the journal watches. The state is written before the
///   answer to a mutating request leaves the process, and within 100 ms for changes by background tasks.
/// - Another service is reached in-process by `cloud.service::<Neutron>()`, or by its REST API with [`Cloud::call`].
pub trait Service: Any + Send + Sync + fmt::Debug {
    /// Which service this is.
    fn kind(&self) -> ServiceKind;

    /// The state that is journalled: the service's [`super::Store`].
    fn state(&self) -> &dyn Persist;

    /// The routes, relative to the prefix. Called once at start.
    fn router(self: Arc<Self>, cloud: &Cloud) -> Router;

    /// What exists, for `GET /_embedded/inventory`: a map from a plural kind (`servers`) to a list of objects with at
    /// least `id`, `name` and `project_id`. With `project`, only what that project owns. Seeded objects are listed too.
    fn inventory(&self, project: Option<&str>) -> Value;

    /// Called once at start, after the journalled state is loaded and all services exist: restarts the work that was
    /// in flight when the process ended.
    fn resume(self: Arc<Self>, _cloud: &Cloud) {}
}
