//! How an operation ends, and what that does to the cluster.

use super::{Draft, OperationState, Outcome};
use crate::driver::{Cause, Change, ChangeKind, Failure, MemoKey};
use crate::event::EventKind;
use crate::id::{NodeGroupId, OperationId};
use crate::model::{MemberPhase, NodeGroup};
use crate::state::{Action, GroupState, Phase, aggregate};
use crate::store::Write;

/// The action under which a change shows in the cluster's status.
pub(super) const fn action_of(kind: ChangeKind) -> Action {
    match kind {
        ChangeKind::Create | ChangeKind::Adopt => Action::Create,
        ChangeKind::Delete => Action::Delete,
        _ => Action::Update,
    }
}

/// The memo that keeps the requester's token for an operation that makes or replaces a credential.
pub(crate) fn token_memo(operation: OperationId) -> String {
    format!("token/{operation}")
}

impl Draft {
    /// Ends an operation, with all that follows: statuses, wanted state, the next in the queue.
    pub(crate) fn finish(&mut self, id: OperationId, outcome: Outcome, causes: Vec<Cause>) {
        let Some(operation) = self.operation(id) else {
            return;
        };
        let was_queued = operation.state == OperationState::Queued;
        let superseded = operation.superseded_by.is_some();
        let change = operation.change.clone();
        let begun = operation.attempts > 0;
        let reason = Failure {
            causes: causes.clone(),
        }
        .to_string();
        self.end(id, outcome, causes);
        if outcome == Outcome::Succeeded {
            self.succeed(id, &change);
            self.settle(id, change.kind(), None);
        } else if !was_queued && !superseded {
            if !begun {
                self.go_back(id);
            }
            self.fail(id, &change, &reason);
            self.settle(id, change.kind(), Some(reason));
        }
        self.promote(None);
    }

    /// Marks an operation as ended and tells so, once.
    pub(super) fn end(&mut self, id: OperationId, outcome: Outcome, causes: Vec<Cause>) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        let told = operation.outcome.is_some();
        operation.state = OperationState::Ended;
        operation.next_due = None;
        operation.ended_at = operation.ended_at.or(Some(now));
        let change = operation.change.kind();
        let recovered = told && outcome == Outcome::Succeeded;
        if !told || recovered {
            operation.outcome = Some(outcome);
            operation.causes.clone_from(&causes);
        }
        self.release(id);
        if matches!(
            change,
            ChangeKind::Create | ChangeKind::Adopt | ChangeKind::RotateCredential
        ) {
            self.write(Write::RemoveMemo {
                cluster: self.cluster_id(),
                key: token_memo(id),
            });
        }
        if recovered {
            self.tell(Some(id), EventKind::OperationRecovered { change });
        } else if !told {
            self.tell(
                Some(id),
                EventKind::OperationEnded {
                    change,
                    outcome,
                    causes,
                },
            );
        }
    }

    /// Lets an operation's time be over: it counts as failed, and is looked at from time to time.
    pub(super) fn overrun(
        &mut self,
        id: OperationId,
        causes: Vec<Cause>,
        again: std::time::Duration,
    ) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        operation.state = OperationState::Overdue;
        operation.outcome = Some(Outcome::TimedOut);
        operation.causes.clone_from(&causes);
        operation.ended_at = Some(now);
        operation.next_due = Some(now + again);
        let change = operation.change.clone();
        let reason = Failure {
            causes: causes.clone(),
        }
        .to_string();
        self.release(id);
        self.tell(
            Some(id),
            EventKind::OperationEnded {
                change: change.kind(),
                outcome: Outcome::TimedOut,
                causes,
            },
        );
        self.fail(id, &change, &reason);
        self.settle(id, change.kind(), Some(reason));
        self.promote(None);
    }

    /// The groups whose status follows a change.
    pub(super) fn groups_of(&self, change: &Change) -> Vec<NodeGroupId> {
        let all = || self.view.node_groups.iter().map(|group| group.id).collect();
        match change {
            Change::Create
            | Change::Adopt { .. }
            | Change::Delete
            | Change::Upgrade {
                node_group: None, ..
            } => all(),
            _ => change.node_group().into_iter().collect(),
        }
    }

    fn succeed(&mut self, id: OperationId, change: &Change) {
        let groups = self.groups_of(change);
        let action = match change {
            Change::CreateNodeGroup { .. } => Action::Create,
            Change::DeleteNodeGroup { .. } => Action::Delete,
            _ => action_of(change.kind()),
        };
        for group in &groups {
            let done = self.view.node_group(*group).map(|group| group.status);
            let updated = action == Action::Create
                && done.is_some_and(|status| status.action == Action::Update);
            if !updated {
                self.group_to(*group, action, Phase::Complete, None, Some(id));
            }
        }
        match change {
            Change::DeleteNodeGroup { node_group } => self.forget_group(*node_group, id),
            Change::Delete => {
                for group in groups {
                    self.set_members(group, &[], Some(id));
                }
                self.write(Write::Purge(self.cluster_id()));
            }
            Change::Upgrade {
                to,
                image,
                node_group,
                ..
            } => {
                let template = self.operation(id).and_then(|o| o.on_done.template_id);
                for group in &mut self.view.node_groups {
                    if groups.contains(&group.id) {
                        group.spec.image.clone_from(image);
                        let labels = std::mem::take(&mut group.spec.labels);
                        group.spec.labels = labels.with("kube_tag", to.to_string());
                    }
                }
                if node_group.is_none() {
                    let cluster = &mut self.view.cluster;
                    cluster.kube_version = to.clone();
                    cluster.spec.image.clone_from(image);
                    let labels = std::mem::take(&mut cluster.labels.effective);
                    cluster.labels.effective = labels.with("kube_tag", to.to_string());
                    cluster.template_id = template.unwrap_or(cluster.template_id);
                }
            }
            _ => {}
        }
    }

    fn forget_group(&mut self, group: NodeGroupId, id: OperationId) {
        self.set_members(group, &[], Some(id));
        self.view.node_groups.retain(|other| other.id != group);
        self.write(Write::RemoveNodeGroup(group));
        self.write(Write::RemoveMemo {
            cluster: self.cluster_id(),
            key: MemoKey::NodeGroup(group).as_text(),
        });
    }

    fn fail(&mut self, id: OperationId, change: &Change, reason: &str) {
        let creating = matches!(change, Change::Create | Change::Adopt { .. });
        for group in self.groups_of(change) {
            let Some(status) = self.view.node_group(group).map(|group| group.status) else {
                continue;
            };
            let whole = creating && self.view.node_group(group).is_some_and(is_whole);
            if status.in_progress() && whole {
                self.group_to(group, status.action, Phase::Complete, None, Some(id));
            } else if status.in_progress() {
                self.group_to(group, status.action, Phase::Failed, Some(reason), Some(id));
            }
        }
    }

    /// Takes the wishes of an operation back that nothing was done for.
    fn go_back(&mut self, id: OperationId) {
        let previous = self.operation(id).and_then(|o| o.wanted.previous.clone());
        let Some(previous) = previous else { return };
        let mut groups = self.view.node_groups.iter_mut();
        if let Some(group) = groups.find(|group| group.id == previous.id) {
            group.node_count = previous.node_count;
            group.adopt_settings(&previous);
        }
    }

    /// The cluster's status after an operation has ended; `failure` says why, where it did not succeed.
    fn settle(&mut self, id: OperationId, kind: ChangeKind, failure: Option<String>) {
        let running = |o: &super::Operation| o.state == OperationState::Running;
        let deleting = |o: &super::Operation| o.is_active() && o.change == Change::Delete;
        if self.operations.iter().any(|o| running(o) || deleting(o)) {
            return;
        }
        let action = action_of(kind);
        if let Some(reason) = failure {
            self.cluster_to(action, Phase::Failed, Some(reason), Some(id));
            return;
        }
        if action != Action::Update {
            self.cluster_to(action, Phase::Complete, None, Some(id));
            return;
        }
        let groups: Vec<_> = self
            .view
            .node_groups
            .iter()
            .map(|group| GroupState {
                name: group.name.as_str(),
                is_default: group.is_default,
                status: group.status,
            })
            .collect();
        let (status, reason) = aggregate(self.view.cluster.status, &groups);
        if !status.in_progress() {
            self.cluster_to(Action::Update, status.phase, reason, Some(id));
        }
    }
}

/// Whether all wanted nodes are ready.
fn is_whole(group: &NodeGroup) -> bool {
    let ready = group
        .members
        .iter()
        .filter(|m| m.phase == MemberPhase::Ready);
    ready.count() == group.node_count as usize
}
