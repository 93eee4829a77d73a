//! What a change would do, whether the cloud could do it, and what is left of a cluster.

use super::create::Prepared;
use super::understand::preview;
use super::{ChangeRequest, ClusterKey, Deed, Engine, RequestContext};
use crate::driver::{Change, Leftover, Plan};
use crate::error::Error;
use crate::id::ClusterId;
use crate::model::NewCluster;
use crate::operation::Draft;

impl Engine {
    /// What a creation would make and what quota it would need. Nothing is stored, no cloud is called.
    ///
    /// # Errors
    /// As [`create_cluster`](Self::create_cluster), quotas and names aside.
    pub async fn plan_create(&self, cx: &RequestContext, new: &NewCluster) -> Result<Plan, Error> {
        let Prepared { view, driver, .. } = self.prepare_create(cx, new, &Change::Create).await?;
        Ok(driver.plan(&view, &Change::Create))
    }

    /// Looks up in the cloud whether a creation could work. Nothing is stored or changed.
    ///
    /// # Errors
    /// As [`plan_create`](Self::plan_create), [`Error::Invalid`] with all problems that the cloud shows, [`Error::Driver`].
    pub async fn preflight_create(
        &self,
        cx: &RequestContext,
        new: &NewCluster,
    ) -> Result<(), Error> {
        let Prepared { view, driver, .. } = self.prepare_create(cx, new, &Change::Create).await?;
        Ok(driver.preflight(&view, &Change::Create).await?)
    }

    /// What a change would create, change, replace and delete. Nothing is stored, no cloud is called.
    ///
    /// # Errors
    /// As [`change`](Self::change), conflicts aside.
    pub async fn plan(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        request: &ChangeRequest,
    ) -> Result<Plan, Error> {
        let (view, driver, change) = self.imagine(cx, &cluster.into(), request).await?;
        Ok(driver.plan(&view, &change))
    }

    /// Looks up in the cloud whether a change could work. Nothing is stored or changed.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), [`Error::Invalid`] with all problems that the cloud shows, [`Error::Driver`].
    pub async fn preflight(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        request: &ChangeRequest,
    ) -> Result<(), Error> {
        let (view, driver, change) = self.imagine(cx, &cluster.into(), request).await?;
        Ok(driver.preflight(&view, &change).await?)
    }

    async fn imagine(
        &self,
        cx: &RequestContext,
        key: &ClusterKey,
        request: &ChangeRequest,
    ) -> Result<
        (
            crate::driver::ClusterView,
            std::sync::Arc<dyn crate::driver::ClusterDriver>,
            Change,
        ),
        Error,
    > {
        let target = self.upgrade_target(cx, request).await?;
        let record = self.record(cx, key).await?;
        let owner = record.view.cluster.project_id.clone();
        self.demand(cx, Deed::Change(request.kind()), &owner)?;
        let quota = self.quota_of(&owner).await?;
        let draft = Draft::of(record, self.0.clock.now());
        let driver = self.driver_of(&draft.view)?;
        let meant = self.understand(&draft, &*driver, request, &target, &quota)?;
        self.claimed(&*driver, &meant.change, meant.control_plane)?;
        let view = preview(&draft.view, &meant);
        driver.validate(&view, &meant.change)?;
        Ok((view, driver, meant.change))
    }

    /// Lists everything in the cloud that carries a cluster's mark; also for a cluster that is gone (rule `OP-06`).
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Driver`], [`Error::Store`].
    pub async fn leftovers(
        &self,
        cx: &RequestContext,
        cluster: ClusterId,
    ) -> Result<Vec<Leftover>, Error> {
        let record = self.0.store.load(cluster).await?;
        let record = record
            .filter(|record| cx.visibility().shows(&record.view.cluster.project_id))
            .ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        self.demand(cx, Deed::ReadClusters, &record.view.cluster.project_id)?;
        let driver = self.driver_of(&record.view)?;
        let mut left = driver.leftovers(&record.view).await?;
        if let Some(provider) = &self.0.credentials {
            left.extend(provider.list(&record.view.cluster).await?);
        }
        Ok(left)
    }
}
