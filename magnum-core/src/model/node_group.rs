//! Node groups: sets of equal nodes of a cluster.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{FlavorSize, Labels, Member, NodeGroupName, ServerType};
use crate::id::{ClusterId, NodeGroupId};
use crate::state::Status;

/// What a group's nodes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeGroupRole {
    /// The control plane (Magnum's `master`). Exactly one group of a cluster has it.
    #[serde(rename = "master")]
    ControlPlane,
    /// Everything else.
    Worker,
}

impl NodeGroupRole {
    /// Magnum's word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlane => "master",
            Self::Worker => "worker",
        }
    }
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaintEffect {
    /// They are not scheduled.
    NoSchedule,
    /// They are scheduled elsewhere where possible.
    PreferNoSchedule,
    /// They are evicted.
    NoExecute,
}

/// A taint of a group's nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value, possibly empty.
    #[serde(default)]
    pub value: String,
    /// The effect.
    pub effect: TaintEffect,
}

/// What all nodes of a group are made from. A change reaches new nodes only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroupSpec {
    /// Flavor, by name or id.
    pub flavor: String,
    /// Image, by name or id.
    pub image: String,
    /// What one node has, where the flavor's size was known at acceptance.
    #[serde(default)]
    pub size: Option<FlavorSize>,
    /// Virtual machines or bare metal.
    pub server_type: ServerType,
    /// The labels in force for the group.
    pub labels: Labels,
    /// Labels of the Kubernetes nodes.
    pub node_labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes nodes.
    pub taints: Vec<Taint>,
}

/// A node group, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// Its id.
    pub id: NodeGroupId,
    /// The cluster that it belongs to.
    pub cluster_id: ClusterId,
    /// Its name, unique in the cluster.
    pub name: NodeGroupName,
    /// What its nodes do.
    pub role: NodeGroupRole,
    /// Whether it was made with the cluster (`default-master`, `default-worker`); such a group cannot be deleted.
    pub is_default: bool,
    /// How many nodes are wanted.
    pub node_count: u32,
    /// The fewest that a resize may ask for.
    pub min_node_count: u32,
    /// The most that a resize may ask for; none means no limit.
    pub max_node_count: Option<u32>,
    /// What its nodes are made from.
    pub spec: NodeGroupSpec,
    /// Its status.
    pub status: Status,
    /// Why the status is what it is, in a sentence.
    pub status_reason: Option<String>,
    /// Its nodes, as last seen.
    pub members: Vec<Member>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When the row last changed.
    pub updated_at: DateTime<Utc>,
}

impl NodeGroup {
    /// Takes over everything from `other` that a change of settings may touch: size limits, labels and taints of nodes.
    pub(crate) fn adopt_settings(&mut self, other: &Self) {
        self.min_node_count = other.min_node_count;
        self.max_node_count = other.max_node_count;
        self.spec.node_labels.clone_from(&other.spec.node_labels);
        self.spec.taints.clone_from(&other.spec.taints);
    }
}

/// What a caller says to add a node group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewNodeGroup {
    /// Its name.
    pub name: NodeGroupName,
    /// How many nodes; 1 where absent.
    pub node_count: u32,
    /// The fewest; 0 where absent.
    pub min_node_count: u32,
    /// The most; none means no limit.
    pub max_node_count: Option<u32>,
    /// Flavor; the cluster's worker flavor where absent.
    pub flavor: Option<String>,
    /// Image; the cluster's image where absent.
    pub image: Option<String>,
    /// Virtual machines or bare metal; the cluster's where absent.
    pub server_type: Option<ServerType>,
    /// Labels of the group; the cluster's where absent.
    pub labels: Option<Labels>,
    /// Whether given labels overlay the cluster's.
    pub merge_labels: bool,
    /// Labels of the Kubernetes nodes.
    pub node_labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes nodes.
    pub taints: Vec<Taint>,
}

impl NewNodeGroup {
    /// A group of one node with the cluster's flavor, image and labels.
    #[must_use]
    pub const fn new(name: NodeGroupName) -> Self {
        Self {
            name,
            node_count: 1,
            min_node_count: 0,
            max_node_count: None,
            flavor: None,
            image: None,
            server_type: None,
            labels: None,
            merge_labels: false,
            node_labels: BTreeMap::new(),
            taints: Vec::new(),
        }
    }
}
