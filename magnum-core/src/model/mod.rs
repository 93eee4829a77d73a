//! The domain: cluster templates, clusters, node groups and their values.

mod cluster;
mod cluster_template;
mod labels;
mod member;
mod name;
mod network;
mod node_group;
mod problems;
mod version;

pub use cluster::{Cluster, ClusterFacts, NewCluster};
pub use cluster_template::{
    ClusterTemplate, LoadBalancerSettings, NewClusterTemplate, ServerType, TemplateSpec,
};
pub use labels::{LabelMerge, Labels};
pub use member::{Member, MemberPhase, MemberRef};
pub use name::{ClusterName, NodeGroupName, TemplateName};
pub use network::NetworkPlan;
pub use node_group::{NewNodeGroup, NodeGroup, NodeGroupRole, NodeGroupSpec, Taint, TaintEffect};
pub use problems::{Problem, Problems};
pub use version::KubeVersion;
