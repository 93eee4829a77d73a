//! What a store reads and counts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::driver::ClusterView;
use crate::id::EngineId;
use crate::operation::Operation;

/// A cluster with everything on which decisions about it rest.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterRecord {
    /// The cluster and its groups.
    pub view: ClusterView,
    /// Its operations that have not ended, in the order of acceptance.
    pub operations: Vec<Operation>,
    /// Counts the changes of the above.
    pub revision: u64,
    /// Whether it is gone and kept as history.
    pub deleted: bool,
}

/// Which operations an engine takes, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The engine.
    pub engine: EngineId,
    /// The time now.
    pub now: DateTime<Utc>,
    /// When others may take them over.
    pub until: DateTime<Utc>,
    /// How many at most.
    pub limit: u32,
}

/// Limits of a project. Zero means zero; none means the engine's default (rule `MS-07`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// How many clusters.
    #[serde(default)]
    pub clusters: Option<u64>,
    /// How many nodes over all its clusters.
    #[serde(default)]
    pub nodes: Option<u64>,
    /// How many node groups a cluster may have.
    #[serde(default)]
    pub node_groups_per_cluster: Option<u64>,
}

/// What a project has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Living clusters.
    pub clusters: u64,
    /// Nodes that are wanted in them.
    pub nodes: u64,
}
