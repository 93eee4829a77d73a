//! What a driver sees of a cluster.

use serde::{Deserialize, Serialize};

use crate::id::NodeGroupId;
use crate::model::{Cluster, NodeGroup, NodeGroupRole};

/// A cluster and its node groups in their **wanted** state, as one consistent reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    /// The cluster.
    pub cluster: Cluster,
    /// Its groups, the control plane first, then by creation.
    pub node_groups: Vec<NodeGroup>,
}

impl ClusterView {
    /// The group with this id.
    #[must_use]
    pub fn node_group(&self, id: NodeGroupId) -> Option<&NodeGroup> {
        self.node_groups.iter().find(|group| group.id == id)
    }

    /// The control plane.
    #[must_use]
    pub fn control_plane(&self) -> Option<&NodeGroup> {
        self.node_groups
            .iter()
            .find(|group| group.role == NodeGroupRole::ControlPlane)
    }

    /// The groups that are not the control plane.
    pub fn workers(&self) -> impl Iterator<Item = &NodeGroup> {
        self.node_groups
            .iter()
            .filter(|group| group.role == NodeGroupRole::Worker)
    }
}
