//! A running cluster: its API server and what its control plane agrees on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::state::ClusterRecord;
use crate::kubernetes::{ApiServer, CoreHandle};
use crate::proxy::Route;

/// One cluster with a served API.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) id: String,
    pub(crate) api: ApiServer,
    learner: Mutex<Option<String>>,
    up: AtomicBool,
}

/// Held while a control-plane node joins etcd as a learner.
#[derive(Debug)]
pub(crate) struct Learner<'a>(&'a Cluster);

impl Drop for Learner<'_> {
    fn drop(&mut self) {
        *self
            .0
            .learner
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Cluster {
    /// Starts the API server of a record.
    pub(crate) async fn start(record: &ClusterRecord) -> Result<Self, String> {
        let api = ApiServer::start(&record.api).await?;
        Ok(Self {
            id: record.id.clone(),
            api,
            learner: Mutex::new(None),
            up: AtomicBool::new(true),
        })
    }

    pub(crate) fn core(&self) -> &CoreHandle {
        self.api.core()
    }

    /// Whether a control-plane server runs.
    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Notes whether a control-plane server runs; when the last one is lost, open connections break.
    pub(crate) fn set_up(&self, up: bool) {
        if self.up.swap(up, Ordering::Relaxed) && !up {
            self.api.disconnect();
        }
    }

    /// Begins an etcd join; etcd takes one learner at a time.
    pub(crate) fn learn(&self, node: &str) -> Result<Learner<'_>, String> {
        let mut learner = self.learner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = &*learner {
            return Err(format!(
                "error creating local etcd static pod manifest file: etcdserver: too many learner members in cluster ({other} is joining)"
            ));
        }
        *learner = Some(node.to_owned());
        Ok(Learner(self))
    }
}

/// The proxy's route of a cluster; without a target while no control-plane server runs.
pub(crate) fn route(
    record: &ClusterRecord,
    addresses: Vec<String>,
    api: Option<&ApiServer>,
) -> Route {
    let private =
        |n: &&String| !matches!(n.as_str(), "localhost" | "127.0.0.1" | "::1" | "kubernetes");
    let mut names: Vec<String> = record.names.iter().filter(private).cloned().collect();
    if !names.contains(&record.host) {
        names.push(record.host.clone());
    }
    Route {
        names,
        addresses,
        port: record.port,
        target: api.map(ApiServer::address),
    }
}
