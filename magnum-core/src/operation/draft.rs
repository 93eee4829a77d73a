//! A cluster's record under change: what was read, what shall be written, what is told.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::Operation;
use crate::clock::Clock;
use crate::driver::ClusterView;
use crate::event::EventKind;
use crate::id::{ClusterId, NodeGroupId, OperationId};
use crate::model::{Member, NodeGroup};
use crate::state::{Action, Phase, Status, Trigger, apply};
use crate::store::{ClusterRecord, Commit, Guard, NewEvent, Write};

/// A pure working copy of a [`ClusterRecord`]. Every rule of operations is a method of it; [`into_commit`](Self::into_commit)
/// gives the transaction that makes it true, guarded by what was read.
#[derive(Debug)]
pub(crate) struct Draft {
    before: Option<ClusterRecord>,
    pub(crate) view: ClusterView,
    pub(crate) operations: Vec<Operation>,
    pub(crate) now: DateTime<Utc>,
    pub(super) released: Vec<OperationId>,
    pub(super) writes: Vec<Write>,
    guards: Vec<Guard>,
    events: Vec<NewEvent>,
}

impl Draft {
    /// A copy of what was read.
    pub(crate) fn of(record: ClusterRecord, now: DateTime<Utc>) -> Self {
        Self {
            view: record.view.clone(),
            operations: record.operations.clone(),
            before: Some(record),
            now,
            released: Vec::new(),
            writes: Vec::new(),
            guards: Vec::new(),
            events: Vec::new(),
        }
    }

    /// A cluster that does not exist yet.
    pub(crate) fn birth(view: ClusterView, now: DateTime<Utc>) -> Self {
        let mut draft = Self {
            before: None,
            view,
            operations: Vec::new(),
            now,
            released: Vec::new(),
            writes: Vec::new(),
            guards: Vec::new(),
            events: Vec::new(),
        };
        draft.tell(
            None,
            EventKind::ClusterStatus {
                from: None,
                to: draft.view.cluster.status,
                reason: None,
            },
        );
        for group in draft.view.node_groups.clone() {
            draft.tell_group_birth(None, &group);
        }
        draft
    }

    pub(super) const fn cluster_id(&self) -> ClusterId {
        self.view.cluster.id
    }

    pub(crate) fn operation(&self, id: OperationId) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }

    pub(crate) fn operation_mut(&mut self, id: OperationId) -> Option<&mut Operation> {
        let now = self.now;
        let found = self.operations.iter_mut().find(|o| o.id == id)?;
        found.updated_at = now;
        Some(found)
    }

    /// Adds an event.
    pub(crate) fn tell(&mut self, operation: Option<OperationId>, kind: EventKind) {
        self.events.push(NewEvent {
            at: self.now,
            project_id: self.view.cluster.project_id.clone(),
            cluster: self.view.cluster.id,
            operation,
            kind,
        });
    }

    pub(super) fn tell_group_birth(&mut self, operation: Option<OperationId>, group: &NodeGroup) {
        self.tell(
            operation,
            EventKind::NodeGroupStatus {
                node_group: group.id,
                name: group.name.to_string(),
                from: None,
                to: group.status,
                reason: None,
            },
        );
    }

    /// Demands that nobody has taken the operation since it was read.
    pub(crate) fn guard_fence(&mut self, operation: OperationId, fence: u64) {
        self.guards.push(Guard::Fence { operation, fence });
    }

    /// Adds a condition.
    pub(crate) fn guard(&mut self, guard: Guard) {
        self.guards.push(guard);
    }

    /// Adds a write beside those that follow from the changes.
    pub(crate) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Ends the lease of an operation with this commit.
    pub(crate) fn release(&mut self, operation: OperationId) {
        if !self.released.contains(&operation) {
            self.released.push(operation);
        }
    }

    /// Brings the cluster to a status by the table, with an event where it changes.
    pub(super) fn cluster_to(
        &mut self,
        action: Action,
        phase: Phase,
        reason: Option<String>,
        operation: Option<OperationId>,
    ) {
        let from = self.view.cluster.status;
        let Some(to) = reached(from, action, phase) else {
            return;
        };
        let cluster = &mut self.view.cluster;
        if to == from && cluster.status_reason == reason {
            return;
        }
        cluster.status = to;
        cluster.status_reason.clone_from(&reason);
        if to != from {
            self.tell(
                operation,
                EventKind::ClusterStatus {
                    from: Some(from),
                    to,
                    reason,
                },
            );
        }
    }

    /// Brings a group to a status by the table, with an event where it changes.
    pub(super) fn group_to(
        &mut self,
        id: NodeGroupId,
        action: Action,
        phase: Phase,
        reason: Option<&str>,
        operation: Option<OperationId>,
    ) {
        let Some(group) = self.view.node_groups.iter_mut().find(|g| g.id == id) else {
            return;
        };
        let from = group.status;
        let Some(to) = reached(from, action, phase) else {
            return;
        };
        group.status = to;
        group.status_reason = reason.map(str::to_owned);
        if to != from {
            let kind = EventKind::NodeGroupStatus {
                node_group: id,
                name: group.name.to_string(),
                from: Some(from),
                to,
                reason: reason.map(str::to_owned),
            };
            self.tell(operation, kind);
        }
    }

    /// Replaces what is known of a group's members, with an event for each change.
    pub(crate) fn set_members(
        &mut self,
        id: NodeGroupId,
        members: &[Member],
        operation: Option<OperationId>,
    ) {
        let Some(group) = self.view.node_groups.iter_mut().find(|g| g.id == id) else {
            return;
        };
        if group.members == members {
            return;
        }
        let old = std::mem::replace(&mut group.members, members.to_vec());
        let change = |member: &Member, from, to| EventKind::MemberChanged {
            node_group: id,
            member: member.id.clone(),
            name: member.name.clone(),
            from,
            to,
            reason: member.reason.clone(),
        };
        for member in members {
            let before = old.iter().find(|o| o.id == member.id).map(|o| o.phase);
            if before != Some(member.phase) {
                self.tell(operation, change(member, before, Some(member.phase)));
            }
        }
        for gone in old.iter().filter(|o| !members.iter().any(|m| m.id == o.id)) {
            self.tell(operation, change(gone, Some(gone.phase), None));
        }
    }

    /// Whether anything would be written.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.writes.is_empty()
            && self.events.is_empty()
            && self.released.is_empty()
            && self.before.as_ref().is_some_and(|before| {
                before.view == self.view && before.operations == self.operations
            })
    }

    /// The transaction that makes the draft true.
    pub(crate) fn into_commit(mut self) -> Commit {
        let mut commit = Commit {
            guards: self.guards,
            writes: Vec::new(),
            events: self.events,
        };
        let before = self.before.as_ref();
        if let Some(before) = before {
            commit.guards.push(Guard::Revision {
                cluster: before.view.cluster.id,
                revision: before.revision,
            });
        }
        if before.is_none_or(|before| before.view.cluster != self.view.cluster) {
            self.view.cluster.updated_at = self.now;
            let cluster = Box::new(self.view.cluster);
            commit.writes.push(Write::Cluster(cluster));
        }
        for mut group in self.view.node_groups {
            if before.and_then(|before| before.view.node_group(group.id)) != Some(&group) {
                group.updated_at = self.now;
                commit.writes.push(Write::NodeGroup(Box::new(group)));
            }
        }
        for operation in self.operations {
            let old = before.and_then(|b| b.operations.iter().find(|o| o.id == operation.id));
            if old != Some(&operation) {
                commit.writes.push(Write::Operation(Box::new(operation)));
            }
        }
        commit.writes.append(&mut self.writes);
        commit
            .writes
            .extend(self.released.into_iter().map(Write::Release));
        commit
    }
}

/// The status after entering a phase of an action; the same where it is there already; none where the table forbids it.
fn reached(from: Status, action: Action, phase: Phase) -> Option<Status> {
    if from == Status::new(action, phase) {
        return Some(from);
    }
    match apply(from, Trigger::entering(action, phase)) {
        Ok(to) => Some(to),
        Err(error) => {
            tracing::warn!(%error, "a transition outside the table was left out");
            None
        }
    }
}

/// A fresh id that sorts after all of `existing`, whatever the clock's resolution.
pub(crate) fn operation_id(clock: &dyn Clock, existing: &[Operation]) -> OperationId {
    let millis_of = |id: OperationId| {
        let bytes = id.as_uuid().as_u128() >> 80;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    };
    let last = existing.iter().map(|o| millis_of(o.id)).max();
    let now = u64::try_from(clock.now().timestamp_millis()).unwrap_or_default();
    let millis = last.map_or(now, |last| now.max(last + 1));
    let mut random = [0; 10];
    random[..8].copy_from_slice(&clock.random().to_le_bytes());
    random[8..].copy_from_slice(&clock.random().to_le_bytes()[..2]);
    OperationId::from_uuid(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
}

/// A random UUID from the clock's randomness, so that simulations repeat.
pub(crate) fn random_uuid(clock: &dyn Clock) -> Uuid {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&clock.random().to_le_bytes());
    bytes[8..].copy_from_slice(&clock.random().to_le_bytes());
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
