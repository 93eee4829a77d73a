//! The memo of one node group.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use magnum_core::driver::Cause;
use magnum_core::{Member, MemberId, NodeGroupName, OperationId};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{GroupFacts, MEMO_VERSION, StackRecord};
use crate::members::{MemberRecord, MemberStage, Names, RetryBudget, ShardLimits};

/// What the running operation has decided and used up for this group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOperation {
    /// The operation.
    pub id: OperationId,
    /// The size in the end.
    pub target: u32,
    /// Members that go only after those that replace them are ready.
    #[serde(default)]
    pub outgoing: Vec<MemberId>,
    /// Replacements of failed members.
    #[serde(default)]
    pub budget: RetryBudget,
    /// New members that come only after those that go are gone.
    #[serde(default)]
    pub later: u32,
    /// Why members failed, the first first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Whether nothing more is tried.
    #[serde(default)]
    pub given_up: bool,
}

/// What is remembered of one node group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupMemo {
    /// The version of its form.
    pub version: u32,
    /// What was looked up.
    #[serde(default)]
    pub facts: Option<GroupFacts>,
    /// Its members, and those on their way out.
    #[serde(default)]
    pub members: Vec<MemberRecord>,
    /// Its stacks; a member's `shard` is the index.
    #[serde(default)]
    pub shards: Vec<StackRecord>,
    /// Every id that was ever used here.
    #[serde(default)]
    pub used: BTreeSet<MemberId>,
    /// The number of the next member.
    #[serde(default)]
    pub next_number: u64,
    /// What a stack may hold, learned downwards.
    #[serde(default)]
    pub limits: Option<ShardLimits>,
    /// The running operation, or the last one.
    #[serde(default)]
    pub operation: Option<GroupOperation>,
    /// When the members' signals were last read.
    #[serde(default)]
    pub signals_read: Option<DateTime<Utc>>,
}

impl GroupMemo {
    /// An empty memo of the present form.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: MEMO_VERSION,
            ..Self::default()
        }
    }

    /// Decides on a new member in a stack, under an id that was never used.
    pub fn add_member(
        &mut self,
        names: &Names,
        group: &NodeGroupName,
        shard: u32,
        rng: &mut impl Rng,
        now: DateTime<Utc>,
    ) -> MemberId {
        let id = loop {
            let id = MemberId::random(rng);
            if self.used.insert(id.clone()) {
                break id;
            }
        };
        let name = names.server(group, &id);
        let number = self.next_number;
        self.next_number += 1;
        self.members
            .push(MemberRecord::planned(id.clone(), name, shard, number, now));
        id
    }

    /// The member of that id.
    pub fn member_mut(&mut self, id: &MemberId) -> Option<&mut MemberRecord> {
        self.members.iter_mut().find(|member| member.id == *id)
    }

    /// The members that count.
    pub fn counting(&self) -> impl Iterator<Item = &MemberRecord> {
        self.members.iter().filter(|member| member.stage.counts())
    }

    /// How many members are ready.
    #[must_use]
    pub fn ready(&self) -> u32 {
        let ready = self
            .members
            .iter()
            .filter(|member| member.stage == MemberStage::Ready)
            .count();
        u32::try_from(ready).unwrap_or(u32::MAX)
    }

    /// The members as core shows them, the oldest first.
    #[must_use]
    pub fn to_members(&self) -> Vec<Member> {
        self.members
            .iter()
            .filter(|member| member.stage != MemberStage::Removed)
            .map(MemberRecord::to_member)
            .collect()
    }
}
