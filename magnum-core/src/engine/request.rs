//! What callers ask for.

use serde::{Deserialize, Serialize};

use crate::id::{ClusterId, NodeGroupId};
use crate::model::{
    Cluster, ClusterName, Deprecation, KubeVersion, MemberRef, NewNodeGroup, NodeGroup, Taint,
    TemplateName, TemplateSpec,
};
use crate::operation::Operation;

/// How a caller names a cluster: by id or by name. An id is tried first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterKey(pub(crate) String);

impl From<&str> for ClusterKey {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ClusterKey {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&String> for ClusterKey {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl From<ClusterId> for ClusterKey {
    fn from(id: ClusterId) -> Self {
        Self(id.to_string())
    }
}

impl From<&ClusterName> for ClusterKey {
    fn from(name: &ClusterName) -> Self {
        Self(name.to_string())
    }
}

impl From<&Cluster> for ClusterKey {
    fn from(cluster: &Cluster) -> Self {
        Self(cluster.id.to_string())
    }
}

/// What a caller gets for an accepted change: the cluster as it is now, and the operation to follow.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Accepted {
    /// The cluster.
    pub cluster: Cluster,
    /// The operation.
    pub operation: Operation,
}

/// What a caller gets for an update of a node group.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NodeGroupUpdate {
    /// The group.
    pub node_group: NodeGroup,
    /// The operation that brings the nodes to it; none where nothing on nodes had to change.
    pub operation: Option<Operation>,
}

/// A change of the number of nodes of one group. The count is the final size (rule `NG-06`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Resize {
    /// The group, by name or id; `default-worker` where absent.
    #[serde(default)]
    pub node_group: Option<String>,
    /// Its size afterwards.
    pub node_count: u32,
    /// Nodes that must not remain. An unknown one refuses the request (rule `NG-04`).
    #[serde(default)]
    pub nodes_to_remove: Vec<MemberRef>,
}

impl Resize {
    /// The default worker group to this size.
    #[must_use]
    pub const fn to(node_count: u32) -> Self {
        Self {
            node_group: None,
            node_count,
            nodes_to_remove: Vec::new(),
        }
    }

    /// Another group.
    #[must_use]
    pub fn of_group(mut self, group: impl Into<String>) -> Self {
        self.node_group = Some(group.into());
        self
    }

    /// With these nodes not remaining.
    #[must_use]
    pub fn removing(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let nodes = nodes.into_iter().map(|node| MemberRef::new(node));
        self.nodes_to_remove.extend(nodes);
        self
    }
}

/// A move to another version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Upgrade {
    /// The template whose version and image hold afterwards, by name or id.
    #[serde(default)]
    pub template: Option<String>,
    /// The version; where absent the template's, and where that names none the cluster's (rule `UP-01`).
    #[serde(default)]
    pub kube_version: Option<KubeVersion>,
    /// The image; where absent the template's, else the cluster's.
    #[serde(default)]
    pub image: Option<String>,
    /// One group only, by name or id; where absent the control plane and then all groups.
    #[serde(default)]
    pub node_group: Option<String>,
    /// How many nodes may be under change at once; 1 where absent.
    #[serde(default)]
    pub max_batch_size: Option<u32>,
}

impl Upgrade {
    /// To the version and image of a template.
    pub fn to_template(template: impl Into<String>) -> Self {
        Self {
            template: Some(template.into()),
            ..Self::default()
        }
    }

    /// To a version, with the image that carries it.
    pub fn to_version(kube_version: KubeVersion, image: impl Into<String>) -> Self {
        Self {
            kube_version: Some(kube_version),
            image: Some(image.into()),
            ..Self::default()
        }
    }

    /// One group only.
    #[must_use]
    pub fn of_group(mut self, group: impl Into<String>) -> Self {
        self.node_group = Some(group.into());
        self
    }

    /// With this many nodes under change at once.
    #[must_use]
    pub const fn in_batches_of(mut self, size: u32) -> Self {
        self.max_batch_size = Some(size);
        self
    }
}

/// A change of a node group's settings. Absent values stay. Judged as a whole (rule `NG-09`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NodeGroupPatch {
    /// The fewest nodes.
    #[serde(default)]
    pub min_node_count: Option<u32>,
    /// The most nodes; `Some(None)` removes the limit.
    #[serde(default)]
    pub max_node_count: Option<Option<u32>>,
    /// Labels of the Kubernetes nodes, all of them.
    #[serde(default)]
    pub node_labels: Option<std::collections::BTreeMap<String, String>>,
    /// Taints of the Kubernetes nodes, all of them.
    #[serde(default)]
    pub taints: Option<Vec<Taint>>,
}

impl NodeGroupPatch {
    /// With this lower limit.
    #[must_use]
    pub const fn min_node_count(mut self, count: u32) -> Self {
        self.min_node_count = Some(count);
        self
    }

    /// With this upper limit.
    #[must_use]
    pub const fn max_node_count(mut self, count: Option<u32>) -> Self {
        self.max_node_count = Some(count);
        self
    }

    /// With exactly these node labels.
    #[must_use]
    pub fn node_labels(mut self, labels: std::collections::BTreeMap<String, String>) -> Self {
        self.node_labels = Some(labels);
        self
    }

    /// With exactly these taints.
    #[must_use]
    pub fn taints(mut self, taints: Vec<Taint>) -> Self {
        self.taints = Some(taints);
        self
    }
}

/// A change of a template. Absent values stay. Running clusters are never changed by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterTemplatePatch {
    /// Another name.
    #[serde(default)]
    pub name: Option<TemplateName>,
    /// Other values, all of them.
    #[serde(default)]
    pub spec: Option<TemplateSpec>,
    /// Whether every project may use it; only an operator may say so.
    #[serde(default)]
    pub public: Option<bool>,
    /// Whether it is left out of lists and looks absent to other projects; only an operator may say so.
    #[serde(default)]
    pub hidden: Option<bool>,
    /// Deprecates it, or changes how.
    #[serde(default)]
    pub deprecation: Option<Deprecation>,
    /// Takes a deprecation back.
    #[serde(default)]
    pub lift_deprecation: bool,
}

/// Any change of a living cluster, as a caller says it. The convenience methods of [`Engine`](super::Engine) make these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeRequest {
    /// Try a failed creation again.
    RetryCreate,
    /// Change the number of nodes of a group.
    Resize(Resize),
    /// Put a new node in the place of one; the size stays.
    ReplaceNode(MemberRef),
    /// Add a node group.
    CreateNodeGroup(NewNodeGroup),
    /// Change labels, taints and size limits of a group, named by name or id.
    UpdateNodeGroup {
        /// The group.
        node_group: String,
        /// What changes.
        patch: NodeGroupPatch,
    },
    /// Remove a node group, named by name or id.
    DeleteNodeGroup(String),
    /// Move to another version.
    Upgrade(Upgrade),
    /// Replace the certificate authorities.
    RotateCa,
    /// Replace the cluster's cloud credential.
    RotateCredential,
    /// Save etcd under a name.
    BackUpEtcd(String),
    /// Bring etcd back from a saved state.
    RestoreEtcd(String),
    /// Remove the cluster and everything that was made for it.
    Delete,
}

/// The group that callers mean when they name none.
pub(crate) const DEFAULT_WORKER: &str = "default-worker";
/// The control plane's group.
pub(crate) const DEFAULT_MASTER: &str = "default-master";

/// Whether `key` is this group's name or id.
pub(crate) fn names_group(key: &str, group: &NodeGroup) -> bool {
    group.name.as_str() == key || key.parse::<NodeGroupId>().is_ok_and(|id| id == group.id)
}
