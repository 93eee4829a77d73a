//! A whole driver over the kit: what is left for a crate of its own to say is its name, what it supports, and its times.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magnum_core::driver::{
    Advance, Capabilities, Change, ClusterDriver, ClusterView, DriverContext, DriverError,
    DriverSelector, Leftover, Plan,
};
use magnum_core::{Health, LabelSchema, Member, NodeGroupId, Problems};

use crate::config::{DriverConfig, SessionSource};
use crate::flow::{DriverLimits, Kit, plan, validate};

/// Limits of whole changes where the caller names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// For making a cluster.
    pub create: Duration,
    /// For any change of a cluster.
    pub change: Duration,
    /// For removing a cluster or a node group.
    pub delete: Duration,
}

/// What tells one Kubernetes driver from another.
pub trait DriverKind: Debug + Send + Sync + 'static {
    /// Its name, which is stored with every cluster, and the kinds of machines that it takes.
    const LIMITS: DriverLimits;

    /// For which templates it is chosen when they name no driver.
    fn selectors() -> Vec<DriverSelector>;

    /// What it can do. The rest is refused when it is asked for.
    fn capabilities() -> Capabilities;

    /// How long changes may take where nothing else is set.
    fn timeouts() -> Timeouts;
}

/// A driver of the given kind: the contract's methods, each one line to the kit.
#[derive(Debug)]
pub struct KubernetesDriver<K> {
    kit: Kit,
    timeouts: Timeouts,
    kind: PhantomData<K>,
}

impl<K> Clone for KubernetesDriver<K> {
    fn clone(&self) -> Self {
        Self {
            kit: self.kit.clone(),
            timeouts: self.timeouts.clone(),
            kind: PhantomData,
        }
    }
}

impl<K: DriverKind> KubernetesDriver<K> {
    /// A driver over the given sessions and settings.
    #[must_use]
    pub fn new(sessions: impl SessionSource, config: DriverConfig) -> Self {
        Self {
            kit: Kit::new(Arc::new(sessions), config),
            timeouts: K::timeouts(),
            kind: PhantomData,
        }
    }

    /// The same driver with other limits of time.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

#[async_trait]
impl<K: DriverKind> ClusterDriver for KubernetesDriver<K> {
    fn name(&self) -> &str {
        K::LIMITS.driver
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        K::selectors()
    }

    fn capabilities(&self) -> Capabilities {
        K::capabilities()
    }

    fn default_timeout(&self, _view: &ClusterView, change: &Change) -> Duration {
        match change {
            Change::Create => self.timeouts.create,
            Change::Delete | Change::DeleteNodeGroup { .. } => self.timeouts.delete,
            _ => self.timeouts.change,
        }
    }

    fn validate(&self, view: &ClusterView, change: &Change) -> Result<(), Problems> {
        validate(&K::LIMITS, self.kit.config(), view, change)
    }

    fn plan(&self, view: &ClusterView, change: &Change) -> Plan {
        plan(view, change)
    }

    fn label_schema(&self) -> Option<LabelSchema> {
        Some(self.kit.label_schema())
    }

    async fn preflight(&self, view: &ClusterView, change: &Change) -> Result<(), DriverError> {
        self.kit.preflight(view, change).await
    }

    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        self.kit.advance(cx, view, change).await
    }

    async fn members(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        node_group: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        self.kit.members(cx, view, node_group).await
    }

    async fn probe_health(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        self.kit.probe_health(cx, view).await
    }

    async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        self.kit.leftovers(view).await
    }
}
