//! What a stack's state means for what was asked of it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use magnum_heat::heat::{Phase, StackAction, StackStatus};

use crate::memo::{StackIntent, StackRecord};

/// How long a failed deletion that may belong to an earlier try is taken for a stale one (rule `HC-02`).
const GRACE: Duration = Duration::from_secs(60);
/// The same for any other state: Heat notes the time of a change in whole seconds, so two quick ones can look alike. What the
/// stack then holds is looked at anyway.
const SHORT_GRACE: Duration = Duration::from_secs(4);

/// What a look at a stack says about what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackLook {
    /// It is going on.
    Running,
    /// It ended well.
    Complete,
    /// It ended badly, with Heat's reason.
    Failed(String),
    /// The stack is not there.
    Gone,
}

/// Judges a look at the stack of `record`. `seen` is its status, reason and time of the last change; none where it is not there.
#[must_use]
pub fn judge(
    record: &StackRecord,
    seen: Option<(&StackStatus, &str, Option<DateTime<Utc>>)>,
    now: DateTime<Utc>,
) -> StackLook {
    let Some((status, reason, updated)) = seen else {
        return StackLook::Gone;
    };
    if status.is_gone() {
        return StackLook::Gone;
    }
    let wanted = match record.intent {
        Some(StackIntent::Create) => StackAction::Create,
        Some(StackIntent::Update) => StackAction::Update,
        Some(StackIntent::Delete) => StackAction::Delete,
        None => status.action.clone(),
    };
    if status.is_in_progress() {
        return StackLook::Running;
    }
    let grace = match record.intent {
        Some(StackIntent::Delete) => GRACE,
        _ => SHORT_GRACE,
    };
    let waited = record
        .asked_at
        .map_or(grace, |asked| (now - asked).to_std().unwrap_or_default());
    let ours = status.action == wanted
        && (record.seen_in_progress
            || updated != record.seen_updated
            || record.intent == Some(StackIntent::Create)
            || waited >= grace);
    match status.phase {
        _ if !ours && record.intent == Some(StackIntent::Delete) && status.action != wanted => {
            StackLook::Running
        }
        _ if !ours && waited < grace => StackLook::Running,
        Phase::Complete => StackLook::Complete,
        Phase::Failed => StackLook::Failed(reason.to_owned()),
        _ => StackLook::Running,
    }
}

#[cfg(test)]
mod tests {
    use magnum_heat::hot::{Document, Files};

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + chrono::TimeDelta::minutes(minute)
    }

    fn record(intent: StackIntent, seen_updated: Option<i64>) -> StackRecord {
        let mut record = StackRecord::new("s", Document::new(), Files::new());
        record.intend(intent, at(5));
        record.accepted = true;
        record.seen_updated = seen_updated.map(at);
        record
    }

    fn look(record: &StackRecord, status: &str, updated: Option<i64>, seconds: i64) -> StackLook {
        judge(
            record,
            Some((&StackStatus::parse(status), "r", updated.map(at))),
            at(5) + chrono::TimeDelta::seconds(seconds),
        )
    }

    #[test]
    fn hc_02_an_older_failed_delete_does_not_count() {
        let mut record = record(StackIntent::Delete, Some(0));
        assert_eq!(
            look(&record, "DELETE_FAILED", Some(0), 1),
            StackLook::Running
        );
        assert_eq!(
            look(&record, "DELETE_IN_PROGRESS", Some(5), 2),
            StackLook::Running
        );
        record.seen_in_progress = true;
        assert_eq!(
            look(&record, "DELETE_FAILED", Some(0), 3),
            StackLook::Failed("r".into())
        );
    }

    #[test]
    fn hc_03_not_found_and_deleted_are_gone() {
        let record = record(StackIntent::Delete, None);
        assert_eq!(judge(&record, None, at(5)), StackLook::Gone);
        assert_eq!(look(&record, "DELETE_COMPLETE", None, 0), StackLook::Gone);
        assert_eq!(
            look(&record, "CREATE_COMPLETE", None, 400),
            StackLook::Running
        );
    }

    #[test]
    fn an_update_counts_when_it_is_the_one_that_was_asked() {
        let record = record(StackIntent::Update, Some(0));
        assert_eq!(
            look(&record, "UPDATE_COMPLETE", Some(0), 1),
            StackLook::Running
        );
        assert_eq!(
            look(&record, "UPDATE_COMPLETE", Some(5), 1),
            StackLook::Complete
        );
        assert_eq!(
            look(&record, "UPDATE_COMPLETE", Some(0), 61),
            StackLook::Complete
        );
        assert_eq!(
            look(&record, "CREATE_COMPLETE", Some(0), 1),
            StackLook::Running
        );
    }
}
