//! One server's bootstrap, from ACTIVE to a registered node.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::{Rng as _, SeedableRng as _};

use super::config::{FaultAction, Stage};
use super::kubeadm_init;
use super::kubeadm_join;
use super::node_env::Role;
use super::openstack::Server;
use super::preflight::{self, Failure, Machine, Plan};
use super::shared::Shared;
use super::signal::Signaller;
use super::state::Phase;
use super::user_data::UserData;

/// Runs the bootstrap of a server whose record is `Booting`.
pub(crate) async fn boot(shared: Arc<Shared>, server: Server) {
    let result = Boot {
        shared: &shared,
        server: &server,
        signaller: None,
    }
    .run()
    .await;
    if let Err(why) = result {
        tracing::info!(server = server.name, "{why}");
        shared.change_node(&server.id, |r| {
            r.phase = Phase::Dark;
            r.reason = why;
        });
    }
    shared
        .running
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .remove(&server.id);
}

struct Boot<'a> {
    shared: &'a Arc<Shared>,
    server: &'a Server,
    signaller: Option<Signaller>,
}

impl Boot<'_> {
    fn alive(&self) -> Result<(), String> {
        if self.shared.is_alive(&self.server.id) {
            Ok(())
        } else {
            Err("the server is gone".into())
        }
    }

    /// Waits as a machine does, with a little variation from the seed.
    async fn wait(&self, time: Duration, salt: u64) -> Result<(), String> {
        let id = self
            .server
            .id
            .bytes()
            .fold(salt, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
        let mut rng = rand::rngs::SmallRng::seed_from_u64(self.shared.config.seed ^ id);
        tokio::time::sleep(time.mul_f64(rng.random_range(0.8..1.2))).await;
        self.alive()
    }

    /// `Err` is a machine that stays dark; a bootstrap that failed in the open is `Ok`.
    async fn run(mut self) -> Result<(), String> {
        let text = self.server.user_data.clone().unwrap_or_default();
        let decoded = STANDARD
            .decode(&text)
            .map_err(|e| format!("user-data is not base64: {e}"))?;
        let decoded =
            String::from_utf8(decoded).map_err(|e| format!("user-data is not text: {e}"))?;
        let data = UserData::parse(&decoded);
        let fault = self.shared.change(|s| {
            if let Some(r) = s.servers.get_mut(&self.server.id) {
                r.boots += 1;
            }
            s.take_fault(&self.server.name)
        });
        let action = fault.map(|f| f.action);
        match &action {
            Some(FaultAction::NeverBoot) => return Err("scripted: never boots".into()),
            Some(FaultAction::Slow { millis }) => {
                tokio::time::sleep(Duration::from_millis(*millis)).await;
            }
            Some(FaultAction::NeverReady) => self
                .shared
                .change_node(&self.server.id, |r| r.never_ready = true),
            _ => {}
        }
        let data = data.map_err(|why| format!("cloud-init: {why}"))?;
        self.wait(self.shared.config.boot_delay, 1).await?;
        let scripted = |stage: Stage| match &action {
            Some(FaultAction::Fail {
                stage: at,
                code,
                message,
            }) if *at == stage => Err(Failure::new(code, message)),
            _ => Ok(()),
        };
        self.signaller = self.make_signaller(&data);
        let mut stage = Stage::Boot;
        let result = async {
            scripted(Stage::Boot)?;
            self.signal(
                Stage::Boot,
                &format!("bootstrap of {} started", self.server.name),
            )
            .await;
            stage = Stage::Preflight;
            let plan = self.preflight(&data, text.len()).await?;
            scripted(Stage::Preflight)?;
            self.signal(Stage::Preflight, "all checks passed").await;
            stage = Stage::Kubeadm;
            scripted(Stage::Kubeadm)?;
            let gone = |_| Failure::new("E98", "the machine was shut down");
            self.wait(self.shared.config.kubeadm_time, 2)
                .await
                .map_err(gone)?;
            self.kubeadm(&plan).await?;
            self.signal(Stage::Kubeadm, "kubeadm is done").await;
            stage = Stage::Done;
            scripted(Stage::Done)
        }
        .await;
        self.alive()?;
        match result {
            Ok(()) => {
                self.signal(Stage::Done, &format!("node {} is set up", self.server.name))
                    .await;
            }
            Err(failure) => self.fail(stage, &failure).await,
        }
        Ok(())
    }

    fn make_signaller(&self, data: &UserData) -> Option<Signaller> {
        let wanted = data
            .text("/etc/clusternode/node.env")
            .is_ok_and(|t| t.lines().any(|l| l == "SIGNAL=true"));
        if !wanted {
            return None;
        }
        let map = data.text("/etc/clusternode/signal.json").ok()?;
        match Signaller::new(self.shared.http.clone(), map) {
            Ok(signaller) => Some(signaller),
            Err(why) => {
                tracing::warn!(server = self.server.name, "{why}");
                self.shared
                    .change_node(&self.server.id, |r| r.signals.push(why));
                None
            }
        }
    }

    async fn send(&mut self, stage: Stage, success: bool, reason: &str) {
        let Some(signaller) = &mut self.signaller else {
            return;
        };
        let word = if success { "SUCCESS" } else { "FAILURE" };
        let note = match signaller.send(stage, success, reason, "").await {
            Ok(()) => format!("{} {word}", stage.id()),
            Err(why) => format!("{} {word} not delivered: {why}", stage.id()),
        };
        self.shared
            .change_node(&self.server.id, |r| r.signals.push(note));
    }

    async fn signal(&mut self, stage: Stage, reason: &str) {
        self.send(stage, true, reason).await;
    }

    async fn fail(&mut self, stage: Stage, failure: &Failure) {
        let line = failure.line();
        tracing::info!(server = self.server.name, "{line}");
        self.shared.change_node(&self.server.id, |r| {
            r.phase = Phase::Failed;
            r.reason.clone_from(&line);
        });
        self.send(stage, false, &line).await;
    }

    async fn preflight(&self, data: &UserData, user_data_bytes: usize) -> Result<Plan, Failure> {
        let image_version = match &self.server.image {
            Some(image) => self.shared.cloud.image_version(image).await,
            None => None,
        };
        let machine = Machine {
            server_id: &self.server.id,
            server_name: &self.server.name,
            addresses: &self.server.addresses,
            image_version: image_version.as_deref(),
            now: chrono::Utc::now().timestamp(),
            user_data_bytes,
        };
        let (report, plan) = preflight::check(data, &machine);
        let failure = report.failure();
        self.shared.change_node(&self.server.id, |r| {
            r.checks = report.checks;
            if let Some(plan) = &plan {
                let kubelet = plan.documents.kubelet.as_ref();
                r.node_name.clone_from(&plan.env.node_name);
                r.cluster_id.clone_from(&plan.env.cluster_id);
                r.role = Some(plan.env.role);
                r.address = Some(plan.own_address);
                r.flavor.clone_from(&self.server.flavor);
                r.zone.clone_from(&self.server.zone);
                r.external = plan.registration().kubelet_arg("cloud-provider") == Some("external");
                r.serving_csr = kubelet.is_some_and(|k| k.server_tls_bootstrap == Some(true));
                r.needs_cni = plan.env.cni != "none";
            }
        });
        match (plan, failure) {
            (Some(plan), None) => Ok(plan),
            (_, Some(failure)) => Err(failure),
            (None, None) => Err(Failure::new("E99", "no plan and no failure")),
        }
    }

    async fn kubeadm(&self, plan: &Plan) -> Result<(), Failure> {
        match plan.env.role {
            Role::ControlPlaneInit => kubeadm_init::init(self.shared, self.server, plan).await,
            Role::ControlPlaneJoin | Role::Worker => {
                kubeadm_join::join(self.shared, self.server, plan).await
            }
        }
    }
}
