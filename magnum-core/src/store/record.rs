//! What a store reads and counts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::driver::ClusterView;
use crate::id::EngineId;
use crate::model::FlavorSize;
use crate::operation::Operation;
use crate::store::StoreError;

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
    /// How many node groups over all its clusters, the default ones included.
    #[serde(default)]
    pub node_groups: Option<u64>,
    /// How many virtual CPUs over all its nodes.
    #[serde(default)]
    pub vcpus: Option<u64>,
    /// How much memory over all its nodes, in MiB.
    #[serde(default)]
    pub ram_mib: Option<u64>,
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
    /// Their node groups.
    #[serde(default)]
    pub node_groups: u64,
    /// Virtual CPUs of the nodes whose flavor's size was known.
    #[serde(default)]
    pub vcpus: u64,
    /// Memory of the nodes whose flavor's size was known, in MiB.
    #[serde(default)]
    pub ram_mib: u64,
}

impl Usage {
    /// What nodes of a group use up, the group itself aside.
    #[must_use]
    pub fn of_nodes(count: u64, size: Option<FlavorSize>) -> Self {
        let size = size.unwrap_or_default();
        Self {
            nodes: count,
            vcpus: count.saturating_mul(size.vcpus.into()),
            ram_mib: count.saturating_mul(size.ram_mib),
            ..Self::default()
        }
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            clusters: self.clusters.saturating_add(other.clusters),
            nodes: self.nodes.saturating_add(other.nodes),
            node_groups: self.node_groups.saturating_add(other.node_groups),
            vcpus: self.vcpus.saturating_add(other.vcpus),
            ram_mib: self.ram_mib.saturating_add(other.ram_mib),
        }
    }

    /// Whether `more` still fits. What is not added is not looked at, so that a project above a lowered limit can shrink.
    pub(crate) fn with(&self, more: &Self, quota: &Quota) -> Result<(), StoreError> {
        let resources = [
            ("clusters", self.clusters, more.clusters, quota.clusters),
            ("nodes", self.nodes, more.nodes, quota.nodes),
            (
                "node groups",
                self.node_groups,
                more.node_groups,
                quota.node_groups,
            ),
            ("vCPUs", self.vcpus, more.vcpus, quota.vcpus),
            ("MiB of memory", self.ram_mib, more.ram_mib, quota.ram_mib),
        ];
        for (resource, used, more, limit) in resources {
            if let Some(limit) = limit
                && more > 0
                && used.saturating_add(more) > limit
            {
                return Err(StoreError::QuotaReached {
                    resource,
                    used,
                    limit,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_07_zero_is_zero_for_every_resource_and_shrinking_is_always_possible() {
        let size = FlavorSize {
            vcpus: 4,
            ram_mib: 8192,
        };
        let one = Usage {
            clusters: 1,
            node_groups: 2,
            ..Usage::of_nodes(3, Some(size))
        };
        assert_eq!((one.vcpus, one.ram_mib), (12, 24_576));
        let none = Usage::default();
        let limits: [fn(u64) -> Quota; 5] = [
            |n| Quota {
                clusters: Some(n),
                ..Quota::default()
            },
            |n| Quota {
                nodes: Some(n),
                ..Quota::default()
            },
            |n| Quota {
                node_groups: Some(n),
                ..Quota::default()
            },
            |n| Quota {
                vcpus: Some(n),
                ..Quota::default()
            },
            |n| Quota {
                ram_mib: Some(n),
                ..Quota::default()
            },
        ];
        for limit in limits {
            assert!(none.with(&one, &limit(0)).is_err());
            assert!(none.with(&one, &limit(24_576)).is_ok());
            assert!(one.and(one).with(&none, &limit(0)).is_ok());
        }
        assert!(one.with(&one, &Quota::default()).is_ok());
    }
}
