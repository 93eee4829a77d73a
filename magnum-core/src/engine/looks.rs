//! The slow round over finished clusters: what members there are, and whether they are healthy.

use tokio::task::JoinSet;

use super::Engine;
use crate::driver::{Capability, ClusterView};
use crate::event::EventKind;
use crate::id::{ClusterId, OperationId};
use crate::operation::Draft;
use crate::state::Health;
use crate::store::StoreError;

/// How many clusters are looked at in one go.
const AT_ONCE: u32 = 4;

impl Engine {
    /// Looks at some finished clusters whose time has come.
    pub(super) async fn look_around(&self, tasks: &mut JoinSet<()>) {
        let now = self.0.clock.now();
        let again = now + self.0.config.slow_round;
        match self.0.store.claim_looks(now, again, AT_ONCE).await {
            Ok(clusters) => {
                for cluster in clusters {
                    let engine = self.clone();
                    tasks.spawn(async move { engine.look(cluster).await });
                }
            }
            Err(error) => tracing::warn!(%error, "no clusters to look at could be read"),
        }
    }

    async fn look(&self, cluster: ClusterId) {
        let record = match self.0.store.load(cluster).await {
            Ok(Some(record)) if !record.deleted && record.operations.is_empty() => record,
            _ => return,
        };
        let Ok(driver) = self.driver_of(&record.view) else {
            return;
        };
        let cx = self.reading_context(&record.view, OperationId::from_uuid(uuid::Uuid::nil()));
        let mut seen = Vec::new();
        for group in &record.view.node_groups {
            let call = driver.members(&cx, &record.view, group.id);
            match self.guarded(&*driver, call).await {
                Ok(members) => seen.push((group.id, members)),
                Err(error) => tracing::debug!(%cluster, ?error, "members could not be read"),
            }
        }
        let health = if driver.capabilities().has(Capability::ProbeHealth) {
            let call = driver.probe_health(&cx, &record.view);
            let unknown = |_| (Health::Unknown, Some("the probe failed".to_owned()));
            Some(self.guarded(&*driver, call).await.unwrap_or_else(unknown))
        } else {
            None
        };
        // Where an operation has begun meanwhile its own reports are newer: the revision guard drops this one.
        let mut draft = Draft::of(record, self.0.clock.now());
        for (group, members) in seen {
            draft.set_members(group, &members, None);
        }
        if let Some((health, reason)) = health {
            set_health(&mut draft, health, reason);
        }
        if draft.is_unchanged() {
            return;
        }
        match self.0.store.commit(draft.into_commit()).await {
            Ok(_) | Err(StoreError::Stale { .. }) => {}
            Err(error) => tracing::warn!(%cluster, %error, "a look was not stored"),
        }
    }

    /// The cluster with its members and health as they are now, looked up in the cloud and stored.
    ///
    /// # Errors
    /// As [`cluster`](Self::cluster).
    pub async fn refresh(
        &self,
        cx: &super::RequestContext,
        cluster: impl Into<super::ClusterKey> + Send,
    ) -> Result<ClusterView, crate::error::Error> {
        let view = self.cluster_view(cx, cluster).await?;
        self.look(view.cluster.id).await;
        self.cluster_view(cx, view.cluster.id).await
    }
}

fn set_health(draft: &mut Draft, to: Health, reason: Option<String>) {
    let from = draft.view.cluster.health;
    if from != to {
        draft.view.cluster.health = to;
        draft.tell(None, EventKind::HealthChanged { from, to, reason });
    }
}
