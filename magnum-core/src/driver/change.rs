//! What a driver is asked to bring about.

use serde::{Deserialize, Serialize};

use super::{Capability, Progress, RotationPhase};
use crate::id::{MemberId, NodeGroupId};
use crate::model::KubeVersion;

/// A change of a cluster. Node counts are already those of the wanted state in the [`ClusterView`](super::ClusterView);
/// members are already resolved to ids, so that an unknown one was refused before anything started (rule `NG-04`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// Make the cluster with all its groups.
    Create,
    /// Bring one group to its wanted count; `remove` names members that must go (rule `NG-06`: the count is the final size).
    Resize {
        /// The group.
        node_group: NodeGroupId,
        /// Its size afterwards.
        node_count: u32,
        /// Members that must not remain.
        remove: Vec<MemberId>,
    },
    /// Put a new member in the place of one.
    ReplaceNode {
        /// Its group.
        node_group: NodeGroupId,
        /// The member.
        member: MemberId,
    },
    /// Make a node group that the view already lists.
    CreateNodeGroup {
        /// The group.
        node_group: NodeGroupId,
    },
    /// Remove a node group with all its members.
    DeleteNodeGroup {
        /// The group.
        node_group: NodeGroupId,
    },
    /// Bring labels and taints of a group's nodes to what the view says.
    UpdateSettings {
        /// The group.
        node_group: NodeGroupId,
    },
    /// Move the cluster, or one group, to another version and image.
    Upgrade {
        /// The version.
        to: KubeVersion,
        /// The image that carries it.
        image: String,
        /// One group only; none means control plane first, then all groups.
        node_group: Option<NodeGroupId>,
        /// How many nodes may be under change at once.
        max_batch_size: u32,
    },
    /// Replace the certificate authorities and the service-account keys, phase by phase.
    RotateCa {
        /// The phase to bring about; those before it are done.
        phase: RotationPhase,
    },
    /// Replace the cloud credential that the cluster holds.
    RotateCredential,
    /// Save etcd's contents under a name.
    BackUpEtcd {
        /// The name.
        name: String,
    },
    /// Bring etcd back to a saved state.
    RestoreEtcd {
        /// The name under which it was saved.
        name: String,
    },
    /// Take over what exists under a stack id of another tool.
    Adopt {
        /// The stack.
        stack_id: String,
    },
    /// Remove everything that was made for the cluster.
    Delete,
}

/// The kind of a [`Change`], for tables, notifications and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "each is documented at the change of the same name"
)]
pub enum ChangeKind {
    Create,
    Resize,
    ReplaceNode,
    CreateNodeGroup,
    DeleteNodeGroup,
    UpdateSettings,
    Upgrade,
    RotateCa,
    RotateCredential,
    BackUpEtcd,
    RestoreEtcd,
    Adopt,
    Delete,
}

impl ChangeKind {
    /// Its name in texts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Resize => "resize",
            Self::ReplaceNode => "replace node",
            Self::CreateNodeGroup => "create node group",
            Self::DeleteNodeGroup => "delete node group",
            Self::UpdateSettings => "update settings",
            Self::Upgrade => "upgrade",
            Self::RotateCa => "rotate CA",
            Self::RotateCredential => "rotate credential",
            Self::BackUpEtcd => "back up etcd",
            Self::RestoreEtcd => "restore etcd",
            Self::Adopt => "adopt",
            Self::Delete => "delete",
        }
    }
}

impl std::fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Change {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> ChangeKind {
        match self {
            Self::Create => ChangeKind::Create,
            Self::Resize { .. } => ChangeKind::Resize,
            Self::ReplaceNode { .. } => ChangeKind::ReplaceNode,
            Self::CreateNodeGroup { .. } => ChangeKind::CreateNodeGroup,
            Self::DeleteNodeGroup { .. } => ChangeKind::DeleteNodeGroup,
            Self::UpdateSettings { .. } => ChangeKind::UpdateSettings,
            Self::Upgrade { .. } => ChangeKind::Upgrade,
            Self::RotateCa { .. } => ChangeKind::RotateCa,
            Self::RotateCredential => ChangeKind::RotateCredential,
            Self::BackUpEtcd { .. } => ChangeKind::BackUpEtcd,
            Self::RestoreEtcd { .. } => ChangeKind::RestoreEtcd,
            Self::Adopt { .. } => ChangeKind::Adopt,
            Self::Delete => ChangeKind::Delete,
        }
    }

    /// The rotation of certificate authorities, from its first phase.
    pub(crate) const ROTATE_CA: Self = Self::RotateCa {
        phase: RotationPhase::TrustBoth,
    };

    /// What follows when this is done, within the same operation, and how much of the operation is done then.
    pub(crate) fn next(&self) -> Option<(Self, Progress)> {
        let Self::RotateCa { phase } = self else {
            return None;
        };
        let next = phase.next()?;
        let place = RotationPhase::ALL.iter().position(|phase| *phase == next);
        let progress = Progress {
            step: next.task().to_owned(),
            done: place
                .and_then(|place| u32::try_from(place).ok())
                .unwrap_or_default(),
            total: 3,
        };
        Some((Self::RotateCa { phase: next }, progress))
    }

    /// The group that it concerns, where it concerns one.
    #[must_use]
    pub const fn node_group(&self) -> Option<NodeGroupId> {
        match self {
            Self::Resize { node_group, .. }
            | Self::ReplaceNode { node_group, .. }
            | Self::CreateNodeGroup { node_group }
            | Self::DeleteNodeGroup { node_group }
            | Self::UpdateSettings { node_group } => Some(*node_group),
            Self::Upgrade { node_group, .. } => *node_group,
            _ => None,
        }
    }

    /// What a driver must be able to do for it; `control_plane` says whether the group concerned is the control plane.
    #[must_use]
    pub const fn needs(&self, control_plane: bool) -> Capability {
        match self {
            Self::Create | Self::Delete => Capability::CreateDelete,
            Self::Resize { .. } if control_plane => Capability::ResizeControlPlane,
            Self::Resize { .. } => Capability::Resize,
            Self::ReplaceNode { .. } if control_plane => Capability::ReplaceControlPlaneNode,
            Self::ReplaceNode { .. } => Capability::ReplaceNode,
            Self::CreateNodeGroup { .. } | Self::DeleteNodeGroup { .. } => Capability::NodeGroups,
            Self::UpdateSettings { .. } => Capability::UpdateSettings,
            Self::Upgrade { .. } => Capability::Upgrade,
            Self::RotateCa { .. } => Capability::RotateCa,
            Self::RotateCredential => Capability::RotateCredential,
            Self::BackUpEtcd { .. } => Capability::BackUpEtcd,
            Self::RestoreEtcd { .. } => Capability::RestoreEtcd,
            Self::Adopt { .. } => Capability::Adopt,
        }
    }
}
