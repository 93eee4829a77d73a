//! Acceptance: locks, queues, and what takes the place of what.

use super::{Draft, OnBusy, Operation, OperationState, Outcome};
use crate::driver::{Cause, CauseKind, Change, ChangeKind, Failure};
use crate::event::EventKind;
use crate::id::OperationId;
use crate::state::{Action, Phase, Verdict, verdict};

/// The scope is busy; the operation that has it.
#[derive(Debug)]
pub(crate) struct Blocked(pub(crate) Box<Operation>);

impl Draft {
    /// Whether the cluster has been seen to work, so that it can be changed although its creation failed.
    pub(crate) const fn is_usable(&self) -> bool {
        self.view.cluster.facts.api_address.is_some()
    }

    /// Takes an operation in. It starts at once where its scope is free.
    pub(crate) fn accept(&mut self, new: Operation, on_busy: OnBusy) -> Result<(), Blocked> {
        let (id, scope) = (new.id, new.scope);
        let deletes = new.change == Change::Delete;
        let in_way = |o: &&Operation| o.scope.conflicts_with(scope);
        if deletes {
            for other in self.ids(|o| !o.is_ended()) {
                self.supersede(other, id);
            }
        } else {
            let holder = self
                .operations
                .iter()
                .filter(in_way)
                .find(|o| o.is_active());
            if let Some(holder) = holder
                && on_busy == OnBusy::Refuse
            {
                return Err(Blocked(Box::new(holder.clone())));
            }
            for late in self.ids(|o| o.state == OperationState::Overdue && in_way(&o)) {
                self.supersede(late, id);
            }
        }
        let (change, requested_by) = (new.change.kind(), new.requested_by.clone());
        self.operations.push(new);
        let queued = self.is_blocked(id);
        self.tell(
            Some(id),
            EventKind::OperationAccepted {
                change,
                queued,
                requested_by,
            },
        );
        if deletes {
            self.enter_deletion(id);
        }
        self.promote(Some(id));
        Ok(())
    }

    /// Asks an operation to end early; one that nothing was done for ends at once.
    pub(crate) fn cancel(&mut self, id: OperationId) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        operation.cancelled = true;
        let untouched = operation.state == OperationState::Queued
            || (operation.attempts == 0 && !operation.is_leased(now));
        if untouched {
            let fence = operation.fence;
            self.guard_fence(id, fence);
            self.finish(id, Outcome::Cancelled, cancelled("by request"));
        } else {
            operation.next_due = Some(now);
        }
    }

    /// Starts what waits and may start, in the order of acceptance. `fresh` was checked just now.
    pub(super) fn promote(&mut self, fresh: Option<OperationId>) {
        for id in self.ids(|o| o.state == OperationState::Queued) {
            if self.is_blocked(id) {
                continue;
            }
            let Some(operation) = self.operation(id) else {
                continue;
            };
            let kind = operation.change.kind();
            let verdict = verdict(self.view.cluster.status, kind, self.is_usable());
            if fresh != Some(id) && verdict == Verdict::Refused {
                let sentence = format!(
                    "{kind} is not possible while the cluster is {}",
                    self.view.cluster.status
                );
                let failure = Failure::new(CauseKind::InvalidInput, sentence);
                self.finish(id, Outcome::Failed, failure.causes);
                return;
            }
            self.start(id);
        }
    }

    /// Gives an operation's scope to another. Where an engine works on it, it ends when that engine is done with its step,
    /// since an effect may be under way.
    fn supersede(&mut self, id: OperationId, by: OperationId) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        operation.cancelled = true;
        operation.superseded_by = Some(by);
        if operation.is_leased(now) {
            operation.next_due = Some(now);
            return;
        }
        let fence = operation.fence;
        self.guard_fence(id, fence);
        self.end(id, Outcome::Cancelled, cancelled("another took its place"));
    }

    fn is_blocked(&self, id: OperationId) -> bool {
        let Some(this) = self.operation(id) else {
            return true;
        };
        self.operations.iter().any(|other| {
            let holds = match other.state {
                OperationState::Running => true,
                OperationState::Queued => other.id < id,
                OperationState::Overdue => other.superseded_by.is_some(),
                OperationState::Ended => false,
            };
            holds && other.id != id && other.scope.conflicts_with(this.scope)
        })
    }

    pub(super) fn ids(&self, wanted: impl Fn(&Operation) -> bool) -> Vec<OperationId> {
        let mut ids: Vec<_> = self
            .operations
            .iter()
            .filter(|operation| wanted(operation))
            .map(|operation| operation.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Makes an operation's wishes part of the wanted state and lets engines take it.
    fn start(&mut self, id: OperationId) {
        let now = self.now;
        let view = self.view.clone();
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        operation.state = OperationState::Running;
        operation.next_due = Some(now);
        operation.deadline = now + std::time::Duration::from_secs(operation.timeout_secs);
        if let Change::Resize {
            node_group, remove, ..
        } = &mut operation.change
            && let Some(group) = view.node_group(*node_group)
        {
            remove.retain(|member| group.members.iter().any(|m| m.id == *member));
        }
        let change = operation.change.clone();
        let wanted = operation.wanted.node_group.clone();
        let group = change.node_group();
        operation.wanted.previous = group.and_then(|id| view.node_group(id)).map(|group| {
            Box::new(crate::model::NodeGroup {
                members: Vec::new(),
                ..group.clone()
            })
        });
        match change.kind() {
            ChangeKind::Create | ChangeKind::Adopt => {
                for group in &view.node_groups {
                    self.group_to(group.id, Action::Create, Phase::InProgress, None, Some(id));
                }
                self.cluster_to(Action::Create, Phase::InProgress, None, Some(id));
                return;
            }
            ChangeKind::Delete => return self.enter_deletion(id),
            ChangeKind::CreateNodeGroup => self.start_group(id, wanted),
            ChangeKind::DeleteNodeGroup => {
                if let Some(group) = group {
                    self.group_to(group, Action::Delete, Phase::InProgress, None, Some(id));
                }
            }
            _ => {
                for group in self.groups_of(&change) {
                    self.group_to(group, Action::Update, Phase::InProgress, None, Some(id));
                }
                self.set_wanted(&change, wanted);
            }
        }
        self.cluster_to(Action::Update, Phase::InProgress, None, Some(id));
    }

    fn start_group(&mut self, id: OperationId, wanted: Option<Box<crate::model::NodeGroup>>) {
        let Some(wanted) = wanted else { return };
        if self.view.node_group(wanted.id).is_some() {
            self.group_to(wanted.id, Action::Create, Phase::InProgress, None, Some(id));
            return;
        }
        self.tell_group_birth(Some(id), &wanted);
        self.view.node_groups.push(*wanted);
    }

    fn set_wanted(&mut self, change: &Change, wanted: Option<Box<crate::model::NodeGroup>>) {
        let mut groups = self.view.node_groups.iter_mut();
        match change {
            Change::Resize {
                node_group,
                node_count,
                ..
            } => {
                if let Some(group) = groups.find(|group| group.id == *node_group) {
                    group.node_count = *node_count;
                }
            }
            Change::UpdateSettings { node_group } => {
                if let (Some(group), Some(wanted)) =
                    (groups.find(|group| group.id == *node_group), wanted)
                {
                    group.adopt_settings(&wanted);
                }
            }
            _ => {}
        }
    }

    fn enter_deletion(&mut self, id: OperationId) {
        for group in self.view.node_groups.clone() {
            self.group_to(group.id, Action::Delete, Phase::InProgress, None, Some(id));
        }
        self.cluster_to(Action::Delete, Phase::InProgress, None, Some(id));
    }
}

/// The cause of an operation that ended early.
pub(super) fn cancelled(why: &str) -> Vec<Cause> {
    Failure::new(CauseKind::Cancelled, format!("cancelled: {why}")).causes
}
