//! What the reference driver remembers of a cluster between calls.

use serde::{Deserialize, Serialize};

use crate::id::{MemberId, OperationId};

/// Of the whole cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClusterMemo {
    /// The network's name, written down before the network is made.
    pub(super) network: Option<String>,
    /// What the last rotation of the authorities leads to, written down before it begins.
    pub(super) rotation: Option<RotationMemo>,
    /// The last operation that replaced the credential: once per operation, however often it is called.
    pub(super) credential_replaced_by: Option<OperationId>,
}

/// Of a rotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RotationMemo {
    /// Whose it is.
    pub(super) operation: OperationId,
    /// What [`NodeKeys::plan`](super::NodeKeys::plan) gave.
    pub(super) plan: String,
}

/// Of one node group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GroupMemo {
    /// Its nodes, written down before they are made and forgotten after they are gone.
    pub(super) nodes: Vec<NodeMemo>,
}

/// Of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NodeMemo {
    /// Its id, never used again.
    pub(super) id: MemberId,
    /// Its name in the cloud.
    pub(super) name: String,
    /// Whether it is to go.
    pub(super) leaving: bool,
}

impl GroupMemo {
    /// Brings what is wanted to `count` nodes, none of `remove` among them. Pure; the same again changes nothing.
    pub(super) fn aim(
        &mut self,
        count: u32,
        remove: &[MemberId],
        mut fresh: impl FnMut() -> (MemberId, String),
    ) {
        for node in &mut self.nodes {
            node.leaving |= remove.contains(&node.id);
        }
        let staying = |nodes: &[NodeMemo]| nodes.iter().filter(|node| !node.leaving).count();
        let count = count as usize;
        while staying(&self.nodes) < count {
            let (id, name) = fresh();
            self.nodes.push(NodeMemo {
                id,
                name,
                leaving: false,
            });
        }
        let mut surplus = staying(&self.nodes) - count;
        for node in self.nodes.iter_mut().rev().filter(|node| !node.leaving) {
            if surplus == 0 {
                break;
            }
            node.leaving = true;
            surplus -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memo(ids: &str) -> GroupMemo {
        let nodes = ids.chars().map(|c| NodeMemo {
            id: MemberId::new(c.to_string()),
            name: c.to_string(),
            leaving: false,
        });
        GroupMemo {
            nodes: nodes.collect(),
        }
    }

    fn aim(ids: &str, count: u32, remove: &str) -> (String, String) {
        let mut memo = memo(ids);
        let remove: Vec<_> = remove
            .chars()
            .map(|c| MemberId::new(c.to_string()))
            .collect();
        for _ in 0..2 {
            let mut next = b'w';
            memo.aim(count, &remove, || {
                next += 1;
                let name = char::from(next).to_string();
                (MemberId::new(name.clone()), name)
            });
        }
        let names = |leaving| {
            let nodes = memo.nodes.iter().filter(|node| node.leaving == leaving);
            nodes.map(|node| node.name.as_str()).collect::<String>()
        };
        (names(false), names(true))
    }

    #[test]
    fn ng_06_count_and_removal_together_and_twice() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(aim("ABC", 3, "A"), pair("BCx", "A"));
        assert_eq!(aim("ABC", 2, "A"), pair("BC", "A"));
        assert_eq!(aim("ABC", 1, "A"), pair("B", "AC"));
        assert_eq!(aim("ABC", 2, "AB"), pair("Cx", "AB"));
        assert_eq!(aim("ABC", 0, ""), pair("", "ABC"));
    }
}
