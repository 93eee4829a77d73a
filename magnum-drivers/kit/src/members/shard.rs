//! How a group is spread over stacks, by computed bytes and counts.

use serde::{Deserialize, Serialize};

/// What one stack may hold. Heat's own defaults, of which 80 % are used; learned downwards when a cloud says that its limits are lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardLimits {
    /// Bytes of the template document (Heat: 524 288).
    pub template_bytes: usize,
    /// Bytes of a whole request, files included (Heat: 1 048 576).
    pub request_bytes: usize,
    /// Resources of a stack (Heat: 1000).
    pub resources: usize,
}

impl Default for ShardLimits {
    fn default() -> Self {
        Self {
            template_bytes: 524_288 / 10 * 8,
            request_bytes: 1_048_576 / 10 * 8,
            resources: 800,
        }
    }
}

impl ShardLimits {
    /// The limits after the cloud refused a request within them: three quarters.
    #[must_use]
    pub const fn learned_down(self) -> Self {
        Self {
            template_bytes: self.template_bytes / 4 * 3,
            request_bytes: self.request_bytes / 4 * 3,
            resources: self.resources / 4 * 3,
        }
    }

    const fn hold(&self, load: ShardLoad, cost: MemberCost) -> bool {
        load.template_bytes + cost.template_bytes <= self.template_bytes
            && load.template_bytes + load.file_bytes + cost.template_bytes <= self.request_bytes
            && load.resources + cost.resources <= self.resources
    }
}

/// What a stack holds already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShardLoad {
    /// Bytes of its document.
    pub template_bytes: usize,
    /// Bytes of its files as JSON text.
    pub file_bytes: usize,
    /// Its resources.
    pub resources: usize,
}

/// What one more member adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberCost {
    /// Bytes in the document.
    pub template_bytes: usize,
    /// Resources.
    pub resources: usize,
}

/// The stack for each of `count` new members: the first that has room, else a new one. `fresh` is the load of a stack without members.
///
/// A member that does not fit even into an empty stack gets one of its own; Heat's refusal then says so.
#[must_use]
pub fn place(
    shards: &[ShardLoad],
    fresh: ShardLoad,
    cost: MemberCost,
    count: usize,
    limits: &ShardLimits,
) -> Vec<u32> {
    let mut loads = shards.to_vec();
    let mut first_with_room = 0;
    (0..count)
        .map(|_| {
            while first_with_room < loads.len() && !limits.hold(loads[first_with_room], cost) {
                first_with_room += 1;
            }
            if first_with_room == loads.len() {
                loads.push(fresh);
            }
            let load = &mut loads[first_with_room];
            load.template_bytes += cost.template_bytes;
            load.resources += cost.resources;
            u32::try_from(first_with_room).unwrap_or(u32::MAX)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: MemberCost = MemberCost {
        template_bytes: 4_000,
        resources: 3,
    };
    const FRESH: ShardLoad = ShardLoad {
        template_bytes: 500,
        file_bytes: 30_000,
        resources: 1,
    };

    #[test]
    fn a_thousand_members_are_spread_within_all_limits() {
        let limits = ShardLimits::default();
        let placed = place(&[], FRESH, COST, 1000, &limits);
        let shards = placed.iter().max().unwrap() + 1;
        for shard in 0..shards {
            let members = placed.iter().filter(|s| **s == shard).count();
            assert!(500 + members * 4_000 <= limits.template_bytes);
            assert!(members * 3 < limits.resources);
        }
        assert_eq!(shards, 10);
    }

    #[test]
    fn new_members_fill_stacks_that_have_room() {
        let full = ShardLoad {
            template_bytes: 419_000,
            file_bytes: 0,
            resources: 300,
        };
        let limits = ShardLimits::default();
        assert_eq!(place(&[full, FRESH], FRESH, COST, 2, &limits), [1, 1]);
        assert_eq!(place(&[full], FRESH, COST, 1, &limits), [1]);
        assert!(limits.learned_down().template_bytes < limits.template_bytes);
    }
}
