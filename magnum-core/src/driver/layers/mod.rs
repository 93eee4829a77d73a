//! Layers around a driver: what is wanted of its calls whatever it does in them.
//!
//! A layer sees every call that leaves the process ([`preflight`](ClusterDriver::preflight), [`advance`](ClusterDriver::advance),
//! [`members`](ClusterDriver::members), [`probe_health`](ClusterDriver::probe_health), [`leftovers`](ClusterDriver::leftovers)); name,
//! capabilities and the pure methods are the driver's own. A layered driver is a driver, so layers are stacked, the last one outermost:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use magnum_core::SystemClock;
//! use magnum_core::driver::layers::{Layered, Retry, Timeout};
//! use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
//!
//! let clock = Arc::new(SystemClock);
//! let driver = Arc::new(MemoryDriver::new(MemoryCloud::new()));
//! let driver = Layered::around(driver, Timeout::new(Duration::from_secs(60), clock.clone()));
//! let driver = Layered::around(driver, Retry::new(clock).attempts(2));
//! # let _: Arc<dyn magnum_core::driver::ClusterDriver> = driver;
//! ```
//!
//! The engine limits, counts and repeats calls by itself; layers are for what one driver needs beyond that, such as a limit that is
//! shorter than the engine's, a second try before an error is shown, or figures of this driver alone.

mod chaos;
#[cfg(feature = "metrics")]
mod metrics;
mod retry;
mod timeout;

pub use chaos::Chaos;
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
pub use retry::Retry;
pub use timeout::Timeout;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;

use super::{
    Advance, Capabilities, Change, ChangeKind, ClusterDriver, ClusterView, DriverContext,
    DriverError, DriverSelector, Leftover, Plan,
};
use crate::id::{ClusterId, NodeGroupId};
use crate::model::{LabelSchema, Member, Problems};
use crate::state::Health;

/// Which call of a driver a layer stands around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverCall<'a> {
    /// The driver's name.
    pub driver: &'a str,
    /// The method, such as `advance`.
    pub method: &'static str,
    /// The cluster.
    pub cluster: ClusterId,
    /// The change, for calls that concern one.
    pub change: Option<ChangeKind>,
}

/// What a layer does around each call of a driver.
pub trait DriverLayer: Debug + Send + Sync + 'static {
    /// Carries out a call. `run` begins it each time it is called, from the start: the contract makes every method one that can be
    /// repeated, and dropped at any await.
    ///
    /// # Errors
    /// Those of the driver, and the layer's own.
    fn around<'a, T, F>(
        &'a self,
        call: DriverCall<'a>,
        run: F,
    ) -> impl Future<Output = Result<T, DriverError>> + Send + 'a
    where
        T: Send + 'a,
        F: Fn() -> BoxFuture<'a, Result<T, DriverError>> + Send + Sync + 'a;

    /// Is told how an [`advance`](ClusterDriver::advance) ended that was no error. Nothing unless a layer wants to know.
    fn advanced(&self, _call: DriverCall<'_>, _advance: &Advance) {}
}

/// A driver with a layer around it.
#[derive(Debug, Clone)]
pub struct Layered<L> {
    driver: Arc<dyn ClusterDriver>,
    layer: L,
}

impl<L: DriverLayer> Layered<L> {
    /// Puts a layer around a driver. The result can be given to an engine or put into a further layer.
    #[must_use]
    pub fn around(driver: Arc<dyn ClusterDriver>, layer: L) -> Arc<Self> {
        Arc::new(Self { driver, layer })
    }

    /// The layer.
    #[must_use]
    pub const fn layer(&self) -> &L {
        &self.layer
    }

    fn call(
        &self,
        method: &'static str,
        view: &ClusterView,
        change: Option<&Change>,
    ) -> DriverCall<'_> {
        DriverCall {
            driver: self.driver.name(),
            method,
            cluster: view.cluster.id,
            change: change.map(Change::kind),
        }
    }
}

#[async_trait]
impl<L: DriverLayer> ClusterDriver for Layered<L> {
    fn name(&self) -> &str {
        self.driver.name()
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        self.driver.selectors()
    }

    fn capabilities(&self) -> Capabilities {
        self.driver.capabilities()
    }

    fn default_timeout(&self, view: &ClusterView, change: &Change) -> Duration {
        self.driver.default_timeout(view, change)
    }

    fn validate(&self, view: &ClusterView, change: &Change) -> Result<(), Problems> {
        self.driver.validate(view, change)
    }

    fn plan(&self, view: &ClusterView, change: &Change) -> Plan {
        self.driver.plan(view, change)
    }

    fn label_schema(&self) -> Option<LabelSchema> {
        self.driver.label_schema()
    }

    async fn preflight(&self, view: &ClusterView, change: &Change) -> Result<(), DriverError> {
        let call = self.call("preflight", view, Some(change));
        let run = || self.driver.preflight(view, change);
        self.layer.around(call, run).await
    }

    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        let call = self.call("advance", view, Some(change));
        let run = || self.driver.advance(cx, view, change);
        let advance = self.layer.around(call, run).await?;
        self.layer.advanced(call, &advance);
        Ok(advance)
    }

    async fn members(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        node_group: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        let call = self.call("members", view, None);
        let run = || self.driver.members(cx, view, node_group);
        self.layer.around(call, run).await
    }

    async fn probe_health(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        let call = self.call("probe_health", view, None);
        let run = || self.driver.probe_health(cx, view);
        self.layer.around(call, run).await
    }

    async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        let call = self.call("leftovers", view, None);
        let run = || self.driver.leftovers(view);
        self.layer.around(call, run).await
    }
}
