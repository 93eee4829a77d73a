//! How a simulator is started.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The login the simulator watches Nova with. It must be allowed to list the servers of all
/// projects with their user-data, which is the admin role by default.
#[derive(Clone)]
pub struct AdminLogin {
    /// Keystone v3 address, for example `http://127.0.0.1:5000/v3`.
    pub auth_url: String,
    /// User name.
    pub username: String,
    /// Password; never shown by `Debug`.
    pub password: String,
    /// Project name.
    pub project: String,
    /// Domain of user and project, by name. `Default` on most clouds.
    pub domain: String,
    /// Region whose compute endpoint is used; the first one when absent.
    pub region: Option<String>,
}

impl AdminLogin {
    /// A login in the domain `Default` and in any region.
    #[must_use]
    pub fn new(
        auth_url: impl Into<String>,
        username: impl Into<String>,
        password: impl Into<String>,
        project: impl Into<String>,
    ) -> Self {
        Self {
            auth_url: auth_url.into(),
            username: username.into(),
            password: password.into(),
            project: project.into(),
            domain: "Default".into(),
            region: None,
        }
    }
}

impl fmt::Debug for AdminLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminLogin")
            .field("auth_url", &self.auth_url)
            .field("username", &self.username)
            .field("password", &"***")
            .field("project", &self.project)
            .field("domain", &self.domain)
            .field("region", &self.region)
            .finish()
    }
}

/// A stage of a node's boot, in order. Its name is the `id` of the Heat signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The bootstrap unit runs.
    Boot,
    /// All checks of the image, the addresses and the files.
    Preflight,
    /// `kubeadm init` or `kubeadm join`.
    Kubeadm,
    /// The node has done its part.
    Done,
}

impl Stage {
    /// The signal id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Preflight => "preflight",
            Self::Kubeadm => "kubeadm",
            Self::Done => "done",
        }
    }
}

/// What a scripted fault does to a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum FaultAction {
    /// The stage fails with this code (`E04`) and text.
    Fail {
        /// Where it fails.
        stage: Stage,
        /// Code of the failure line.
        code: String,
        /// Text of the failure line.
        message: String,
    },
    /// The server stays dark: no signal, no node.
    NeverBoot,
    /// The node joins but never becomes Ready.
    NeverReady,
    /// The boot takes this much longer.
    Slow {
        /// Milliseconds added before the first stage.
        millis: u64,
    },
}

/// A scripted fault for the servers whose name matches a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFault {
    /// Server name; `*` stands for any text.
    pub server: String,
    /// What happens.
    #[serde(flatten)]
    pub action: FaultAction,
    /// How many boots it hits; without a number all of them.
    #[serde(default)]
    pub count: Option<u32>,
}

/// How a [`Simulator`](super::Simulator) is started.
#[derive(Debug, Clone)]
pub struct SimulatorConfig {
    /// The admin login.
    pub login: AdminLogin,
    /// Time between two looks at Nova. Default 1 s.
    pub poll_interval: Duration,
    /// Time between two turns of the clusters' own controllers: nodes become ready, pods are placed. Default 200 ms.
    pub tick: Duration,
    /// Time from ACTIVE to the first stage. Default 300 ms.
    pub boot_delay: Duration,
    /// Time `kubeadm` takes. Default 300 ms.
    pub kubeadm_time: Duration,
    /// Time from a server's disappearance to its node's NotReady. Default 2 s.
    pub node_grace: Duration,
    /// Time a joining node waits for the endpoint to answer. Default 60 s.
    pub discovery_timeout: Duration,
    /// Seed of the small variations of boot times. Default 1.
    pub seed: u64,
    /// Port of the CONNECT proxy on 127.0.0.1; 0 takes the journal's last one, else any.
    pub proxy_port: u16,
    /// Port of the admin API on 127.0.0.1; 0 takes the journal's last one, else any.
    pub admin_port: u16,
    /// Directory where state survives the process; nothing is kept when absent.
    pub journal: Option<PathBuf>,
    /// Faults scripted from the start.
    pub faults: Vec<NodeFault>,
}

impl SimulatorConfig {
    /// Defaults for this login.
    #[must_use]
    pub fn new(login: AdminLogin) -> Self {
        Self {
            login,
            poll_interval: Duration::from_secs(1),
            tick: Duration::from_millis(200),
            boot_delay: Duration::from_millis(300),
            kubeadm_time: Duration::from_millis(300),
            node_grace: Duration::from_secs(2),
            discovery_timeout: Duration::from_secs(60),
            seed: 1,
            proxy_port: 0,
            admin_port: 0,
            journal: None,
            faults: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let shown = format!(
            "{:?}",
            AdminLogin::new("http://x/v3", "admin", "adminpw", "admin")
        );
        assert!(!shown.contains("adminpw"), "{shown}");
    }

    #[test]
    fn a_fault_is_readable_json() {
        let fault: NodeFault = serde_json::from_value(serde_json::json!({
            "server": "*-cp-*", "action": "fail", "stage": "preflight", "code": "E04", "message": "no runtime"
        }))
        .unwrap();
        assert_eq!(fault.count, None);
        assert!(matches!(
            fault.action,
            FaultAction::Fail {
                stage: Stage::Preflight,
                ..
            }
        ));
    }
}
