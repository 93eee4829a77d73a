//! The one table of transitions. Nothing changes a status except by a row of it.

use std::fmt;

use super::{Action, Phase, Status};

/// What moves a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// Creation was asked for again after it had failed.
    CreateAccepted,
    /// Everything is there; also when that turns out after the time had run out.
    CreateCompleted,
    /// It could not be made, or not in time.
    CreateFailed,
    /// A change was accepted.
    UpdateAccepted,
    /// The change is done; also when that turns out after the time had run out.
    UpdateCompleted,
    /// The change could not be made, or not in time.
    UpdateFailed,
    /// Removal was asked for. Always accepted, and final.
    DeleteAccepted,
    /// Everything is gone.
    DeleteCompleted,
    /// It could not be removed, or not in time.
    DeleteFailed,
    /// A driver began to go back to what was before a change.
    RollbackStarted,
    /// It is as it was before.
    RollbackCompleted,
    /// Going back failed.
    RollbackFailed,
}

impl Trigger {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::CreateAccepted,
        Self::CreateCompleted,
        Self::CreateFailed,
        Self::UpdateAccepted,
        Self::UpdateCompleted,
        Self::UpdateFailed,
        Self::DeleteAccepted,
        Self::DeleteCompleted,
        Self::DeleteFailed,
        Self::RollbackStarted,
        Self::RollbackCompleted,
        Self::RollbackFailed,
    ];

    /// The trigger with which an action enters a phase.
    #[must_use]
    pub const fn entering(action: Action, phase: Phase) -> Self {
        match (action, phase) {
            (Action::Create, Phase::InProgress) => Self::CreateAccepted,
            (Action::Create, Phase::Complete) => Self::CreateCompleted,
            (Action::Create, Phase::Failed) => Self::CreateFailed,
            (Action::Update, Phase::InProgress) => Self::UpdateAccepted,
            (Action::Update, Phase::Complete) => Self::UpdateCompleted,
            (Action::Update, Phase::Failed) => Self::UpdateFailed,
            (Action::Delete, Phase::InProgress) => Self::DeleteAccepted,
            (Action::Delete, Phase::Complete) => Self::DeleteCompleted,
            (Action::Delete, Phase::Failed) => Self::DeleteFailed,
            (Action::Rollback, Phase::InProgress) => Self::RollbackStarted,
            (Action::Rollback, Phase::Complete) => Self::RollbackCompleted,
            (Action::Rollback, Phase::Failed) => Self::RollbackFailed,
        }
    }

    /// Its name in texts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateAccepted => "create accepted",
            Self::CreateCompleted => "create completed",
            Self::CreateFailed => "create failed",
            Self::UpdateAccepted => "update accepted",
            Self::UpdateCompleted => "update completed",
            Self::UpdateFailed => "update failed",
            Self::DeleteAccepted => "delete accepted",
            Self::DeleteCompleted => "delete completed",
            Self::DeleteFailed => "delete failed",
            Self::RollbackStarted => "rollback started",
            Self::RollbackCompleted => "rollback completed",
            Self::RollbackFailed => "rollback failed",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const CREATING: Status = Status::CREATE_IN_PROGRESS;
const CREATED: Status = Status::CREATE_COMPLETE;
const CREATE_FAILED: Status = Status::CREATE_FAILED;
const UPDATING: Status = Status::UPDATE_IN_PROGRESS;
const UPDATED: Status = Status::UPDATE_COMPLETE;
const UPDATE_FAILED: Status = Status::UPDATE_FAILED;
const DELETING: Status = Status::DELETE_IN_PROGRESS;
const DELETED: Status = Status::DELETE_COMPLETE;
const DELETE_FAILED: Status = Status::DELETE_FAILED;
const ROLLING_BACK: Status = Status::new(Action::Rollback, Phase::InProgress);
const ROLLED_BACK: Status = Status::new(Action::Rollback, Phase::Complete);
const ROLLBACK_FAILED: Status = Status::new(Action::Rollback, Phase::Failed);

/// Every transition there is: from, by, to. A new cluster or node group begins in `CREATE_IN_PROGRESS`.
///
/// A status that was left for `UPDATE_*` never comes back to `CREATE_*` (rule `SM-03`); deletion is final.
pub const TRANSITIONS: &[(Status, Trigger, Status)] = &[
    (CREATING, Trigger::CreateCompleted, CREATED),
    (CREATING, Trigger::CreateFailed, CREATE_FAILED),
    (CREATE_FAILED, Trigger::CreateAccepted, CREATING),
    (CREATE_FAILED, Trigger::CreateCompleted, CREATED),
    (CREATE_FAILED, Trigger::UpdateAccepted, UPDATING),
    (CREATED, Trigger::UpdateAccepted, UPDATING),
    (UPDATED, Trigger::UpdateAccepted, UPDATING),
    (UPDATE_FAILED, Trigger::UpdateAccepted, UPDATING),
    (UPDATING, Trigger::UpdateAccepted, UPDATING),
    (UPDATING, Trigger::UpdateCompleted, UPDATED),
    (UPDATING, Trigger::UpdateFailed, UPDATE_FAILED),
    (UPDATE_FAILED, Trigger::UpdateCompleted, UPDATED),
    (UPDATING, Trigger::RollbackStarted, ROLLING_BACK),
    (ROLLING_BACK, Trigger::RollbackCompleted, ROLLED_BACK),
    (ROLLING_BACK, Trigger::RollbackFailed, ROLLBACK_FAILED),
    (ROLLED_BACK, Trigger::UpdateAccepted, UPDATING),
    (ROLLBACK_FAILED, Trigger::UpdateAccepted, UPDATING),
    (CREATING, Trigger::DeleteAccepted, DELETING),
    (CREATED, Trigger::DeleteAccepted, DELETING),
    (CREATE_FAILED, Trigger::DeleteAccepted, DELETING),
    (UPDATING, Trigger::DeleteAccepted, DELETING),
    (UPDATED, Trigger::DeleteAccepted, DELETING),
    (UPDATE_FAILED, Trigger::DeleteAccepted, DELETING),
    (ROLLING_BACK, Trigger::DeleteAccepted, DELETING),
    (ROLLED_BACK, Trigger::DeleteAccepted, DELETING),
    (ROLLBACK_FAILED, Trigger::DeleteAccepted, DELETING),
    (DELETE_FAILED, Trigger::DeleteAccepted, DELETING),
    (DELETING, Trigger::DeleteAccepted, DELETING),
    (DELETING, Trigger::DeleteCompleted, DELETED),
    (DELETING, Trigger::DeleteFailed, DELETE_FAILED),
    (DELETE_FAILED, Trigger::DeleteCompleted, DELETED),
];

/// A trigger that a status does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{from} knows no {trigger}")]
pub struct NotAllowed {
    /// The status.
    pub from: Status,
    /// The trigger.
    pub trigger: Trigger,
}

/// The status after a trigger.
///
/// # Errors
/// Where the table has no such row.
pub fn apply(from: Status, trigger: Trigger) -> Result<Status, NotAllowed> {
    TRANSITIONS
        .iter()
        .find(|(status, by, _)| *status == from && *by == trigger)
        .map(|(_, _, to)| *to)
        .ok_or(NotAllowed { from, trigger })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// What the table must say for every pair, written a second time and by another principle.
    fn expected(from: Status, trigger: Trigger) -> Option<Status> {
        use Action::{Create, Delete, Rollback, Update};
        use Phase::{Complete, Failed, InProgress};
        if from == DELETED {
            return None;
        }
        match trigger {
            Trigger::DeleteAccepted => Some(DELETING),
            _ if from == DELETING => match trigger {
                Trigger::DeleteCompleted => Some(DELETED),
                Trigger::DeleteFailed => Some(DELETE_FAILED),
                _ => None,
            },
            Trigger::DeleteCompleted => (from == DELETE_FAILED).then_some(DELETED),
            Trigger::DeleteFailed => None,
            Trigger::CreateAccepted => (from == CREATE_FAILED).then_some(CREATING),
            Trigger::CreateCompleted => {
                (from.action == Create && from.phase != Complete).then_some(CREATED)
            }
            Trigger::CreateFailed => (from == CREATING).then_some(CREATE_FAILED),
            Trigger::UpdateAccepted => match (from.action, from.phase) {
                (Delete, _) | (Create | Rollback, InProgress) => None,
                _ => Some(UPDATING),
            },
            Trigger::UpdateCompleted => {
                (from.action == Update && from.phase != Complete).then_some(UPDATED)
            }
            Trigger::UpdateFailed => (from == UPDATING).then_some(UPDATE_FAILED),
            Trigger::RollbackStarted => (from == UPDATING).then_some(ROLLING_BACK),
            Trigger::RollbackCompleted => (from == ROLLING_BACK).then_some(ROLLED_BACK),
            Trigger::RollbackFailed => {
                (from == ROLLING_BACK).then_some(Status::new(Rollback, Failed))
            }
        }
    }

    #[test]
    fn sm_every_status_and_trigger_has_exactly_the_expected_result() {
        for from in Status::ALL {
            for trigger in Trigger::ALL {
                assert_eq!(
                    apply(from, trigger).ok(),
                    expected(from, trigger),
                    "{from} by {trigger}"
                );
            }
        }
        let keys: BTreeSet<_> = TRANSITIONS.iter().map(|(f, t, _)| (*f, *t)).collect();
        assert_eq!(keys.len(), TRANSITIONS.len(), "no pair twice");
    }

    #[test]
    fn a_trigger_enters_the_status_that_it_names() {
        for (_, trigger, to) in TRANSITIONS {
            assert_eq!(Trigger::entering(to.action, to.phase), *trigger);
        }
    }

    proptest! {
        #[test]
        fn sm_03_no_sequence_comes_back_to_create_or_leaves_deletion(steps in proptest::collection::vec(0usize..12, 0..60)) {
            let mut status = CREATING;
            let (mut updated, mut deleting) = (false, false);
            for step in steps {
                if let Ok(next) = apply(status, Trigger::ALL[step]) {
                    status = next;
                }
                updated |= status.action == Action::Update;
                deleting |= status.action == Action::Delete;
                prop_assert!(!(updated && status.action == Action::Create));
                prop_assert!(!deleting || status.action == Action::Delete);
            }
        }
    }
}
