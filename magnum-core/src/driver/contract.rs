//! The contract between the engine and whatever builds clusters.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use super::{
    Advance, Capabilities, Change, ClusterView, DriverContext, DriverError, DriverSelector,
    Leftover, Plan,
};
use crate::model::{LabelSchema, Member, Problems};
use crate::state::Health;

/// Builds, changes and removes clusters. Shared by all operations: keep per-cluster state in memos, not in `self`.
#[async_trait]
pub trait ClusterDriver: Debug + Send + Sync + 'static {
    /// The driver's name, such as `k8s-nova`; stored with every cluster it runs, so it never changes.
    fn name(&self) -> &str;

    /// The combinations of server type, distribution and engine for which it is chosen when a template names no driver.
    fn selectors(&self) -> Vec<DriverSelector>;

    /// What it can do. What is absent here is refused when it is asked for, before anything starts.
    fn capabilities(&self) -> Capabilities;

    /// The time that a change may take where the caller does not say.
    fn default_timeout(&self, view: &ClusterView, change: &Change) -> Duration;

    /// Checks a change without any effect and without a cloud.
    ///
    /// - *Called when* a change is asked for, before it is accepted.
    /// - *Must do*: find everything wrong with labels, sizes and combinations; return quickly.
    /// - *May assume*: the capability is claimed; core's own rules hold.
    /// - *Idempotency*: pure.
    /// - *Errors*: all problems at once.
    ///
    /// # Errors
    /// All problems of the input.
    fn validate(&self, view: &ClusterView, change: &Change) -> Result<(), Problems>;

    /// Says what a change would do, without any effect and without a cloud.
    ///
    /// - *Called when* a dry run is asked for.
    /// - *Must do*: name what would be created, changed, replaced, deleted, and the quota needed at the peak.
    /// - *May assume*: `validate` passed.
    /// - *Idempotency*: pure.
    /// - *Errors*: none.
    fn plan(&self, view: &ClusterView, change: &Change) -> Plan;

    /// Says which labels it knows, beside those of the engine ([`LabelSchema::of_the_engine`](crate::LabelSchema::of_the_engine)).
    ///
    /// - *Called when* a cluster, or a node group with labels of its own, is asked for, before [`validate`](Self::validate).
    /// - *Must do*: list every label that it reads, and Magnum's that it knowingly does without.
    /// - *May assume*: nothing. Pure.
    /// - *Idempotency*: always the same answer.
    /// - *Errors*: none. `None`, the default, says that nothing is known of its labels: none is reported or refused then.
    fn label_schema(&self) -> Option<LabelSchema> {
        None
    }

    /// Checks a change against the cloud, without any effect there.
    ///
    /// - *Called when* a caller asks for it before a request, and by the engine before the first `advance` of a change.
    /// - *Must do*: look up everything named (image, flavor, network, key pair ..) and compare quotas; report all problems at once.
    /// - *May assume*: `validate` passed.
    /// - *Idempotency*: reads only.
    /// - *Errors*: [`DriverError::Invalid`] ends the change before anything is made; [`DriverError::Unavailable`] is tried again.
    ///
    /// # Errors
    /// See above.
    async fn preflight(&self, view: &ClusterView, change: &Change) -> Result<(), DriverError>;

    /// Brings a change one bounded step further.
    ///
    /// - *Called when* an operation is due: first, after every pause that the driver proposed, and again after a crash of the engine.
    /// - *Must do*: look at memo and cloud, decide, act, checkpoint **before** every call that creates something, report members and facts as they change, and return within seconds (never wait in it for minutes).
    /// - *May assume*: it holds the lease of its scope; nobody else changes what is in that scope; the previous call may have stopped at any point.
    /// - *Idempotency*: total. Calling it again after any interruption creates nothing twice; after [`Advance::Done`] it is [`Advance::Done`] again.
    /// - *Errors*: an `Err` with [`retry()`](DriverError::retry) other than `Never` is counted and tried again until the deadline; `Never` fails the change. A change that cannot succeed is `Ok(Advance::Failed)`.
    ///
    /// [`Change::Delete`] removes everything that carries the cluster's mark or an intent in the memo, and is `Done` when nothing is left or what is left is reported by [`leftovers`](Self::leftovers).
    ///
    /// Cancel safety: the engine may drop the future at any await.
    ///
    /// # Errors
    /// See above.
    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError>;

    /// Says what members a group has now, by looking at the cloud and the cluster.
    ///
    /// - *Called when* drift is looked for, and when a caller wants fresh data.
    /// - *Must do*: list every member that the memo or the cloud knows.
    /// - *May assume*: nothing about the state.
    /// - *Idempotency*: reads only.
    /// - *Errors*: as `advance`.
    ///
    /// # Errors
    /// See above.
    async fn members(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        node_group: crate::id::NodeGroupId,
    ) -> Result<Vec<Member>, DriverError>;

    /// Says whether the cluster is healthy.
    ///
    /// - *Called when* the slow round passes, with [`Capability::ProbeHealth`](super::Capability::ProbeHealth).
    /// - *Must do*: distinguish "cannot connect" ([`Health::Unknown`]) from "answered badly" ([`Health::Unhealthy`]), with a reason in words.
    /// - *May assume*: nothing.
    /// - *Idempotency*: reads only.
    /// - *Errors*: only where even `Unknown` cannot be said.
    ///
    /// # Errors
    /// See above.
    async fn probe_health(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError>;

    /// Lists everything in the cloud that carries the cluster's mark.
    ///
    /// - *Called when* a deletion has ended, and by operators.
    /// - *Must do*: look in every service that the driver uses.
    /// - *May assume*: the cluster may be gone from the store.
    /// - *Idempotency*: reads only.
    /// - *Errors*: as `advance`.
    ///
    /// # Errors
    /// See above.
    async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError>;
}
