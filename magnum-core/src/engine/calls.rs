//! The changes by name.

use super::{
    Accepted, ChangeRequest, ClusterKey, Deed, Engine, NodeGroupPatch, NodeGroupUpdate,
    RequestContext, Resize, Upgrade,
};
use crate::driver::{Change, ChangeKind};
use crate::error::Error;
use crate::id::OperationId;
use crate::model::{MemberRef, NewNodeGroup, Problems};
use crate::operation::{Draft, OnBusy, Operation};
use crate::store::StoreError;

use super::understand::{find_group, patched};

/// All of these are [`change`](Engine::change) with [`OnBusy::Refuse`], and have its errors.
impl Engine {
    /// Changes the number of nodes of a group. Errors: see [`change`](Self::change).
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn resize(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        resize: Resize,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::Resize(resize))
            .await
    }

    /// Puts a new node in the place of one, named by id, name, server id, provider id or address. The size stays.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn replace_node(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        node: impl Into<String> + Send,
    ) -> Result<Accepted, Error> {
        let node = MemberRef::new(node);
        self.refusing(cx, cluster, ChangeRequest::ReplaceNode(node))
            .await
    }

    /// Adds a node group.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn create_node_group(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        new: NewNodeGroup,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::CreateNodeGroup(new))
            .await
    }

    /// Removes a node group, named by name or id.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn delete_node_group(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        node_group: impl Into<String> + Send,
    ) -> Result<Accepted, Error> {
        let request = ChangeRequest::DeleteNodeGroup(node_group.into());
        self.refusing(cx, cluster, request).await
    }

    /// Moves the cluster, or one group, to another version.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn upgrade(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        upgrade: Upgrade,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::Upgrade(upgrade))
            .await
    }

    /// Replaces the certificate authorities and service-account keys, in phases: old and new trusted, certificates re-issued, only the
    /// new trusted. One that was interrupted is gone on with.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn rotate_ca(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::RotateCa).await
    }

    /// Replaces the cluster's cloud credential.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn rotate_credential(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::RotateCredential)
            .await
    }

    /// Saves etcd under a name.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn back_up_etcd(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        name: impl Into<String> + Send,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::BackUpEtcd(name.into()))
            .await
    }

    /// Brings etcd back from a saved state.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn restore_etcd(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        name: impl Into<String> + Send,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::RestoreEtcd(name.into()))
            .await
    }

    /// Tries a failed creation again, with what is there already.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn retry_create(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::RetryCreate).await
    }

    /// Removes the cluster and everything that was made for it. Accepted in every status; what runs gives way; asked again it joins
    /// the deletion that is under way, and begins anew after one that failed (rule `OP-03`).
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn delete_cluster(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
    ) -> Result<Accepted, Error> {
        self.refusing(cx, cluster, ChangeRequest::Delete).await
    }

    /// Changes labels, taints and size limits of a group. Limits alone change at once; labels and taints by an operation.
    ///
    /// # Errors
    /// See [`change`](Self::change).
    pub async fn update_node_group(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        node_group: impl Into<String> + Send,
        patch: NodeGroupPatch,
    ) -> Result<NodeGroupUpdate, Error> {
        let (key, node_group) = (cluster.into(), node_group.into());
        loop {
            let record = self.record(cx, &key).await?;
            let kind = ChangeKind::UpdateSettings;
            self.demand(cx, Deed::Change(kind), &record.view.cluster.project_id)?;
            let group = find_group(&record.view, &node_group)?;
            let mut problems = Problems::new();
            let wanted = patched(group, &patch, &mut problems);
            problems.into_result()?;
            if wanted.spec != group.spec {
                let request = ChangeRequest::UpdateNodeGroup { node_group, patch };
                let accepted = self.refusing(cx, key, request).await?;
                return Ok(NodeGroupUpdate {
                    node_group: wanted,
                    operation: Some(accepted.operation),
                });
            }
            let mut draft = Draft::of(record, self.0.clock.now());
            for group in &mut draft.view.node_groups {
                if group.id == wanted.id {
                    group.adopt_settings(&wanted);
                }
            }
            match self.0.store.commit(draft.into_commit()).await {
                Err(StoreError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    return Ok(NodeGroupUpdate {
                        node_group: wanted,
                        operation: None,
                    });
                }
            }
        }
    }

    /// Asks for the change of an ended operation once more, as a new operation.
    ///
    /// # Errors
    /// See [`change`](Self::change); [`Error::Invalid`] for changes that have to be asked for anew, since their input may have changed its meaning.
    pub async fn retry(&self, cx: &RequestContext, id: OperationId) -> Result<Accepted, Error> {
        let old = self.operation(cx, id).await?;
        let request = match old.change.clone() {
            Change::Create => ChangeRequest::RetryCreate,
            Change::Resize {
                node_group,
                node_count,
                ..
            } => ChangeRequest::Resize(Resize::to(node_count).of_group(node_group.to_string())),
            Change::DeleteNodeGroup { node_group } => {
                ChangeRequest::DeleteNodeGroup(node_group.to_string())
            }
            Change::RotateCa { .. } => ChangeRequest::RotateCa,
            Change::RotateCredential => ChangeRequest::RotateCredential,
            Change::BackUpEtcd { name } => ChangeRequest::BackUpEtcd(name),
            Change::RestoreEtcd { name } => ChangeRequest::RestoreEtcd(name),
            Change::Upgrade {
                to,
                image,
                node_group,
                max_batch_size,
            } => {
                let upgrade = Upgrade::to_version(to, image).in_batches_of(max_batch_size);
                ChangeRequest::Upgrade(match node_group {
                    Some(group) => upgrade.of_group(group.to_string()),
                    None => upgrade,
                })
            }
            Change::Delete => ChangeRequest::Delete,
            other => {
                let rule = "has to be asked for anew";
                return Err(Problems::one("operation", other.kind(), rule).into());
            }
        };
        self.refusing(cx, old.cluster, request).await
    }

    /// Asks an operation to end early. One that waits ends at once; one that runs lets settle what is in flight and ends as cancelled.
    /// One that has ended stays as it is.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Invalid`] for a deletion, [`Error::Store`].
    pub async fn cancel(&self, cx: &RequestContext, id: OperationId) -> Result<Operation, Error> {
        loop {
            let operation = self.operation(cx, id).await?;
            self.demand(cx, Deed::Cancel, &operation.project_id)?;
            if !operation.is_active() {
                return Ok(operation);
            }
            if operation.change == Change::Delete {
                let rule = "a deletion cannot be cancelled";
                return Err(Problems::one("operation", id, rule).into());
            }
            let Some(record) = self.0.store.load(operation.cluster).await? else {
                return Err(Error::not_found("operation", id.to_string()));
            };
            let mut draft = Draft::of(record, self.0.clock.now());
            draft.cancel(id);
            let after = draft.operation(id).cloned();
            match self.0.store.commit(draft.into_commit()).await {
                Ok(_) => return Ok(after.unwrap_or(operation)),
                Err(StoreError::Stale { .. } | StoreError::LeaseLost { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn refusing(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        request: ChangeRequest,
    ) -> Result<Accepted, Error> {
        self.change(cx, cluster, request, OnBusy::Refuse).await
    }
}
