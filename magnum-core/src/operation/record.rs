//! The record of an operation.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::LockScope;
use crate::driver::{Cause, Change, Leftover, Progress};
use crate::id::{ClusterId, ClusterTemplateId, EngineId, OperationId, ProjectId};
use crate::model::NodeGroup;

/// What to do where the part of the cluster that a change needs is busy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBusy {
    /// Answer with a conflict that names the running operation.
    #[default]
    Refuse,
    /// Accept it and start it when its turn comes, in the order of acceptance.
    Queue,
}

/// Where an operation is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OperationState {
    /// Accepted; waits for another operation of its scope.
    Queued,
    /// Accepted and due, or being worked on.
    Running,
    /// Its time ran out and it counts as failed, but what it started may still complete: it is looked at in the slow round.
    Overdue,
    /// Ended for good.
    Ended,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// As asked.
    Succeeded,
    /// It could not be brought about.
    Failed,
    /// Its time ran out.
    TimedOut,
    /// Ended early, by request or because a deletion took its place.
    Cancelled,
}

impl Outcome {
    /// Its name in texts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who may write for an operation, until when. Kept by the store, beside the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The operation.
    pub operation: OperationId,
    /// The engine that has it.
    pub owner: EngineId,
    /// Counts the owners: a write with an older fence is refused.
    pub fence: u64,
    /// When others may take it over.
    pub until: DateTime<Utc>,
}

/// What becomes part of the wanted state when the operation starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    /// The group as it shall be: a new one, or the same with other settings.
    pub(crate) node_group: Option<Box<NodeGroup>>,
    /// The group as it was before, to go back to where nothing was begun.
    pub(crate) previous: Option<Box<NodeGroup>>,
}

/// What becomes true of the cluster when the operation succeeds, beyond what the change itself says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OnDone {
    /// The template of an upgrade (rule `UP-02`: only at success).
    pub(crate) template_id: Option<ClusterTemplateId>,
}

/// A durable operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Operation {
    /// Its id; ids sort by acceptance.
    pub id: OperationId,
    /// The cluster.
    pub cluster: ClusterId,
    /// The project of the cluster.
    pub project_id: ProjectId,
    /// What it brings about.
    pub change: Change,
    /// What it locks.
    pub scope: LockScope,
    /// Where it is.
    pub state: OperationState,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// Why it ended otherwise than asked, the most telling cause first.
    pub causes: Vec<Cause>,
    /// What it is doing.
    pub progress: Progress,
    /// How often the driver was called.
    pub attempts: u32,
    /// Errors in a row, since the last call that brought it further.
    pub errors: u32,
    /// The last error that is being tried again, in a sentence.
    pub last_error: Option<String>,
    /// How often a failed deletion was begun again by itself.
    pub automatic_retries: u32,
    /// Whether the look at the cloud before the first step has passed.
    pub preflight_passed: bool,
    /// Whether it was asked to end early.
    pub cancelled: bool,
    /// The operation that takes its place.
    pub superseded_by: Option<OperationId>,
    /// When it must have ended; counted from the start, set at acceptance and again when a queued operation starts.
    pub deadline: DateTime<Utc>,
    /// The time that it may take, in seconds.
    pub timeout_secs: u64,
    /// When the driver is called next; none while it is queued or ended.
    pub next_due: Option<DateTime<Utc>>,
    /// What deletion left behind, by name.
    pub leftovers: Vec<Leftover>,
    /// The user who asked.
    pub requested_by: String,
    /// The request that asked.
    pub request_id: String,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When it was first worked on.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended, or its time ran out.
    pub ended_at: Option<DateTime<Utc>>,
    /// When the record last changed.
    pub updated_at: DateTime<Utc>,
    /// Who works on it now.
    #[serde(skip)]
    pub lease: Option<Lease>,
    /// How many owners it has had.
    #[serde(skip)]
    pub fence: u64,
    pub(crate) wanted: Wanted,
    pub(crate) on_done: OnDone,
}

impl Operation {
    /// Whether it has a lock on its scope: it runs, or is about to.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.state, OperationState::Queued | OperationState::Running)
    }

    /// Whether it has ended for good.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.state == OperationState::Ended
    }

    /// Whether an engine works on it at `now`, or may still.
    #[must_use]
    pub fn is_leased(&self, now: DateTime<Utc>) -> bool {
        self.lease.is_some_and(|lease| lease.until > now)
    }
}
