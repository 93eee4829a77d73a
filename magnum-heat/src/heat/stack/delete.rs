//! Deleting stacks and waiting until they are gone.

use std::time::Duration;

use chrono::{DateTime, Utc};
use http::{Method, StatusCode};

use super::{
    model::{Stack, StackRef},
    read::ShowStack,
};
use crate::{
    Error, Result, Session,
    heat::{Phase, StackAction},
    request::{Answer, Path, Request, ServiceType},
};

/// Deletes a stack. A stack that is gone already is fine.
#[derive(Debug, Clone)]
pub struct DeleteStack {
    /// Which.
    pub stack: StackRef,
}

impl Request for DeleteStack {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::DELETE;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "delete stack";

    fn path(&self) -> Path {
        self.stack.path()
    }

    fn accepts(&self, status: StatusCode) -> bool {
        status.is_success() || status == StatusCode::NOT_FOUND || status == StatusCode::GONE
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

/// Decides from what was seen after an accepted delete whether it is done (`HC-02`, `HC-03`). Pure.
#[derive(Debug, Clone)]
pub struct DeleteWait {
    before: Option<DateTime<Utc>>,
    grace: Duration,
    seen_in_progress: bool,
}

/// What the last look means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DeleteState {
    Gone,
    Running,
    Failed(String),
}

impl DeleteWait {
    /// Begins with the stack as it was before the delete, where that is known. A failure state counts only when an
    /// `IN_PROGRESS` was seen, the update time moved on, or `grace` passed.
    pub fn new(before: Option<&Stack>, grace: Duration) -> Self {
        Self {
            before: before.and_then(|s| s.updated.or(s.created)),
            grace,
            seen_in_progress: false,
        }
    }

    pub(super) fn look(&mut self, seen: Option<&Stack>, waited: Duration) -> DeleteState {
        let Some(stack) = seen else {
            return DeleteState::Gone;
        };
        if stack.status.is_gone() {
            return DeleteState::Gone;
        }
        if stack.status.action != StackAction::Delete {
            return DeleteState::Running;
        }
        match stack.status.phase {
            Phase::InProgress => {
                self.seen_in_progress = true;
                DeleteState::Running
            }
            Phase::Failed => {
                let moved = self.before.is_some() && stack.updated.or(stack.created) > self.before;
                if self.seen_in_progress || moved || waited >= self.grace {
                    DeleteState::Failed(stack.status_reason.clone())
                } else {
                    DeleteState::Running
                }
            }
            _ => DeleteState::Running,
        }
    }
}

/// Waits until a stack whose delete was accepted is gone, looking every `every`.
///
/// # Errors
/// [`Error::StackState`] when the delete failed, [`Error::Deadline`] when `limit` passed, and those of
/// [`Session::send`]. Cancel safe.
pub async fn wait_deleted(
    session: &Session,
    stack: &StackRef,
    mut wait: DeleteWait,
    every: Duration,
    limit: Duration,
) -> Result<()> {
    let started = tokio::time::Instant::now();
    loop {
        let seen = match session.send(ShowStack::new(stack)).await {
            Ok(seen) => Some(seen),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        let waited = started.elapsed();
        match wait.look(seen.as_ref(), waited) {
            DeleteState::Gone => return Ok(()),
            DeleteState::Failed(reason) => {
                let status = "DELETE_FAILED".to_owned();
                return Err(Error::StackState {
                    name: stack.name().to_owned(),
                    status,
                    reason,
                });
            }
            DeleteState::Running if waited >= limit => {
                return Err(Error::Deadline {
                    operation: "delete stack",
                    waited,
                });
            }
            DeleteState::Running => tokio::time::sleep(every).await,
        }
    }
}
