//! What is remembered of servers and clusters, and its file.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::NodeFault;
use super::error::SimulatorError;
use super::node_env::Role;
use super::preflight::Check;
use crate::kubernetes::ApiServerConfig;

/// How far a server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its bootstrap runs.
    Booting,
    /// Its node is registered.
    Joined,
    /// Its bootstrap failed.
    Failed,
    /// It never says anything (scripted, or user-data that cloud-init cannot read).
    Dark,
}

/// One of our servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Nova's id.
    pub server_id: String,
    /// Nova's name.
    pub server_name: String,
    /// How far it has come.
    pub phase: Phase,
    /// Name of its node, once known.
    #[serde(default)]
    pub node_name: String,
    /// Its role, once known.
    pub role: Option<Role>,
    /// Its cluster, once known.
    #[serde(default)]
    pub cluster_id: String,
    /// Its address in the node subnet.
    pub address: Option<IpAddr>,
    /// The failure line, or what keeps it dark.
    #[serde(default)]
    pub reason: String,
    /// Everything its boot looked at.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Signals sent, as `stage STATUS`.
    #[serde(default)]
    pub signals: Vec<String>,
    /// Bootstraps begun; more than one after a restart in the middle of one.
    #[serde(default)]
    pub boots: u32,
    /// Kubelet stopped by the admin API.
    #[serde(default)]
    pub broken: bool,
    /// Scripted never to be Ready.
    #[serde(default)]
    pub never_ready: bool,
    /// Unix milliseconds since when the server is not ACTIVE.
    pub away_since: Option<i64>,
    /// The server is no longer in Nova at all.
    #[serde(default)]
    pub deleted: bool,
    /// `--cloud-provider=external`.
    #[serde(default)]
    pub external: bool,
    /// `serverTLSBootstrap`.
    #[serde(default)]
    pub serving_csr: bool,
    /// The serving CSR was posted.
    #[serde(default)]
    pub serving_posted: bool,
    /// Flavor, for the instance-type label.
    #[serde(default)]
    pub flavor: String,
    /// Availability zone.
    #[serde(default)]
    pub zone: String,
    /// Readiness needs a network add-on.
    #[serde(default)]
    pub needs_cni: bool,
}

/// One cluster that has an API server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ClusterRecord {
    pub(crate) id: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Names that lead to it through the proxy.
    pub(crate) names: Vec<String>,
    pub(crate) api: ApiServerConfig,
    /// Voting members, by node name.
    pub(crate) members: Vec<String>,
}

/// A fault with its remaining count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ActiveFault {
    pub(crate) fault: NodeFault,
    pub(crate) hits: u32,
}

/// Everything that survives.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) proxy_port: u16,
    pub(crate) admin_port: u16,
    pub(crate) servers: BTreeMap<String, NodeRecord>,
    pub(crate) clusters: BTreeMap<String, ClusterRecord>,
    pub(crate) faults: Vec<ActiveFault>,
}

impl State {
    /// Takes the first fault that still applies to a server, and counts it.
    pub(crate) fn take_fault(&mut self, server: &str) -> Option<NodeFault> {
        let hit = self.faults.iter_mut().find(|f| {
            f.fault.count.is_none_or(|c| f.hits < c) && pattern_matches(&f.fault.server, server)
        })?;
        hit.hits += 1;
        Some(hit.fault.clone())
    }
}

/// `*` stands for any text.
fn pattern_matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            let previous: &str = previous;
            match rest.find(previous) {
                Some(at) => rest = &rest[at + previous.len()..],
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

/// The directory of a journal.
#[derive(Debug, Clone)]
pub(crate) struct JournalDir(PathBuf);

impl JournalDir {
    pub(crate) fn open(path: &Path) -> Result<(Self, State), SimulatorError> {
        let fail = |path: &Path, reason: String| SimulatorError::Journal {
            path: path.to_owned(),
            reason,
        };
        std::fs::create_dir_all(path).map_err(|e| fail(path, e.to_string()))?;
        let file = path.join("simulator.json");
        let state = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| fail(&file, e.to_string()))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => State::default(),
            Err(e) => return Err(fail(&file, e.to_string())),
        };
        Ok((Self(path.to_owned()), state))
    }

    /// Where the objects of a cluster lie.
    pub(crate) fn objects(&self, cluster: &str) -> PathBuf {
        self.0.join(format!("{cluster}.objects"))
    }

    /// Writes the state: a temporary file of mode 0600 (it holds CA keys), then a rename.
    pub(crate) fn save(&self, state: &State) -> Result<(), SimulatorError> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let (file, temporary) = (self.0.join("simulator.json"), self.0.join("simulator.tmp"));
        let fail = |reason: String| SimulatorError::Journal {
            path: file.clone(),
            reason,
        };
        let bytes = serde_json::to_vec(state).map_err(|e| fail(e.to_string()))?;
        let mut out = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(|e| fail(e.to_string()))?;
        out.write_all(&bytes).map_err(|e| fail(e.to_string()))?;
        std::fs::rename(&temporary, &file).map_err(|e| fail(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::FaultAction;
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("*-cp-*", "demo-cp-1", true),
            ("*-cp-*", "demo-w-1", false),
            ("demo-*-1", "demo-w-1", true),
            ("demo-*-1", "demo-w-2", false),
            ("*w*1*", "w1", true),
        ] {
            assert_eq!(pattern_matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_fault_hits_as_often_as_it_says() {
        let mut state = State::default();
        let fault = NodeFault {
            server: "w*".into(),
            action: FaultAction::NeverBoot,
            count: Some(1),
        };
        state.faults.push(ActiveFault { fault, hits: 0 });
        assert!(state.take_fault("cp").is_none());
        assert!(state.take_fault("w1").is_some());
        assert!(state.take_fault("w2").is_none());
    }
}
