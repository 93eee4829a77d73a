//! Deciding, once per operation, who comes and who goes.

use magnum_core::driver::DriverError;
use magnum_core::{MemberId, ServerType};

use super::{Goal, GroupWork};
use crate::members::{MemberStage, RetryBudget, decide_resize};
use crate::memo::GroupOperation;

impl GroupWork<'_> {
    /// Decides and writes the decision. Later passes of the same operation find it and change nothing.
    pub(super) async fn begin(&mut self, goal: &Goal) -> Result<(), DriverError> {
        if self.has_begun() {
            return Ok(());
        }
        let decision = decide_resize(&self.memo.members, goal.wanted, &goal.named);
        let virtual_machines = self.server_type() == ServerType::Vm;
        let counts = |id: &MemberId| {
            self.memo
                .members
                .iter()
                .any(|member| member.id == *id && member.stage.counts())
        };
        let new_first = goal.new_first && virtual_machines && decision.add > 0;
        let (outgoing, leaving): (Vec<MemberId>, Vec<MemberId>) = decision
            .remove
            .iter()
            .cloned()
            .partition(|id| new_first && counts(id));
        let old_first = !virtual_machines && decision.add > 0 && !leaving.is_empty();
        let later = if old_first { decision.add } else { 0 };
        self.memo.operation = Some(GroupOperation {
            id: self.round.cx.operation,
            target: goal.wanted,
            outgoing,
            budget: RetryBudget {
                used: 0,
                adds: decision.add,
            },
            later,
            causes: Vec::new(),
            given_up: false,
        });
        for id in &leaving {
            self.retire(id);
        }
        self.plan_members(decision.add - later);
        self.save().await
    }

    /// One more member than before, within the same operation: control planes grow one at a time.
    pub(crate) async fn grow(&mut self) -> Result<(), DriverError> {
        if let Some(operation) = &mut self.memo.operation {
            operation.target += 1;
            operation.budget.adds += 1;
        }
        self.plan_members(1);
        self.save().await
    }

    /// Decides on new members; their stack is chosen when they are rendered.
    pub(super) fn plan_members(&mut self, count: u32) {
        let now = self.round.now();
        let mut rng = self.round.cx.rng();
        for _ in 0..count {
            self.memo
                .add_member(&self.round.names, &self.group.name, 0, &mut rng, now);
        }
        self.dirty |= count > 0;
    }

    /// Sends a member on its way out, as gently as its stage allows.
    pub(super) fn retire(&mut self, id: &MemberId) {
        let now = self.round.now();
        let Some(member) = self.memo.member_mut(id) else {
            return;
        };
        match member.stage {
            MemberStage::Planned => {
                self.memo.members.retain(|member| member.id != *id);
            }
            MemberStage::Ready => member.enter(MemberStage::Draining, now),
            MemberStage::Building | MemberStage::Joining | MemberStage::NotReady => {
                member.enter(MemberStage::Leaving, now);
            }
            MemberStage::Failed
            | MemberStage::Draining
            | MemberStage::Leaving
            | MemberStage::Removed => {}
        }
        self.dirty = true;
    }
}
