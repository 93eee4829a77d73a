//! Clusters.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{ClusterName, KubeVersion, LabelMerge, Labels, NetworkPlan, TemplateSpec};
use crate::id::{ClusterId, ClusterTemplateId, ProjectId};
use crate::state::{Health, Status};

/// What the driver has found out about a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterFacts {
    /// Where clients reach the Kubernetes API, such as `https://172.24.4.11:6443`.
    pub api_address: Option<String>,
    /// The address inside the node network, where it differs.
    pub internal_api_address: Option<String>,
    /// The control plane's version, as its API says.
    pub coe_version: Option<String>,
    /// The id of the infrastructure stack (Magnum's `stack_id`).
    pub stack_id: Option<String>,
}

/// The word of an agent inside a cluster on its health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthReport {
    /// Its health.
    pub health: Health,
    /// Why, in a sentence.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A cluster, as stored. Everything that decides what it looks like is its own copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Its id.
    pub id: ClusterId,
    /// Its name; unique among the living clusters of its project.
    pub name: ClusterName,
    /// The project that owns it.
    pub project_id: ProjectId,
    /// The user who asked for it.
    pub user_id: String,
    /// The template that it was made from.
    pub template_id: ClusterTemplateId,
    /// The template's values at creation, with the cluster's own choices applied.
    pub spec: TemplateSpec,
    /// The labels in force, and how they came about.
    pub labels: LabelMerge,
    /// The driver that runs it.
    pub driver: String,
    /// The Kubernetes version wanted for the control plane.
    pub kube_version: KubeVersion,
    /// Its address ranges.
    pub network: NetworkPlan,
    /// How long creation may take.
    pub create_timeout: Duration,
    /// Its status.
    pub status: Status,
    /// Why the status is what it is, in a sentence.
    pub status_reason: Option<String>,
    /// Its health, as last probed.
    pub health: Health,
    /// What something inside the cluster has last said of its health, for clusters that cannot be reached (rule `HA-01`).
    #[serde(default)]
    pub health_report: Option<HealthReport>,
    /// What the driver has found out about it.
    pub facts: ClusterFacts,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When the row last changed.
    pub updated_at: DateTime<Utc>,
}

/// What a caller says to make a cluster. Absent values come from the template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewCluster {
    /// Its name.
    pub name: ClusterName,
    /// The template, by name or id.
    pub template: String,
    /// Control-plane nodes; odd, 1 where absent.
    pub master_count: u32,
    /// Nodes of the default worker group; 1 where absent.
    pub node_count: u32,
    /// SSH key pair, by name.
    pub keypair: Option<String>,
    /// Worker flavor.
    pub flavor: Option<String>,
    /// Control-plane flavor.
    pub master_flavor: Option<String>,
    /// Network that nodes join.
    pub fixed_network: Option<String>,
    /// Subnet that nodes join.
    pub fixed_subnet: Option<String>,
    /// Whether a load balancer stands before the control plane.
    pub master_lb_enabled: Option<bool>,
    /// Labels.
    pub labels: Option<Labels>,
    /// Whether the labels overlay the template's instead of replacing them.
    pub merge_labels: bool,
    /// How long creation may take; 60 minutes where absent (bare metal: the driver's own default).
    pub create_timeout: Option<Duration>,
    /// Makes a repeated request return the cluster of the first one.
    pub idempotency_key: Option<String>,
}

impl NewCluster {
    /// One control-plane node and one worker from a template, named by name or id.
    pub fn new(name: ClusterName, template: impl Into<String>) -> Self {
        Self {
            name,
            template: template.into(),
            master_count: 1,
            node_count: 1,
            keypair: None,
            flavor: None,
            master_flavor: None,
            fixed_network: None,
            fixed_subnet: None,
            master_lb_enabled: None,
            labels: None,
            merge_labels: false,
            create_timeout: None,
            idempotency_key: None,
        }
    }
}
