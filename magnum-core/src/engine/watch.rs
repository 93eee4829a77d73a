//! A stream of events.

use std::collections::VecDeque;

use futures::Stream;
use futures::stream;
use tokio::sync::watch;

use super::{Engine, RequestContext};
use crate::error::Error;
use crate::event::Event;

/// How many events are read at once.
const BATCH: u32 = 256;

struct Watching {
    engine: Engine,
    cx: RequestContext,
    since: u64,
    ready: VecDeque<Event>,
    changes: watch::Receiver<u64>,
}

impl Engine {
    /// Events that the caller can see with numbers above `since`, in order and without end: first those that are there, then new ones
    /// as they come, from this process at once and from others within [`poll`](super::EngineConfig::poll). Resume with the
    /// number of the last event that was seen; 0 begins with the first, [`last_event`](Self::last_event) with the next.
    ///
    /// An error of the store is given once and reading goes on after a pause. Dropping the stream ends it.
    pub fn watch(
        &self,
        cx: &RequestContext,
        since: u64,
    ) -> impl Stream<Item = Result<Event, Error>> + Send + Unpin + 'static {
        let watching = Watching {
            engine: self.clone(),
            cx: cx.clone(),
            since,
            ready: VecDeque::new(),
            changes: self.0.store.changes(),
        };
        Box::pin(stream::unfold(watching, |mut watching| async move {
            let item = watching.next().await;
            Some((item, watching))
        }))
    }
}

impl Watching {
    async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.since = event.seq;
                return Ok(event);
            }
            self.changes.mark_unchanged();
            match self.engine.events(&self.cx, self.since, BATCH).await {
                Ok(events) if !events.is_empty() => self.ready.extend(events),
                Ok(_) => self.wait().await,
                Err(error) => {
                    self.wait().await;
                    return Err(error);
                }
            }
        }
    }

    async fn wait(&mut self) {
        let poll = self.engine.0.config.poll;
        tokio::select! {
            changed = self.changes.changed() => {
                if changed.is_err() {
                    self.engine.0.clock.sleep(poll).await;
                }
            }
            () = self.engine.0.clock.sleep(poll) => {}
        }
    }
}
