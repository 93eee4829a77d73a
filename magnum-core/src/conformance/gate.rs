//! A store that stops its engine at a chosen write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};

use crate::event::Event;
use crate::id::{ClusterId, ClusterTemplateId, OperationId, ProjectId};
use crate::model::{Cluster, ClusterTemplate};
use crate::operation::{Lease, Operation};
use crate::store::{
    ClaimRequest, ClusterRecord, Commit, Committed, OperationFilter, Page, Quota, Store,
    StoreError, Usage, Visibility,
};

/// What happens at the chosen write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The write does not happen and its caller never goes on.
    Before,
    /// The write happens and its caller never goes on.
    After,
    /// The caller waits before the write until it is let go.
    Hold,
}

/// A store in front of another one.
#[derive(Debug)]
pub(super) struct Gate {
    inner: Arc<dyn Store>,
    commits: AtomicU64,
    stop: Option<(u64, Stop)>,
    /// Told when the chosen write is reached.
    pub(super) reached: Notify,
    /// Lets a held writer go on.
    pub(super) go_on: Notify,
}

impl Gate {
    pub(super) fn new(inner: Arc<dyn Store>, stop: Option<(u64, Stop)>) -> Self {
        Self {
            inner,
            commits: AtomicU64::new(0),
            stop,
            reached: Notify::new(),
            go_on: Notify::new(),
        }
    }

    /// How many writes there were.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for Gate {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst);
        let stop = self.stop.filter(|(at, _)| *at == number).map(|(_, s)| s);
        match stop {
            None => self.inner.commit(commit).await,
            Some(Stop::Before) => {
                self.reached.notify_one();
                std::future::pending().await
            }
            Some(Stop::After) => {
                let done = self.inner.commit(commit).await;
                self.reached.notify_one();
                let () = std::future::pending().await;
                done
            }
            Some(Stop::Hold) => {
                self.reached.notify_one();
                self.go_on.notified().await;
                self.inner.commit(commit).await
            }
        }
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Operation>, StoreError> {
        self.inner.claim(request).await
    }

    async fn renew(&self, lease: &Lease, until: DateTime<Utc>) -> Result<(), StoreError> {
        self.inner.renew(lease, until).await
    }

    async fn next_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.inner.next_due().await
    }

    async fn claim_looks(
        &self,
        now: DateTime<Utc>,
        again: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<ClusterId>, StoreError> {
        self.inner.claim_looks(now, again, limit).await
    }

    async fn load(&self, id: ClusterId) -> Result<Option<ClusterRecord>, StoreError> {
        self.inner.load(id).await
    }

    async fn find_clusters(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<Cluster>, StoreError> {
        self.inner.find_clusters(visible, key).await
    }

    async fn clusters(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<Cluster>, StoreError> {
        self.inner.clusters(visible, page).await
    }

    async fn find_templates(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        self.inner.find_templates(visible, key).await
    }

    async fn templates(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        self.inner.templates(visible, page).await
    }

    async fn template_versions(
        &self,
        visible: &Visibility,
        lineage: ClusterTemplateId,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        self.inner.template_versions(visible, lineage).await
    }

    async fn operation(
        &self,
        visible: &Visibility,
        id: OperationId,
    ) -> Result<Option<Operation>, StoreError> {
        self.inner.operation(visible, id).await
    }

    async fn operations(
        &self,
        visible: &Visibility,
        filter: &OperationFilter,
    ) -> Result<Vec<Operation>, StoreError> {
        self.inner.operations(visible, filter).await
    }

    async fn events(
        &self,
        visible: &Visibility,
        since: u64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        self.inner.events(visible, since, limit).await
    }

    async fn prune_events(
        &self,
        before: DateTime<Utc>,
        up_to: u64,
        limit: u32,
    ) -> Result<u64, StoreError> {
        self.inner.prune_events(before, up_to, limit).await
    }

    async fn last_event(&self) -> Result<u64, StoreError> {
        self.inner.last_event().await
    }

    async fn memo(&self, cluster: ClusterId, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.memo(cluster, key).await
    }

    async fn secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.secret(cluster, purpose).await
    }

    async fn put_secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
        sealed: Vec<u8>,
        replace: bool,
    ) -> Result<Vec<u8>, StoreError> {
        self.inner
            .put_secret(cluster, purpose, sealed, replace)
            .await
    }

    async fn delete_secret(&self, cluster: ClusterId, purpose: &str) -> Result<(), StoreError> {
        self.inner.delete_secret(cluster, purpose).await
    }

    async fn secret_purposes(&self, cluster: ClusterId) -> Result<Vec<String>, StoreError> {
        self.inner.secret_purposes(cluster).await
    }

    async fn idempotent(
        &self,
        project: &ProjectId,
        key: &str,
    ) -> Result<Option<ClusterId>, StoreError> {
        self.inner.idempotent(project, key).await
    }

    async fn quota(&self, project: &ProjectId) -> Result<Option<Quota>, StoreError> {
        self.inner.quota(project).await
    }

    async fn usage(&self, project: &ProjectId) -> Result<Usage, StoreError> {
        self.inner.usage(project).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes()
    }
}
