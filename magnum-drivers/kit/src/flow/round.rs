//! What one advance works with: the session, the names, the memo, and the cluster's API, each got once.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use magnum_certs::ClusterPki;
use magnum_core::driver::{ClusterView, DriverContext, DriverError, MemoKey};
use magnum_core::{ClusterFacts, NodeGroup, NodeGroupRole, ServerType};
use magnum_heat::Session;
use tokio::sync::OnceCell;

use super::observe::Observed;
use crate::config::DriverConfig;
use crate::fault::certificate_error;
use crate::kubernetes::KubernetesClient;
use crate::members::Names;
use crate::memo::{ClusterMemo, GroupMemo, InfraOutputs};
use crate::stack_ops::Submission;
use crate::stacks::{API_PORT, Mark};

/// One advance.
pub(crate) struct Round<'a> {
    pub(crate) config: &'a DriverConfig,
    pub(crate) cx: &'a DriverContext,
    pub(crate) view: &'a ClusterView,
    pub(crate) session: Session,
    pub(crate) names: Names,
    pub(crate) mark: Mark,
    pki: OnceCell<Arc<ClusterPki>>,
    client: OnceCell<KubernetesClient>,
    observed: OnceCell<Observed>,
}

impl<'a> Round<'a> {
    pub(crate) fn new(
        config: &'a DriverConfig,
        cx: &'a DriverContext,
        view: &'a ClusterView,
        session: Session,
    ) -> Self {
        Self {
            config,
            cx,
            view,
            session,
            names: Names::of(&view.cluster),
            mark: Mark::of(view.cluster.id),
            pki: OnceCell::new(),
            client: OnceCell::new(),
            observed: OnceCell::new(),
        }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.cx.now()
    }

    /// What goes with requests for stacks of the given kind of machines.
    pub(crate) fn submission(&self, server_type: ServerType) -> Submission<'_> {
        let patience = &self.config.patience;
        Submission {
            session: &self.session,
            mark: &self.mark,
            timeout_mins: match server_type {
                ServerType::Vm => patience.virtual_stack_mins,
                ServerType::BareMetal => patience.bare_metal_stack_mins,
            },
            now: self.now(),
        }
    }

    /// The cluster's keys, made where they are not there yet.
    pub(crate) async fn pki(&self) -> Result<&Arc<ClusterPki>, DriverError> {
        self.pki
            .get_or_try_init(|| async {
                ClusterPki::load_or_create(
                    self.cx.secrets().as_ref(),
                    self.view.cluster.id,
                    self.config.pki,
                    self.now(),
                )
                .await
                .map(Arc::new)
                .map_err(certificate_error)
            })
            .await
    }

    /// A client of the cluster's API.
    pub(crate) async fn client(
        &self,
        outputs: &InfraOutputs,
    ) -> Result<&KubernetesClient, DriverError> {
        self.client
            .get_or_try_init(|| async {
                let pki = self.pki().await?;
                self.config
                    .access
                    .client(self.view.cluster.id, pki, outputs, self.now())
                    .await
            })
            .await
    }

    /// The cluster as its API shows it, read once in this advance.
    pub(crate) async fn observed(&self, memo: &ClusterMemo) -> Result<&Observed, DriverError> {
        self.observed
            .get_or_try_init(|| async {
                match &memo.outputs {
                    Some(outputs) => Observed::read(self.client(outputs).await?).await,
                    None => Ok(Observed::nothing()),
                }
            })
            .await
    }

    pub(crate) async fn load_cluster(&self) -> Result<ClusterMemo, DriverError> {
        Ok(self
            .cx
            .load(&MemoKey::Cluster)
            .await?
            .unwrap_or_else(ClusterMemo::new))
    }

    pub(crate) async fn save_cluster(&self, memo: &ClusterMemo) -> Result<(), DriverError> {
        self.cx.checkpoint(&MemoKey::Cluster, memo).await
    }

    pub(crate) async fn load_group(&self, group: &NodeGroup) -> Result<GroupMemo, DriverError> {
        Ok(self
            .cx
            .load(&MemoKey::NodeGroup(group.id))
            .await?
            .unwrap_or_else(GroupMemo::new))
    }

    /// Writes a group's memo and reports its members.
    pub(crate) async fn save_group(
        &self,
        group: &NodeGroup,
        memo: &GroupMemo,
    ) -> Result<(), DriverError> {
        self.cx
            .checkpoint(&MemoKey::NodeGroup(group.id), memo)
            .await?;
        self.cx.report_members(group.id, &memo.to_members()).await
    }

    /// Reports what is known of the cluster.
    pub(crate) async fn report_facts(
        &self,
        memo: &ClusterMemo,
        version: Option<String>,
    ) -> Result<(), DriverError> {
        let url = |address: std::net::IpAddr| {
            format!(
                "https://{}",
                crate::bootstrap::Endpoint::new(address.to_string(), API_PORT)
            )
        };
        let before = &self.view.cluster.facts;
        let facts = ClusterFacts {
            api_address: memo.outputs.as_ref().map(|o| url(o.client_address())),
            internal_api_address: memo.outputs.as_ref().map(|o| url(o.address)),
            coe_version: version.or_else(|| before.coe_version.clone()),
            stack_id: memo
                .infrastructure
                .as_ref()
                .and_then(|stack| stack.id.clone()),
        };
        if facts == *before {
            return Ok(());
        }
        self.cx.report_facts(&facts).await
    }
}

/// A group in texts: `control plane` or `node group gpu`.
pub(crate) fn group_text(group: &NodeGroup) -> String {
    match group.role {
        NodeGroupRole::ControlPlane => "control plane".to_owned(),
        NodeGroupRole::Worker => format!("node group {}", group.name),
    }
}
