//! The door for drivers: everything that they share, behind the methods of the driver contract.

use std::sync::Arc;

use magnum_core::driver::{Advance, Change, ClusterView, DriverContext, DriverError, Leftover};
use magnum_core::{Health, LabelSchema, Member, NodeGroupId};

use super::round::Round;
use super::{change, create, delete, looks, sweep};
use crate::config::{DriverConfig, SessionSource};
use crate::fault::is_login_refused;
use crate::labels::known_labels;
use crate::lookup::resolve;
use crate::members::Names;
use crate::stacks::Mark;

/// What Kubernetes drivers share. A driver adds its name, what it supports and its limits.
#[derive(Debug, Clone)]
pub struct Kit {
    sessions: Arc<dyn SessionSource>,
    config: DriverConfig,
}

impl Kit {
    /// A kit over sessions and settings.
    #[must_use]
    pub fn new(sessions: Arc<dyn SessionSource>, config: DriverConfig) -> Self {
        Self { sessions, config }
    }

    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &DriverConfig {
        &self.config
    }

    async fn round<'a>(
        &'a self,
        cx: &'a DriverContext,
        view: &'a ClusterView,
    ) -> Result<Round<'a>, DriverError> {
        let session = self.sessions.cluster_session(&view.cluster).await?;
        Ok(Round::new(&self.config, cx, view, session))
    }

    /// See [`ClusterDriver::label_schema`](magnum_core::driver::ClusterDriver::label_schema).
    #[must_use]
    pub fn label_schema(&self) -> LabelSchema {
        known_labels()
    }

    /// See [`ClusterDriver::preflight`](magnum_core::driver::ClusterDriver::preflight).
    ///
    /// # Errors
    /// As there.
    pub async fn preflight(&self, view: &ClusterView, change: &Change) -> Result<(), DriverError> {
        if matches!(change, Change::Delete | Change::DeleteNodeGroup { .. }) {
            return Ok(());
        }
        let session = self.sessions.cluster_session(&view.cluster).await?;
        let looked = resolve(&session, view, change).await.map(drop);
        self.noticed(view, looked).await
    }

    /// See [`ClusterDriver::advance`](magnum_core::driver::ClusterDriver::advance).
    ///
    /// # Errors
    /// As there.
    pub async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        let stepped = self.step(cx, view, change).await;
        self.noticed(view, stepped).await
    }

    async fn step(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        let round = self.round(cx, view).await?;
        match change {
            Change::Create => Box::pin(create::create(&round)).await,
            Change::Resize {
                node_group,
                node_count,
                remove,
            } => {
                Box::pin(change::resize(
                    &round,
                    *node_group,
                    *node_count,
                    remove,
                    change,
                ))
                .await
            }
            Change::ReplaceNode { node_group, member } => {
                Box::pin(change::replace(&round, *node_group, member, change)).await
            }
            Change::CreateNodeGroup { node_group } => {
                Box::pin(change::create_group(&round, *node_group, change)).await
            }
            Change::DeleteNodeGroup { node_group } => {
                Box::pin(change::remove_group(&round, *node_group)).await
            }
            Change::Delete => Box::pin(delete::delete(&round)).await,
            other => Ok(delete::unsupported(other.kind().as_str())),
        }
    }

    /// See [`ClusterDriver::members`](magnum_core::driver::ClusterDriver::members).
    ///
    /// # Errors
    /// As there.
    pub async fn members(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        node_group: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        let round = self.round(cx, view).await?;
        let seen = looks::members(&round, node_group).await;
        self.noticed(view, seen).await
    }

    /// See [`ClusterDriver::probe_health`](magnum_core::driver::ClusterDriver::probe_health).
    ///
    /// # Errors
    /// As there.
    pub async fn probe_health(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        let round = self.round(cx, view).await?;
        let seen = looks::health(&round).await;
        self.noticed(view, seen).await
    }

    /// See [`ClusterDriver::leftovers`](magnum_core::driver::ClusterDriver::leftovers).
    ///
    /// # Errors
    /// As there.
    pub async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        let session = self.sessions.cluster_session(&view.cluster).await?;
        let names = Names::of(&view.cluster);
        let mark = Mark::of(view.cluster.id);
        let left = sweep::leftovers(&session, &names, &mark).await;
        self.noticed(view, left).await
    }

    /// Lets go of a session that the cloud does not accept any more (rule `SM-06`).
    async fn noticed<T: Send>(
        &self,
        view: &ClusterView,
        result: Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        if result.as_ref().is_err_and(is_login_refused) {
            self.sessions.forget(view.cluster.id).await;
        }
        result
    }
}
