//! Where everything durable is kept.

mod commit;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod filter;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use commit::{Commit, Committed, Guard, NewEvent, Write};
pub use error::StoreError;
pub use filter::{OperationFilter, Page, Visibility};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use record::{ClaimRequest, ClusterRecord, Quota, Usage};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

use std::fmt::Debug;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::event::Event;
use crate::id::{ClusterId, ClusterTemplateId, OperationId, ProjectId};
use crate::model::{Cluster, ClusterTemplate};
use crate::operation::{Lease, Operation};

/// What an engine needs of a database.
///
/// Decisions are made on a consistent reading ([`load`](Self::load)) and written by [`commit`](Self::commit), which refuses where
/// the reading is out of date or the lease is lost; so a store knows nothing of operations' rules. All methods are cancel safe:
/// a dropped `commit` has happened wholly or not at all.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// Checks all guards and makes all writes, in one transaction.
    ///
    /// # Errors
    /// The first guard that does not hold, and nothing is written; [`StoreError::Unavailable`].
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// Leases due operations: those whose `next_due` has come and that nobody has a living lease on, the longest due first.
    /// Each gets the next fence.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Operation>, StoreError>;

    /// Prolongs a lease.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] where another owner has it.
    async fn renew(&self, lease: &Lease, until: DateTime<Utc>) -> Result<(), StoreError>;

    /// When the next operation is due that nobody has a lease on, or a lease ends; none where nothing runs.
    async fn next_due(&self) -> Result<Option<DateTime<Utc>>, StoreError>;

    /// Takes up to `limit` finished clusters that were last looked at before they should be, and notes `again` as the time of their next look.
    async fn claim_looks(
        &self,
        now: DateTime<Utc>,
        again: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<ClusterId>, StoreError>;

    /// A cluster, deleted ones included, with its groups and all operations that have not ended, as one consistent reading.
    async fn load(&self, id: ClusterId) -> Result<Option<ClusterRecord>, StoreError>;

    /// The living clusters with this id or name that are visible.
    async fn find_clusters(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<Cluster>, StoreError>;

    /// The living clusters that are visible, by id.
    async fn clusters(&self, visible: &Visibility, page: &Page)
    -> Result<Vec<Cluster>, StoreError>;

    /// The templates with this id or name that are visible; public ones are visible to all.
    async fn find_templates(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<ClusterTemplate>, StoreError>;

    /// The templates that are visible, by id; public ones are visible to all.
    async fn templates(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<ClusterTemplate>, StoreError>;

    /// The versions of a template that are visible, the oldest first.
    async fn template_versions(
        &self,
        visible: &Visibility,
        lineage: ClusterTemplateId,
    ) -> Result<Vec<ClusterTemplate>, StoreError>;

    /// An operation, where it is visible.
    async fn operation(
        &self,
        visible: &Visibility,
        id: OperationId,
    ) -> Result<Option<Operation>, StoreError>;

    /// Operations, the latest first.
    async fn operations(
        &self,
        visible: &Visibility,
        filter: &OperationFilter,
    ) -> Result<Vec<Operation>, StoreError>;

    /// Events with a number above `since`, in order.
    async fn events(
        &self,
        visible: &Visibility,
        since: u64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError>;

    /// Removes, of the first `limit` events, those from before `before` and those with a number up to `up_to`; says how many that were.
    /// Numbers are never given again.
    async fn prune_events(
        &self,
        before: DateTime<Utc>,
        up_to: u64,
        limit: u32,
    ) -> Result<u64, StoreError>;

    /// The number of the last event ever told; 0 where there was none.
    async fn last_event(&self) -> Result<u64, StoreError>;

    /// A sealed memo.
    async fn memo(&self, cluster: ClusterId, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// A sealed secret.
    async fn secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Writes a sealed secret and gives back the one that is stored afterwards: with `replace` the given one,
    /// else the one that was there first.
    async fn put_secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
        sealed: Vec<u8>,
        replace: bool,
    ) -> Result<Vec<u8>, StoreError>;

    /// Removes a sealed secret; none there is success.
    async fn delete_secret(&self, cluster: ClusterId, purpose: &str) -> Result<(), StoreError>;

    /// The purposes for which the cluster has secrets, sorted.
    async fn secret_purposes(&self, cluster: ClusterId) -> Result<Vec<String>, StoreError>;

    /// The cluster that a request with this key made.
    async fn idempotent(
        &self,
        project: &ProjectId,
        key: &str,
    ) -> Result<Option<ClusterId>, StoreError>;

    /// The limits that were set for a project; none where none were.
    async fn quota(&self, project: &ProjectId) -> Result<Option<Quota>, StoreError>;

    /// What a project has.
    async fn usage(&self, project: &ProjectId) -> Result<Usage, StoreError>;

    /// A counter that moves when something may have changed: a hint that saves waiting, never the only word.
    fn changes(&self) -> tokio::sync::watch::Receiver<u64>;
}
