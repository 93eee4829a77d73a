//! What of a cluster an operation locks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::driver::Change;
use crate::id::NodeGroupId;

/// The part of a cluster that an operation has to itself. A forty-minute deployment in one group blocks no other group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockScope {
    /// The whole cluster: create, delete, upgrade, rotations, anything of the control plane.
    Exclusive,
    /// One worker group.
    NodeGroup(NodeGroupId),
}

impl LockScope {
    /// The scope of a change; `control_plane` says whether the group concerned is the control plane.
    #[must_use]
    pub const fn of(change: &Change, control_plane: bool) -> Self {
        match change {
            Change::Upgrade { .. } => Self::Exclusive,
            _ => match change.node_group() {
                Some(group) if !control_plane => Self::NodeGroup(group),
                _ => Self::Exclusive,
            },
        }
    }

    /// Whether two operations with these scopes exclude each other.
    #[must_use]
    pub fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::NodeGroup(a), Self::NodeGroup(b)) => a == b,
            _ => true,
        }
    }
}

impl fmt::Display for LockScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("cluster"),
            Self::NodeGroup(id) => write!(f, "node group {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn groups_exclude_only_themselves_and_the_cluster() {
        let group = |n| LockScope::NodeGroup(NodeGroupId::from_uuid(Uuid::from_u128(n)));
        assert!(group(1).conflicts_with(group(1)));
        assert!(!group(1).conflicts_with(group(2)));
        assert!(group(1).conflicts_with(LockScope::Exclusive));
        assert!(LockScope::Exclusive.conflicts_with(LockScope::Exclusive));
    }
}
