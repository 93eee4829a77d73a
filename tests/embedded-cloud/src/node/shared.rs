//! What the simulator's tasks share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, RwLock};

use super::cluster::{Cluster, route};
use super::config::SimulatorConfig;
use super::openstack::Cloud;
use super::state::{ClusterRecord, JournalDir, NodeRecord, Phase, State};
use crate::proxy::Routes;

/// Shared by the poll, the boots, the lifecycle and the admin API.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: SimulatorConfig,
    pub(crate) cloud: Cloud,
    pub(crate) http: reqwest::Client,
    pub(crate) routes: Routes,
    pub(crate) proxy_url: String,
    state: Mutex<State>,
    pub(crate) clusters: RwLock<BTreeMap<String, Arc<Cluster>>>,
    /// Servers whose bootstrap runs in this process.
    pub(crate) running: Mutex<BTreeSet<String>>,
    pub(crate) journal: Option<JournalDir>,
    pub(crate) dirty: Notify,
}

impl Shared {
    pub(crate) fn new(
        config: SimulatorConfig,
        cloud: Cloud,
        http: reqwest::Client,
        routes: Routes,
        proxy_url: String,
        state: State,
        journal: Option<JournalDir>,
    ) -> Self {
        Self {
            config,
            cloud,
            http,
            routes,
            proxy_url,
            state: Mutex::new(state),
            clusters: RwLock::default(),
            running: Mutex::default(),
            journal,
            dirty: Notify::new(),
        }
    }

    /// The state, for reading. Changes go through [`Shared::change`].
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and has it saved soon.
    pub(crate) fn change<T>(&self, edit: impl FnOnce(&mut State) -> T) -> T {
        let result = edit(&mut self.state());
        self.dirty.notify_one();
        result
    }

    /// Changes the record of a server, if it is still there.
    pub(crate) fn change_node(&self, server: &str, edit: impl FnOnce(&mut NodeRecord)) {
        self.change(|s| {
            if let Some(record) = s.servers.get_mut(server) {
                edit(record);
            }
        });
    }

    /// Writes the state now.
    pub(crate) fn save(&self) {
        let Some(journal) = &self.journal else { return };
        let copy = self.state().clone();
        if let Err(error) = journal.save(&copy) {
            tracing::error!(%error, "the simulator's journal");
        }
    }

    /// Whether a server runs.
    pub(crate) fn is_alive(&self, server: &str) -> bool {
        self.state()
            .servers
            .get(server)
            .is_some_and(|r| r.away_since.is_none() && !r.broken)
    }

    /// Points the proxy at a cluster, or away from it when no control-plane server is left.
    pub(crate) fn refresh_route(&self, record: &ClusterRecord, cluster: &Cluster) {
        let addresses: Vec<String> = self
            .state()
            .servers
            .values()
            .filter(|r| r.cluster_id == record.id && r.role.is_some_and(|r| r.is_control_plane()))
            .filter(|r| r.away_since.is_none() && !r.broken && r.phase == Phase::Joined)
            .filter_map(|r| Some(r.address?.to_string()))
            .collect();
        let up = !addresses.is_empty();
        self.routes.set(
            &record.id,
            route(record, addresses, up.then_some(&cluster.api)),
        );
    }
}
