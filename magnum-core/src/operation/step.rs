//! What follows from one call of the driver.

use std::time::Duration;

use rand::Rng;

use super::accept::cancelled;
use super::backoff::pause;
use super::{Draft, OperationState, Outcome};
use crate::credential::CredentialError;
use crate::driver::{Advance, Cause, CauseKind, Change, DriverError, Failure};
use crate::event::EventKind;
use crate::id::OperationId;
use crate::retry::Retry;

/// How an engine paces its calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The first pause after an error.
    pub(crate) first_pause: Duration,
    /// The longest pause after errors.
    pub(crate) longest_pause: Duration,
    /// How often operations are looked at whose time ran out.
    pub(crate) slow_round: Duration,
    /// How often a failed deletion is begun again by itself.
    pub(crate) automatic_deletes: u32,
}

/// What one call led to.
#[derive(Debug)]
pub(crate) enum StepResult {
    /// The driver's word.
    Advanced(Advance),
    /// It could not be carried out; whether it is tried again, and when.
    Error {
        sentence: String,
        retry: Retry,
        kind: CauseKind,
    },
}

impl StepResult {
    /// The same once more, for a decision that is made anew.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Advanced(advance) => Self::Advanced(advance.clone()),
            Self::Error {
                sentence,
                retry,
                kind,
            } => Self::Error {
                sentence: sentence.clone(),
                retry: *retry,
                kind: *kind,
            },
        }
    }
}

impl StepResult {
    /// An error that is tried again.
    pub(crate) const fn later(sentence: String) -> Self {
        Self::Error {
            sentence,
            retry: Retry::Later,
            kind: CauseKind::Unknown,
        }
    }
}

impl StepResult {
    /// Its name in measurements.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Advanced(Advance::Done) => "done",
            Self::Advanced(Advance::Again { .. }) => "again",
            Self::Advanced(Advance::Failed(_)) => "failed",
            Self::Error { .. } => "error",
        }
    }
}

impl From<CredentialError> for StepResult {
    fn from(error: CredentialError) -> Self {
        let kind = match &error {
            CredentialError::Refused { .. } => CauseKind::Policy,
            _ => CauseKind::Unknown,
        };
        Self::Error {
            sentence: error.to_string(),
            retry: error.retry(),
            kind,
        }
    }
}

impl From<DriverError> for StepResult {
    fn from(error: DriverError) -> Self {
        let kind = match &error {
            DriverError::Invalid(_) | DriverError::Unsupported { .. } => CauseKind::InvalidInput,
            _ => CauseKind::Unknown,
        };
        Self::Error {
            sentence: error.to_string(),
            retry: error.retry(),
            kind,
        }
    }
}

impl Draft {
    /// Notes that an operation is worked on.
    pub(crate) fn begin(&mut self, id: OperationId) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        if operation.started_at.is_none() {
            operation.started_at = Some(now);
            let change = operation.change.kind();
            self.tell(Some(id), EventKind::OperationStarted { change });
        }
    }

    /// Decides what follows from a step, and ends the lease.
    pub(crate) fn after_step(
        &mut self,
        id: OperationId,
        result: StepResult,
        pace: &Pace,
        rng: &mut impl Rng,
    ) {
        let now = self.now;
        self.release(id);
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        if operation.superseded_by.is_some() {
            let causes = cancelled("another took its place");
            return self.finish(id, Outcome::Cancelled, causes);
        }
        let overdue = operation.state == OperationState::Overdue;
        let late = now >= operation.deadline;
        match result {
            StepResult::Advanced(Advance::Done) => {
                operation.errors = 0;
                operation.last_error = None;
                let Some((next, progress)) = operation.change.next() else {
                    return self.finish(id, Outcome::Succeeded, Vec::new());
                };
                operation.change = next;
                operation.progress.clone_from(&progress);
                self.tell(Some(id), EventKind::OperationProgress { progress });
                self.again_after(id, Duration::ZERO, overdue, late, pace);
            }
            StepResult::Advanced(Advance::Again { after, progress }) => {
                operation.errors = 0;
                operation.last_error = None;
                let moved = operation.progress != progress;
                operation.progress.clone_from(&progress);
                if moved {
                    self.tell(Some(id), EventKind::OperationProgress { progress });
                }
                self.again_after(id, after, overdue, late, pace);
            }
            StepResult::Advanced(Advance::Failed(failure)) => {
                self.step_failed(id, failure, overdue, late, pace, rng);
            }
            StepResult::Error {
                sentence,
                retry: Retry::Never,
                kind,
            } => self.step_failed(id, Failure::new(kind, sentence), overdue, late, pace, rng),
            StepResult::Error {
                sentence, retry, ..
            } => {
                operation.errors = operation.errors.saturating_add(1);
                let errors = operation.errors;
                let news = operation.last_error.as_ref() != Some(&sentence);
                operation.last_error = Some(sentence.clone());
                if news {
                    let error = sentence;
                    self.tell(Some(id), EventKind::OperationRetrying { error, errors });
                }
                let wait = pause(errors, pace.first_pause, pace.longest_pause, retry, rng);
                self.again_after(id, wait, overdue, late, pace);
            }
        }
    }

    fn again_after(
        &mut self,
        id: OperationId,
        after: Duration,
        overdue: bool,
        late: bool,
        pace: &Pace,
    ) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        if overdue {
            operation.next_due = Some(now + pace.slow_round.max(after));
        } else if late {
            let causes = vec![time_is_over(operation)];
            self.overrun(id, causes, pace.slow_round);
        } else {
            operation.next_due = Some((now + after).min(operation.deadline));
        }
    }

    fn step_failed(
        &mut self,
        id: OperationId,
        failure: Failure,
        overdue: bool,
        late: bool,
        pace: &Pace,
        rng: &mut impl Rng,
    ) {
        let now = self.now;
        let Some(operation) = self.operation_mut(id) else {
            return;
        };
        if overdue {
            return self.end(id, Outcome::TimedOut, failure.causes);
        }
        let again = operation.change == Change::Delete
            && !late
            && operation.automatic_retries < pace.automatic_deletes;
        if again {
            operation.automatic_retries += 1;
            let (tries, error) = (operation.automatic_retries, failure.to_string());
            operation.last_error = Some(error.clone());
            let wait = pause(
                tries,
                pace.first_pause,
                pace.longest_pause,
                Retry::Later,
                rng,
            );
            operation.next_due = Some(now + wait);
            let kind = EventKind::OperationRetrying {
                error,
                errors: tries,
            };
            return self.tell(Some(id), kind);
        }
        let asked = operation.cancelled
            && failure
                .causes
                .first()
                .is_some_and(|cause| cause.kind == CauseKind::Cancelled);
        let outcome = if asked {
            Outcome::Cancelled
        } else {
            Outcome::Failed
        };
        self.finish(id, outcome, failure.causes);
    }
}

fn time_is_over(operation: &super::Operation) -> Cause {
    use std::fmt::Write as _;
    let mut sentence = format!(
        "{} timed out after {} minutes",
        operation.change.kind(),
        operation.timeout_secs / 60
    );
    if !operation.progress.step.is_empty() {
        let _ = write!(sentence, ", while {}", operation.progress.step);
    }
    if let Some(error) = &operation.last_error {
        let _ = write!(sentence, "; last error: {error}");
    }
    Cause {
        kind: CauseKind::Timeout,
        sentence,
        subject: None,
    }
}
