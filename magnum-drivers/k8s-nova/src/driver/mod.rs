//! The driver: the contract's methods, each one line to the kit.

mod health;
mod nodes;
mod stack;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magnum_core::driver::{
    Advance, Capabilities, Change, ClusterDriver, ClusterView, DriverContext, DriverError,
    DriverSelector, Leftover, Plan,
};
use magnum_core::{Health, LabelSchema, Member, NodeGroupId, Problems, ServerType};
use magnum_driver_kit::config::{DriverConfig, SessionSource};
use magnum_driver_kit::flow::{Kit, plan, validate};

use crate::capabilities::{LIMITS, NAME, capabilities};
use crate::config::Timeouts;

/// Builds clusters of virtual machines.
#[derive(Debug, Clone)]
pub struct NovaDriver {
    kit: Kit,
    timeouts: Timeouts,
}

impl NovaDriver {
    /// A driver over the given sessions and settings.
    #[must_use]
    pub fn new(sessions: impl SessionSource, config: DriverConfig) -> Self {
        Self {
            kit: Kit::new(Arc::new(sessions), config),
            timeouts: Timeouts::default(),
        }
    }

    /// The same driver with other limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

#[async_trait]
impl ClusterDriver for NovaDriver {
    fn name(&self) -> &str {
        NAME
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        vec![DriverSelector::kubernetes(ServerType::Vm, "ubuntu")]
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn default_timeout(&self, _view: &ClusterView, change: &Change) -> Duration {
        match change {
            Change::Create => self.timeouts.create,
            Change::Delete | Change::DeleteNodeGroup { .. } => self.timeouts.delete,
            _ => self.timeouts.change,
        }
    }

    fn validate(&self, view: &ClusterView, change: &Change) -> Result<(), Problems> {
        validate(&LIMITS, self.kit.config(), view, change)
    }

    fn plan(&self, view: &ClusterView, change: &Change) -> Plan {
        plan(view, change)
    }

    fn label_schema(&self) -> Option<LabelSchema> {
        Some(self.kit.label_schema())
    }

    async fn preflight(&self, view: &ClusterView, change: &Change) -> Result<(), DriverError> {
        stack::preflight(&self.kit, view, change).await
    }

    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        stack::advance(&self.kit, cx, view, change).await
    }

    async fn members(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        node_group: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        nodes::members(&self.kit, cx, view, node_group).await
    }

    async fn probe_health(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        health::probe(&self.kit, cx, view).await
    }

    async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        stack::leftovers(&self.kit, view).await
    }
}
