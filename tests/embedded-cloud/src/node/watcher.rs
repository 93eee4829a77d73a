//! The look at Nova: which servers there are, which are new, which are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::watch;

use super::boot::boot;
use super::openstack::Server;
use super::shared::Shared;
use super::state::{NodeRecord, Phase};
use super::user_data::UserData;

/// Looks again and again until stopped. An outage of the cloud changes nothing.
pub(crate) async fn run(shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let mut foreign: BTreeSet<String> = BTreeSet::new();
    let mut failing = false;
    loop {
        match shared.cloud.servers().await {
            Ok(servers) => {
                failing = false;
                look(&shared, servers, &mut foreign);
            }
            Err(error) => {
                // Said once an outage.
                if !failing {
                    tracing::warn!(%error, "cannot look at the servers");
                }
                failing = true;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(shared.config.poll_interval) => {}
            _ = stopped.changed() => return,
        }
    }
}

fn is_ours(server: &Server) -> bool {
    let text = server
        .user_data
        .as_deref()
        .and_then(|t| STANDARD.decode(t).ok());
    text.is_some_and(|t| UserData::is_ours(&String::from_utf8_lossy(&t)))
}

fn look(shared: &Arc<Shared>, servers: Vec<Server>, foreign: &mut BTreeSet<String>) {
    let clock = chrono::Utc::now().timestamp_millis();
    let seen: BTreeMap<&str, &str> = servers
        .iter()
        .map(|s| (s.id.as_str(), s.status.as_str()))
        .collect();
    foreign.retain(|id| seen.contains_key(id.as_str()));
    let known: BTreeMap<String, (Option<i64>, bool)> = shared
        .state()
        .servers
        .iter()
        .map(|(id, r)| (id.clone(), (r.away_since, r.deleted)))
        .collect();
    for (id, (away, deleted)) in &known {
        let status = seen.get(id.as_str()).copied();
        let gone = matches!(status, None | Some("DELETED" | "SOFT_DELETED"));
        let runs = status == Some("ACTIVE");
        if gone != *deleted || runs != away.is_none() {
            shared.change_node(id, |r| {
                r.deleted = gone;
                r.away_since = if runs {
                    None
                } else {
                    r.away_since.or(Some(clock))
                };
            });
        }
    }
    forget_unjoined(shared);
    for server in servers.into_iter().filter(|s| s.status == "ACTIVE") {
        let phase = shared.state().servers.get(&server.id).map(|r| r.phase);
        let resume = phase == Some(Phase::Booting);
        if phase.is_some() && !resume || foreign.contains(&server.id) {
            continue;
        }
        if !resume && !is_ours(&server) {
            foreign.insert(server.id);
            continue;
        }
        if !shared
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(server.id.clone())
        {
            continue;
        }
        if !resume {
            shared.change(|s| s.servers.insert(server.id.clone(), record(&server)));
        }
        tokio::spawn(boot(shared.clone(), server));
    }
}

/// Servers that are gone and belong to no running cluster leave no record.
fn forget_unjoined(shared: &Shared) {
    let mut state = shared.state();
    let clusters: BTreeSet<String> = state.clusters.keys().cloned().collect();
    let before = state.servers.len();
    state
        .servers
        .retain(|_, r| !r.deleted || clusters.contains(&r.cluster_id));
    let changed = state.servers.len() != before;
    drop(state);
    if changed {
        shared.dirty.notify_one();
    }
}

fn record(server: &Server) -> NodeRecord {
    NodeRecord {
        server_id: server.id.clone(),
        server_name: server.name.clone(),
        phase: Phase::Booting,
        node_name: String::new(),
        role: None,
        cluster_id: String::new(),
        address: None,
        reason: String::new(),
        checks: Vec::new(),
        signals: Vec::new(),
        boots: 0,
        broken: false,
        never_ready: false,
        away_since: None,
        deleted: false,
        external: false,
        serving_csr: false,
        serving_posted: false,
        flavor: server.flavor.clone(),
        zone: server.zone.clone(),
        needs_cni: true,
    }
}
