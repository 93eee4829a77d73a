//! What happened, as a durable and ordered record.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::driver::{Cause, ChangeKind, Progress};
use crate::id::{ClusterId, MemberId, NodeGroupId, OperationId, ProjectId};
use crate::model::MemberPhase;
use crate::operation::Outcome;
use crate::state::{Health, Status};

/// One event. Events outlive operations and clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the order of all events of the store; grows, with no event added later under a smaller number.
    pub seq: u64,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The project of the cluster.
    pub project_id: ProjectId,
    /// The cluster.
    pub cluster: ClusterId,
    /// The operation, where one is behind it.
    pub operation: Option<OperationId>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
#[non_exhaustive]
pub enum EventKind {
    /// The cluster's status changed.
    ClusterStatus {
        /// From; none at its birth.
        from: Option<Status>,
        /// To.
        to: Status,
        /// Why.
        reason: Option<String>,
    },
    /// A node group's status changed.
    NodeGroupStatus {
        /// The group.
        node_group: NodeGroupId,
        /// Its name.
        name: String,
        /// From; none at its birth.
        from: Option<Status>,
        /// To.
        to: Status,
        /// Why.
        reason: Option<String>,
    },
    /// An operation was accepted.
    OperationAccepted {
        /// What it brings about.
        change: ChangeKind,
        /// Whether it waits for another.
        queued: bool,
        /// The user who asked.
        requested_by: String,
    },
    /// An operation was worked on for the first time. Once per operation (rule `OP-04`).
    OperationStarted {
        /// What it brings about.
        change: ChangeKind,
    },
    /// An operation went on.
    OperationProgress {
        /// How far it is.
        progress: Progress,
    },
    /// A call failed and is tried again.
    OperationRetrying {
        /// The error, in a sentence.
        error: String,
        /// Errors in a row.
        errors: u32,
    },
    /// An operation ended. Once per operation (rule `OP-04`).
    OperationEnded {
        /// What it was to bring about.
        change: ChangeKind,
        /// How it ended.
        outcome: Outcome,
        /// Why, where not as asked.
        causes: Vec<Cause>,
    },
    /// What an operation started completed after its time had run out (rule `SM-07`).
    OperationRecovered {
        /// What it brought about.
        change: ChangeKind,
    },
    /// A member appeared, changed its phase, or went.
    MemberChanged {
        /// Its group.
        node_group: NodeGroupId,
        /// Its id.
        member: MemberId,
        /// Its name.
        name: String,
        /// Its phase before; none where it is new.
        from: Option<MemberPhase>,
        /// Its phase now; none where it is gone.
        to: Option<MemberPhase>,
        /// The cause of a failure.
        reason: Option<String>,
    },
    /// The cluster's health changed.
    HealthChanged {
        /// From.
        from: Health,
        /// To.
        to: Health,
        /// Why.
        reason: Option<String>,
    },
    /// Something that somebody should know and that fails nothing.
    Warning {
        /// What.
        text: String,
    },
}
