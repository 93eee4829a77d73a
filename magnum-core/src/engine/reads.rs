//! Readings. None of them calls a cloud.

use super::{ClusterKey, Deed, Engine, RequestContext};
use crate::driver::ClusterView;
use crate::error::Error;
use crate::id::{OperationId, ProjectId};
use crate::model::{Cluster, NodeGroup};
use crate::operation::Operation;
use crate::store::{OperationFilter, Page, Quota, Usage, Visibility, Write};

use super::understand::find_group;

impl Engine {
    /// A living cluster, by name or id.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another project's; [`Error::Ambiguous`], [`Error::Forbidden`], [`Error::Store`].
    pub async fn cluster(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Cluster, Error> {
        let cluster = self.find(cx, &cluster.into().0).await?;
        self.demand(cx, Deed::ReadClusters, &cluster.project_id)?;
        Ok(cluster)
    }

    /// A living cluster with its groups, as one consistent reading.
    ///
    /// # Errors
    /// As [`cluster`](Self::cluster).
    pub async fn cluster_view(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<ClusterView, Error> {
        let record = self.record(cx, &cluster.into()).await?;
        self.demand(cx, Deed::ReadClusters, &record.view.cluster.project_id)?;
        Ok(record.view)
    }

    /// The living clusters that the caller can see.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn clusters(&self, cx: &RequestContext) -> Result<Vec<Cluster>, Error> {
        self.clusters_page(cx, &Page::ALL).await
    }

    /// A part of the list of living clusters that the caller can see, by id.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn clusters_page(
        &self,
        cx: &RequestContext,
        page: &Page,
    ) -> Result<Vec<Cluster>, Error> {
        self.demand(cx, Deed::ReadClusters, &cx.project_id)?;
        Ok(self.0.store.clusters(&cx.visibility(), page).await?)
    }

    /// The node groups of a cluster with their members, the control plane first.
    ///
    /// # Errors
    /// As [`cluster`](Self::cluster).
    pub async fn node_groups(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Vec<NodeGroup>, Error> {
        Ok(self.cluster_view(cx, cluster).await?.node_groups)
    }

    /// One node group, by name or id.
    ///
    /// # Errors
    /// As [`cluster`](Self::cluster).
    pub async fn node_group(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        node_group: impl AsRef<str> + Send,
    ) -> Result<NodeGroup, Error> {
        let view = self.cluster_view(cx, cluster).await?;
        find_group(&view, node_group.as_ref()).cloned()
    }

    /// An operation; also one of a cluster that is gone.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Store`].
    pub async fn operation(
        &self,
        cx: &RequestContext,
        id: OperationId,
    ) -> Result<Operation, Error> {
        let visible = cx.visibility();
        let found = self.0.store.operation(&visible, id).await?;
        let operation = found.ok_or_else(|| Error::not_found("operation", id.to_string()))?;
        self.demand(cx, Deed::ReadClusters, &operation.project_id)?;
        Ok(operation)
    }

    /// Operations that the caller can see, the latest first; also those of clusters that are gone.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn operations(
        &self,
        cx: &RequestContext,
        filter: &OperationFilter,
    ) -> Result<Vec<Operation>, Error> {
        self.demand(cx, Deed::ReadClusters, &cx.project_id)?;
        let visible = cx.visibility();
        Ok(self.0.store.operations(&visible, filter).await?)
    }

    /// The limits that hold for a project, and what it has. Where no limit was set the engine's default is shown (rule `MS-07`).
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn quota(
        &self,
        cx: &RequestContext,
        project: &ProjectId,
    ) -> Result<(Quota, Usage), Error> {
        self.demand(cx, Deed::ReadQuota, project)?;
        Ok((
            self.quota_of(project).await?,
            self.0.store.usage(project).await?,
        ))
    }

    /// Sets, or with none removes, the limits of a project. Zero means none allowed.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn set_quota(
        &self,
        cx: &RequestContext,
        project: &ProjectId,
        quota: Option<Quota>,
    ) -> Result<(), Error> {
        self.demand(cx, Deed::SetQuota, project)?;
        let project = project.clone();
        let write = Write::Quota { project, quota };
        self.write(vec![write]).await
    }

    pub(super) async fn write(&self, writes: Vec<Write>) -> Result<(), Error> {
        let commit = crate::store::Commit {
            writes,
            ..Default::default()
        };
        self.0.store.commit(commit).await?;
        Ok(())
    }

    pub(super) async fn quota_of(&self, project: &ProjectId) -> Result<Quota, Error> {
        let own = self.0.store.quota(project).await?.unwrap_or_default();
        let config = &self.0.config;
        Ok(Quota {
            clusters: own.clusters.or(Some(config.max_clusters_per_project)),
            nodes: own.nodes.or(config.max_nodes_per_project),
            node_groups: own.node_groups.or(config.max_node_groups_per_project),
            vcpus: own.vcpus.or(config.max_vcpus_per_project),
            ram_mib: own.ram_mib.or(config.max_ram_mib_per_project),
            node_groups_per_cluster: own
                .node_groups_per_cluster
                .or(config.max_node_groups_per_cluster),
        })
    }

    /// The number of the last event, to begin a [`watch`](Self::watch) with.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn last_event(&self) -> Result<u64, Error> {
        Ok(self.0.store.last_event().await?)
    }

    /// Events that the caller can see with numbers above `since`, in order, at most `limit`.
    ///
    /// # Errors
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn events(
        &self,
        cx: &RequestContext,
        since: u64,
        limit: u32,
    ) -> Result<Vec<crate::event::Event>, Error> {
        self.demand(cx, Deed::ReadClusters, &cx.project_id)?;
        let visible: Visibility = cx.visibility();
        Ok(self.0.store.events(&visible, since, limit).await?)
    }
}
