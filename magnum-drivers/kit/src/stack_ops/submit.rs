//! Sending what is intended, and looking at how it goes.

use chrono::{DateTime, Utc};
use magnum_core::driver::{Cause, CauseKind, DriverError};
use magnum_heat::stack::{
    CreateStack, DeleteStack, ReplaceStack, ShowStack, Stack, StackContent, StackRef,
    create_stack_or_adopt, find_stack,
};
use magnum_heat::{FaultKind, Session};

use super::cause::refusal;
use super::judge::{StackLook, judge};
use crate::fault::cloud_error;
use crate::memo::{StackIntent, StackRecord};
use crate::stacks::Mark;

/// What goes with every request for a stack.
#[derive(Debug, Clone)]
pub struct Submission<'a> {
    /// The session of the cluster's project.
    pub session: &'a Session,
    /// The cluster's mark.
    pub mark: &'a Mark,
    /// Heat's own limit.
    pub timeout_mins: u64,
    /// The time now.
    pub now: DateTime<Utc>,
}

/// Why a request for a stack did not go through.
#[derive(Debug)]
#[non_exhaustive]
pub enum StackProblem {
    /// Try again, or the end of the change: as the error says.
    Driver(DriverError),
    /// Heat refused it for good.
    Refused(Cause),
    /// The document is larger than this Heat takes.
    TooLarge(String),
}

impl From<DriverError> for StackProblem {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

/// Sends what `record` intends. `fresh` says that the intent was noted and written in this very call, so that nothing can have been sent before.
///
/// Idempotent: a creation adopts what an earlier try made (rule `HC-06`), a replacement that Heat has taken is not sent again.
///
/// # Errors
/// See [`StackProblem`]. Whatever it is, calling again is safe.
pub async fn submit(
    by: &Submission<'_>,
    record: &mut StackRecord,
    fresh: bool,
) -> Result<(), StackProblem> {
    if record.accepted {
        return Ok(());
    }
    match record.intent {
        None => return Ok(()),
        Some(StackIntent::Create) => create(by, record).await?,
        Some(StackIntent::Update) => replace(by, record, fresh).await?,
        Some(StackIntent::Delete) => delete(by, record).await?,
    }
    record.accepted = true;
    Ok(())
}

fn content(record: &StackRecord) -> StackContent {
    StackContent::new(record.template.clone()).files(record.files.clone())
}

fn reference(record: &StackRecord) -> StackRef {
    record.id.as_ref().map_or_else(
        || StackRef::find(&record.name),
        |id| StackRef::new(&record.name, id),
    )
}

fn problem(error: magnum_heat::Error) -> StackProblem {
    match error.api().map(|api| &api.kind) {
        Some(FaultKind::RequestLimitExceeded) => StackProblem::TooLarge(error.to_string()),
        _ if error.retry() == magnum_heat::Retry::Never => StackProblem::Refused(refusal(&error)),
        _ => StackProblem::Driver(cloud_error(error)),
    }
}

async fn create(by: &Submission<'_>, record: &mut StackRecord) -> Result<(), StackProblem> {
    let request = CreateStack::new(&record.name, content(record))
        .tags([by.mark.as_str()])
        .timeout_mins(by.timeout_mins);
    let made = create_stack_or_adopt(by.session, request, by.mark.as_str())
        .await
        .map_err(problem)?;
    record.id = made.stack().id().map(str::to_owned);
    Ok(())
}

async fn replace(
    by: &Submission<'_>,
    record: &mut StackRecord,
    fresh: bool,
) -> Result<(), StackProblem> {
    if !fresh {
        let seen = by
            .session
            .send(ShowStack::new(reference(record)))
            .await
            .map_err(problem)?;
        if seen.status.is_in_progress() || seen.updated != record.seen_updated {
            record.seen_in_progress = seen.status.is_in_progress();
            return Ok(());
        }
    }
    let request = ReplaceStack::new(reference(record), content(record), [by.mark.as_str()])
        .timeout_mins(by.timeout_mins);
    by.session.send(request).await.map_err(problem)
}

async fn delete(by: &Submission<'_>, record: &mut StackRecord) -> Result<(), StackProblem> {
    if record.id.is_none() {
        // Only the intent is known: what its name leads to is ours only with the mark.
        match find_stack(by.session, &record.name).await {
            Ok(Some(found)) if found.has_tag(by.mark.as_str()) => {
                record.id = Some(found.id.clone());
                record.seen_updated = found.updated;
            }
            Ok(_) => return Ok(()),
            Err(error) => return Err(problem(error)),
        }
    }
    match by
        .session
        .send(DeleteStack {
            stack: reference(record),
        })
        .await
    {
        Err(error) if !error.is_not_found() => Err(problem(error)),
        _ => Ok(()),
    }
}

/// Looks at a stack once, without outputs (rule `SP-01`), and notes what was seen.
///
/// # Errors
/// As the session; an absent stack is [`StackLook::Gone`].
pub async fn look(by: &Submission<'_>, record: &mut StackRecord) -> Result<StackLook, DriverError> {
    Ok(look_at(by, record, false).await?.0)
}

/// Looks at a stack once and reads its outputs too.
///
/// # Errors
/// As [`look`].
pub async fn look_with_outputs(
    by: &Submission<'_>,
    record: &mut StackRecord,
) -> Result<(StackLook, Option<Stack>), DriverError> {
    look_at(by, record, true).await
}

async fn look_at(
    by: &Submission<'_>,
    record: &mut StackRecord,
    outputs: bool,
) -> Result<(StackLook, Option<Stack>), DriverError> {
    if record.id.is_none() && record.intent == Some(StackIntent::Delete) {
        return Ok((StackLook::Gone, None));
    }
    let mut request = ShowStack::new(reference(record));
    request.resolve_outputs = outputs;
    let seen = match by.session.send(request).await {
        Ok(stack) => Some(stack),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(cloud_error(error)),
    };
    if let Some(stack) = &seen {
        record.seen_in_progress |= stack.status.is_in_progress();
    }
    let verdict = judge(
        record,
        seen.as_ref()
            .map(|s| (&s.status, s.status_reason.as_str(), s.updated)),
        by.now,
    );
    if matches!(verdict, StackLook::Complete | StackLook::Failed(_))
        && let Some(stack) = &seen
    {
        record.seen_updated = stack.updated;
    }
    Ok((verdict, seen))
}

/// The cause of a stack that vanished while it was needed.
#[must_use]
pub(crate) fn vanished(record: &StackRecord) -> Cause {
    Cause {
        kind: CauseKind::Unknown,
        sentence: format!(
            "the stack {} was deleted by somebody else while it was being changed",
            record.name
        ),
        subject: Some(format!("stack {}", record.name)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use magnum_core::ClusterId;
    use magnum_heat::hot::{Document, Files};
    use magnum_heat::testing::{Reply, Script};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn sp_01_polls_skip_outputs_and_one_last_look_reads_them() {
        let polls = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&polls);
        let script = Script::new().rule(move |seen| {
            if !seen.path.contains("/stacks/") {
                return None;
            }
            let status = if counted.fetch_add(1, Ordering::SeqCst) < 29 {
                "CREATE_IN_PROGRESS"
            } else {
                "CREATE_COMPLETE"
            };
            let stack = json!({"id": "id1", "stack_name": "s", "stack_status": status, "stack_status_reason": "", "creation_time": "2026-12-01T09:00:00Z"});
            Some(Reply::json(200, &json!({"stack": stack})))
        });
        let session = script.session().await.unwrap();
        let mark = Mark::of(ClusterId::from_uuid(uuid::Uuid::nil()));
        let by = Submission {
            session: &session,
            mark: &mark,
            timeout_mins: 60,
            now: "2026-12-01T09:10:00Z".parse().unwrap(),
        };
        let mut record = StackRecord::new("s", Document::new(), Files::new());
        record.id = Some("id1".to_owned());
        record.intent = Some(StackIntent::Create);
        record.accepted = true;
        let mut looks = 0;
        while look(&by, &mut record).await.unwrap() == StackLook::Running {
            looks += 1;
        }
        assert_eq!(looks, 29);
        look_with_outputs(&by, &mut record).await.unwrap();
        let seen = script.seen();
        let skips = |path: &str| path.to_ascii_lowercase().contains("resolve_outputs=false");
        let skipped = seen.iter().filter(|s| skips(&s.path)).count();
        assert_eq!((seen.len(), skipped), (31, 30));
        assert!(!skips(&seen[30].path), "the last look has the outputs");
    }
}
