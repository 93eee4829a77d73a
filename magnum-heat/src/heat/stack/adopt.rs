//! Creation that survives a lost answer.

use super::{
    create::CreateStack,
    model::{Stack, StackRef},
    read::find_stack,
};
use crate::{Error, Result, Session, error::Retry, fault::FaultKind};

/// A stack whose creation Heat accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreatedStack {
    /// Name and id.
    pub stack: StackRef,
}

/// How [`create_stack_or_adopt`] got its stack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdoptOutcome {
    /// This call made it.
    Created(StackRef),
    /// It was there already and carries our mark: made by an earlier try whose answer was lost.
    Adopted(StackRef),
}

impl AdoptOutcome {
    /// Name and id.
    pub fn stack(&self) -> &StackRef {
        match self {
            Self::Created(stack) | Self::Adopted(stack) => stack,
        }
    }
}

/// Creates a stack, or finds the one that an earlier try made (`HC-06`).
///
/// `mark` is a tag that only this cluster's stacks carry; it is added to the request's tags. When an answer is lost or
/// Heat says that the name is taken, the stack of that name is looked at: with the mark it is ours.
///
/// # Errors
/// [`Error::ForeignStack`] when another's stack has the name, else those of [`Session::send`]. Cancel safe in the sense
/// that calling it again finds what was made.
pub async fn create_stack_or_adopt(
    session: &Session,
    mut request: CreateStack,
    mark: &str,
) -> Result<AdoptOutcome> {
    if mark.is_empty() {
        return Err(Error::invalid("create stack", "the mark is empty"));
    }
    if !request.tags.iter().any(|tag| tag == mark) {
        request.tags.push(mark.to_owned());
    }
    let policy = session.retry_policy();
    let started = tokio::time::Instant::now();
    let mut failed = 0;
    loop {
        let error = match session.send_ref(&request).await {
            Ok(made) => return Ok(AdoptOutcome::Created(made.stack)),
            Err(error) => error,
        };
        let taken = error
            .api()
            .is_some_and(|api| api.kind == FaultKind::StackExists);
        if !taken && !error.may_have_happened() && error.retry() == Retry::Never {
            return Err(error);
        }
        if taken || error.may_have_happened() {
            match find_stack(session, &request.name).await {
                Ok(Some(found)) => return adopt(found, mark),
                Ok(None) => {}
                // What we do not know we must not decide; the caller comes again.
                Err(look) if look.retry() == Retry::Never => return Err(look),
                Err(look) => tracing::debug!(%look, "cannot look for the stack yet"),
            }
        }
        failed += 1;
        let asked = match error.retry() {
            Retry::After(pause) => Some(pause),
            _ => None,
        };
        match session.next_pause(&policy, failed, started.elapsed(), asked) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(error),
        }
    }
}

fn adopt(found: Stack, mark: &str) -> Result<AdoptOutcome> {
    if found.has_tag(mark) {
        Ok(AdoptOutcome::Adopted(found.reference()))
    } else {
        Err(Error::ForeignStack {
            name: found.name,
            id: found.id,
        })
    }
}
