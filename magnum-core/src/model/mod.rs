//! The domain: cluster templates, clusters, node groups and their values.

mod cluster;
mod cluster_template;
mod flavor;
mod kube_support;
mod label_schema;
mod labels;
mod member;
mod name;
mod network;
mod node_group;
mod overrides;
mod problems;
mod version;

pub use cluster::{Cluster, ClusterFacts, HealthReport, NewCluster};
pub use cluster_template::{
    ClusterTemplate, Deprecation, LoadBalancerSettings, NewClusterTemplate, NewTemplateVersion,
    ServerType, TemplateSpec, parse_nameservers,
};
pub use flavor::{FlavorSize, FlavorSizes};
pub use kube_support::KubeSupport;
pub use label_schema::{LabelKind, LabelSchema};
pub use labels::{LabelMerge, Labels};
pub use member::{Member, MemberPhase, MemberRef};
pub use name::{ClusterName, NodeGroupName, TemplateName};
pub use network::NetworkPlan;
pub use node_group::{NewNodeGroup, NodeGroup, NodeGroupRole, NodeGroupSpec, Taint, TaintEffect};
pub use overrides::{OverrideRule, Overrides};
pub use problems::{Problem, Problems};
pub use version::KubeVersion;
