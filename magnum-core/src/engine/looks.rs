//! The slow round over finished clusters: what members there are, and whether they are healthy.

use tokio::task::JoinSet;

use super::{Engine, telemetry};
use crate::driver::{Capability, ClusterView};
use crate::event::EventKind;
use crate::id::{ClusterId, OperationId};
use crate::model::{HealthReport, Problems};
use crate::operation::Draft;
use crate::state::Health;
use crate::store::StoreError;

impl Engine {
    /// Begins to look at finished clusters whose time has come, and says whether more of them may be waiting for a free place. They are
    /// taken as a batch when half of the places are free, looked at side by side, and none waits for another.
    pub(super) async fn look_around(&self, looks: &mut JoinSet<()>) -> bool {
        let places = self.0.config.looks_at_once as usize;
        let free = places.saturating_sub(looks.len());
        if free == 0 || free * 2 < places {
            return true;
        }
        let now = self.0.clock.now();
        let again = now + self.0.config.slow_round;
        let limit = u32::try_from(free).unwrap_or(u32::MAX);
        match self.0.store.claim_looks(now, again, limit).await {
            Ok(clusters) => {
                let full = clusters.len() == free;
                for cluster in clusters {
                    let engine = self.clone();
                    looks.spawn(async move { engine.timely_look(cluster).await });
                }
                full
            }
            Err(error) => {
                tracing::warn!(%error, "no clusters to look at could be read");
                false
            }
        }
    }

    async fn timely_look(&self, cluster: ClusterId) {
        let limit = self.0.config.look_timeout;
        let result = tokio::select! {
            biased;
            () = self.look(cluster) => "done",
            () = self.0.clock.sleep(limit) => {
                tracing::warn!(%cluster, seconds = limit.as_secs(), "the look at a cluster took too long");
                "timed_out"
            }
        };
        telemetry::look(result);
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
        let (health, reason) = judged(health, draft.view.cluster.health_report.as_ref());
        set_health(&mut draft, health, reason);
        if draft.is_unchanged() {
            return;
        }
        match self.0.store.commit(draft.into_commit()).await {
            Ok(_) | Err(StoreError::Stale { .. }) => {}
            Err(error) => tracing::warn!(%cluster, %error, "a look was not stored"),
        }
    }

    /// Takes an agent's word on its cluster's health: it holds while the cluster cannot be reached from here (rule `HA-01`). A probe that
    /// reaches the cluster wins.
    ///
    /// # Errors
    /// As [`cluster`](Self::cluster); [`Error::Invalid`](crate::Error::Invalid) for a report of [`Health::Unknown`].
    pub async fn report_health(
        &self,
        cx: &super::RequestContext,
        cluster: impl Into<super::ClusterKey> + Send,
        report: HealthReport,
    ) -> Result<(), crate::error::Error> {
        let key = cluster.into();
        if report.health == Health::Unknown {
            let rule = "must be HEALTHY or UNHEALTHY";
            return Err(Problems::one("health", "UNKNOWN", rule).into());
        }
        loop {
            let record = self.record(cx, &key).await?;
            let owner = record.view.cluster.project_id.clone();
            self.demand(cx, super::Deed::ReportHealth, &owner)?;
            let mut draft = Draft::of(record, self.0.clock.now());
            let cluster = &draft.view.cluster;
            let before = cluster.health_report.as_ref().map(|report| report.health);
            if cluster.health == Health::Unknown || before == Some(cluster.health) {
                set_health(&mut draft, report.health, report.reason.clone());
            }
            draft.view.cluster.health_report = Some(report.clone());
            match self.0.store.commit(draft.into_commit()).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
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

/// The probe's word where it could reach the cluster, else that of an agent inside (rule `HA-01`).
fn judged(
    probe: Option<(Health, Option<String>)>,
    report: Option<&HealthReport>,
) -> (Health, Option<String>) {
    match (probe, report) {
        (Some((Health::Unknown, _)) | None, Some(report)) => (report.health, report.reason.clone()),
        (Some(probed), _) => probed,
        (None, None) => (Health::Unknown, None),
    }
}

fn set_health(draft: &mut Draft, to: Health, reason: Option<String>) {
    let from = draft.view.cluster.health;
    if from != to {
        draft.view.cluster.health = to;
        draft.tell(None, EventKind::HealthChanged { from, to, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ha_01_an_agents_word_holds_where_the_cluster_cannot_be_reached() {
        let report = |health| HealthReport {
            health,
            reason: None,
        };
        let unknown = Some((Health::Unknown, Some("no way".to_owned())));
        assert_eq!(judged(unknown.clone(), None).0, Health::Unknown);
        let healthy = report(Health::Healthy);
        assert_eq!(judged(unknown, Some(&healthy)).0, Health::Healthy);
        assert_eq!(judged(None, Some(&healthy)).0, Health::Healthy);
        let probed = Some((Health::Unhealthy, None));
        assert_eq!(judged(probed, Some(&healthy)).0, Health::Unhealthy);
        assert_eq!(judged(None, None).0, Health::Unknown);
    }
}
