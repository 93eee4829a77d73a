//! The [`Store`] trait over the statements. Compiled once for each database.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use tokio::sync::watch;

use super::{Handle, reads, writes};
use crate::event::Event;
use crate::id::{ClusterId, ClusterTemplateId, OperationId, ProjectId};
use crate::model::{Cluster, ClusterTemplate};
use crate::operation::{Lease, Operation};
use crate::store::{
    ClaimRequest, ClusterRecord, Commit, Committed, OperationFilter, Page, Quota, Store,
    StoreError, Usage, Visibility,
};

#[async_trait]
impl Store for Handle {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let done = writes::commit(self.writer(), commit).await?;
        self.tell();
        Ok(done)
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Operation>, StoreError> {
        writes::claim(self.writer(), request).await
    }

    async fn renew(&self, lease: &Lease, until: DateTime<Utc>) -> Result<(), StoreError> {
        writes::renew(self.writer(), lease, until).await
    }

    async fn next_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        reads::next_due(self.reader()).await
    }

    async fn claim_looks(
        &self,
        now: DateTime<Utc>,
        again: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<ClusterId>, StoreError> {
        writes::claim_looks(self.writer(), now, again, limit).await
    }

    async fn load(&self, id: ClusterId) -> Result<Option<ClusterRecord>, StoreError> {
        reads::load(self.reader(), id).await
    }

    async fn find_clusters(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<Cluster>, StoreError> {
        reads::find_clusters(self.reader(), visible, key).await
    }

    async fn clusters(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<Cluster>, StoreError> {
        reads::clusters(self.reader(), visible, page).await
    }

    async fn find_templates(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        reads::find_templates(self.reader(), visible, key).await
    }

    async fn templates(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        reads::templates(self.reader(), visible, page).await
    }

    async fn template_versions(
        &self,
        visible: &Visibility,
        lineage: ClusterTemplateId,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        reads::template_versions(self.reader(), visible, lineage).await
    }

    async fn operation(
        &self,
        visible: &Visibility,
        id: OperationId,
    ) -> Result<Option<Operation>, StoreError> {
        reads::one_operation(self.reader(), visible, id).await
    }

    async fn operations(
        &self,
        visible: &Visibility,
        filter: &OperationFilter,
    ) -> Result<Vec<Operation>, StoreError> {
        reads::operations(self.reader(), visible, filter).await
    }

    async fn events(
        &self,
        visible: &Visibility,
        since: u64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        reads::events(self.reader(), visible, since, limit).await
    }

    async fn prune_events(
        &self,
        before: DateTime<Utc>,
        up_to: u64,
        limit: u32,
    ) -> Result<u64, StoreError> {
        writes::prune_events(self.writer(), before, up_to, limit).await
    }

    async fn last_event(&self) -> Result<u64, StoreError> {
        reads::last_event(self.reader()).await
    }

    async fn memo(&self, cluster: ClusterId, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        reads::memo(self.reader(), cluster, key).await
    }

    async fn secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        reads::secret(self.reader(), cluster, purpose).await
    }

    async fn put_secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
        sealed: Vec<u8>,
        replace: bool,
    ) -> Result<Vec<u8>, StoreError> {
        writes::put_secret(self.writer(), cluster, purpose, sealed, replace).await
    }

    async fn delete_secret(&self, cluster: ClusterId, purpose: &str) -> Result<(), StoreError> {
        writes::delete_secret(self.writer(), cluster, purpose).await
    }

    async fn secret_purposes(&self, cluster: ClusterId) -> Result<Vec<String>, StoreError> {
        reads::secret_purposes(self.reader(), cluster).await
    }

    async fn idempotent(
        &self,
        project: &ProjectId,
        key: &str,
    ) -> Result<Option<ClusterId>, StoreError> {
        reads::idempotent(self.reader(), project, key).await
    }

    async fn quota(&self, project: &ProjectId) -> Result<Option<Quota>, StoreError> {
        reads::quota(self.reader(), project).await
    }

    async fn usage(&self, project: &ProjectId) -> Result<Usage, StoreError> {
        reads::usage(self.reader(), project).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
