//! Following a stack: its events as a stream, and waiting for a state.

use std::{collections::VecDeque, time::Duration};

use futures::Stream;

use super::{
    event::{Event, ListEvents},
    stack::{ShowStack, Stack, StackRef},
};
use crate::{Error, Result, Session, paging::Page};

/// Events read at once.
const PAGE: usize = 100;

/// Follows the events of a stack, oldest first, each once.
#[derive(Debug, Clone)]
#[must_use = "nothing happens until it is polled as a stream"]
pub struct Follow {
    stack: StackRef,
    after: Option<String>,
    nested_depth: u32,
    every: Duration,
}

impl Follow {
    /// From the first event that Heat still has, looking every 5 s.
    pub fn new(stack: StackRef) -> Self {
        Self {
            stack,
            after: None,
            nested_depth: 0,
            every: Duration::from_secs(5),
        }
    }

    /// Goes on after this event; an id seen before resumes a broken stream.
    pub fn after_event(mut self, id: impl Into<String>) -> Self {
        self.after = Some(id.into());
        self
    }

    /// Events of nested stacks too.
    pub fn nested_depth(mut self, depth: u32) -> Self {
        self.nested_depth = depth;
        self
    }

    /// How often it looks when there is nothing new.
    pub fn every(mut self, pause: Duration) -> Self {
        self.every = pause;
        self
    }

    /// The events. Does not end by itself except when the stack is gone; take what you need and drop it. After an error
    /// the next poll tries again from the same place.
    ///
    /// Cancel safe: an event is either given or will be given.
    pub fn stream(self, session: Session) -> impl Stream<Item = Result<Event>> + Send {
        let state = State {
            session,
            follow: self,
            ready: VecDeque::new(),
            first: true,
        };
        futures::stream::unfold(state, |mut state| async move {
            match state.next().await {
                Ok(Some(event)) => Some((Ok(event), state)),
                Ok(None) => None,
                Err(error) => Some((Err(error), state)),
            }
        })
    }
}

struct State {
    session: Session,
    follow: Follow,
    ready: VecDeque<Event>,
    first: bool,
}

impl State {
    async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if !std::mem::take(&mut self.first) {
                tokio::time::sleep(self.follow.every).await;
            }
            let mut request = ListEvents::new(&self.follow.stack)
                .nested_depth(self.follow.nested_depth)
                .page_size(PAGE);
            if let Some(marker) = &self.follow.after {
                request = request.after(marker);
            }
            let page = match self.session.send_ref(&request).await {
                Ok(page) => page,
                Err(error) if error.is_not_found() && self.follow.after.is_some() => {
                    // Either the stack is gone, or Heat has dropped the event that we stand at.
                    return match self.session.send(ShowStack::new(&self.follow.stack)).await {
                        Ok(stack) if !stack.status.is_gone() => Err(error),
                        Ok(_) => Ok(None),
                        Err(gone) if gone.is_not_found() => Ok(None),
                        Err(other) => Err(other),
                    };
                }
                Err(error) => return Err(error),
            };
            let Some(last) = page.last() else { continue };
            if self.follow.after.as_deref() == Some(last.id.as_str()) {
                return Err(Error::PagingLoop {
                    operation: "follow events",
                    marker: last.id.clone(),
                });
            }
            self.first = page.len() >= PAGE;
            self.follow.after = Some(last.id.clone());
            self.ready.extend(page);
        }
    }
}

/// What is awaited of a stack. Conditions can be joined.
pub struct Until(Box<dyn Fn(&Stack) -> Verdict + Send + Sync>);

/// What a look at the stack means for the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Not yet.
    Wait,
    /// As awaited.
    Met,
    /// Never will be.
    Failed,
}

impl std::fmt::Debug for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Until(..)")
    }
}

impl Until {
    /// Any condition.
    pub fn new(verdict: impl Fn(&Stack) -> Verdict + Send + Sync + 'static) -> Self {
        Self(Box::new(verdict))
    }

    /// The running action is complete; a failure ends the wait.
    pub fn complete() -> Self {
        Self::new(|stack| match () {
            () if stack.status.is_complete() => Verdict::Met,
            () if stack.status.is_failed() => Verdict::Failed,
            () => Verdict::Wait,
        })
    }

    /// The running action has ended, well or not.
    pub fn settled() -> Self {
        Self::new(|stack| {
            if stack.status.is_in_progress() {
                Verdict::Wait
            } else {
                Verdict::Met
            }
        })
    }

    /// The stack has been changed after this one was seen; to be joined with others after an accepted update, since
    /// Heat may still show the state before.
    pub fn changed_since(before: &Stack) -> Self {
        let (status, updated) = (before.status.clone(), before.updated);
        Self::new(move |now| {
            if now.status != status || now.updated != updated {
                Verdict::Met
            } else {
                Verdict::Wait
            }
        })
    }

    /// Both are met; either failing ends the wait.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |stack| match ((self.0)(stack), (other.0)(stack)) {
            (Verdict::Met, second) => second,
            (Verdict::Wait, _) | (_, Verdict::Wait) => Verdict::Wait,
            (Verdict::Failed, _) => Verdict::Failed,
        })
    }

    /// Either is met.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |stack| match ((self.0)(stack), (other.0)(stack)) {
            (Verdict::Met, _) | (_, Verdict::Met) => Verdict::Met,
            (Verdict::Wait, _) | (_, Verdict::Wait) => Verdict::Wait,
            _ => Verdict::Failed,
        })
    }

    /// Judges a stack.
    pub fn judge(&self, stack: &Stack) -> Verdict {
        (self.0)(stack)
    }
}

/// Looks at a stack every `every` until the condition is met, at most `limit`; gives the stack as last seen, without
/// outputs.
///
/// # Errors
/// [`Error::StackState`] when the condition cannot be met any more, [`Error::Deadline`], and those of
/// [`Session::send`]; failures that pass are waited through. Cancel safe.
pub async fn wait_for(
    session: &Session,
    stack: &StackRef,
    until: Until,
    every: Duration,
    limit: Duration,
) -> Result<Stack> {
    let started = tokio::time::Instant::now();
    loop {
        let waited = started.elapsed();
        match session.send(ShowStack::new(stack)).await {
            Ok(seen) => match until.judge(&seen) {
                Verdict::Met => return Ok(seen),
                Verdict::Failed => {
                    return Err(Error::StackState {
                        name: seen.name,
                        status: seen.status.to_string(),
                        reason: seen.status_reason,
                    });
                }
                Verdict::Wait => {}
            },
            Err(error) if error.retry() == crate::Retry::Never || waited >= limit => {
                return Err(error);
            }
            Err(error) => tracing::debug!(%error, "cannot look at the stack; waiting on"),
        }
        if waited >= limit {
            return Err(Error::Deadline {
                operation: "wait for stack",
                waited,
            });
        }
        tokio::time::sleep(
            every
                .min(limit.saturating_sub(waited))
                .max(Duration::from_millis(10)),
        )
        .await;
    }
}
