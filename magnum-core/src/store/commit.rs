//! One transaction: what must hold, what is written, what is told.

use chrono::{DateTime, Utc};

use super::{Quota, Usage};
use crate::event::EventKind;
use crate::id::{ClusterId, ClusterTemplateId, NodeGroupId, OperationId, ProjectId};
use crate::model::{Cluster, ClusterTemplate, NodeGroup};
use crate::operation::Operation;

/// What must hold for a commit to happen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Guard {
    /// The cluster has this revision; it gets the next one. Else [`StoreError::Stale`](super::StoreError::Stale).
    Revision {
        /// The cluster.
        cluster: ClusterId,
        /// The revision at the reading.
        revision: u64,
    },
    /// The operation has this fence: its lease has not passed to another, or, where it had none, nobody took it since it was read.
    /// Else [`StoreError::LeaseLost`](super::StoreError::LeaseLost).
    Fence {
        /// The operation.
        operation: OperationId,
        /// The fence at the reading.
        fence: u64,
    },
    /// No living cluster of the project has the name. Else [`StoreError::NameTaken`](super::StoreError::NameTaken).
    NameFree {
        /// The project.
        project: ProjectId,
        /// The name.
        name: String,
    },
    /// With what is added the project stays within its limits; what is not added is not looked at. Else
    /// [`StoreError::QuotaReached`](super::StoreError::QuotaReached).
    WithinQuota {
        /// The project.
        project: ProjectId,
        /// What is added.
        more: Usage,
        /// The limits.
        quota: Quota,
    },
    /// No request with this key came before. Else [`StoreError::KeyUsed`](super::StoreError::KeyUsed).
    KeyUnused {
        /// The project.
        project: ProjectId,
        /// The key.
        key: String,
    },
    /// The template has this revision; it gets the next one. Else [`StoreError::TemplateStale`](super::StoreError::TemplateStale).
    TemplateRevision {
        /// The template.
        template: ClusterTemplateId,
        /// The revision at the reading.
        revision: u64,
    },
    /// No living cluster uses the template. Else [`StoreError::TemplateInUse`](super::StoreError::TemplateInUse).
    TemplateUnused(ClusterTemplateId),
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Write {
    /// Puts a cluster. One in `DELETE_COMPLETE` is history from then on.
    Cluster(Box<Cluster>),
    /// Puts a node group.
    NodeGroup(Box<NodeGroup>),
    /// Removes a node group.
    RemoveNodeGroup(NodeGroupId),
    /// Puts an operation; its lease and fence stay as they are.
    Operation(Box<Operation>),
    /// Ends the lease of an operation and raises its fence.
    Release(OperationId),
    /// Puts a sealed memo.
    Memo {
        /// The cluster.
        cluster: ClusterId,
        /// The memo's name.
        key: String,
        /// The sealed bytes.
        sealed: Vec<u8>,
    },
    /// Removes one memo of a cluster.
    RemoveMemo {
        /// The cluster.
        cluster: ClusterId,
        /// The memo's name.
        key: String,
    },
    /// Removes all memos and secrets of a cluster.
    Purge(ClusterId),
    /// Puts a template, with the revision that it says.
    Template(Box<ClusterTemplate>),
    /// Removes a template.
    RemoveTemplate(ClusterTemplateId),
    /// Remembers which cluster a request made.
    Key {
        /// The project.
        project: ProjectId,
        /// The key.
        key: String,
        /// The cluster.
        cluster: ClusterId,
    },
    /// Sets or, with none, removes the limits of a project.
    Quota {
        /// The project.
        project: ProjectId,
        /// The limits.
        quota: Option<Quota>,
    },
}

/// An event that has no number yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The project of the cluster.
    pub project_id: ProjectId,
    /// The cluster.
    pub cluster: ClusterId,
    /// The operation, where one is behind it.
    pub operation: Option<OperationId>,
    /// What happened.
    pub kind: EventKind,
}

/// One transaction. Guards are checked first, in order; then come the writes, in order, then the events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Commit {
    /// What must hold.
    pub guards: Vec<Guard>,
    /// What is written.
    pub writes: Vec<Write>,
    /// What is told.
    pub events: Vec<NewEvent>,
}

/// What a commit led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the commit's last event; 0 where it had none.
    pub last_event: u64,
}
