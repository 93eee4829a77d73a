//! The loop that works on what is due.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::task::JoinSet;

use super::{Engine, telemetry};
use crate::error::Error;
use crate::operation::Operation;
use crate::store::{ClaimRequest, StoreError};

/// How many events are removed in one transaction, and how many transactions a round has at most.
const PRUNED: (u32, u32) = (1000, 20);

impl Engine {
    /// Works on due operations until `shutdown` ends, then lets every step that is under way end and gives its lease back. What was
    /// under way when a process was killed goes on here, or in another engine, when its lease has run out.
    ///
    /// Runs on the caller's tokio runtime. Errors of the store are logged and tried again: the loop ends only by `shutdown`. With another
    /// sealing key than the store was written with nothing is worked on; the log and [`health`](Self::health) say so. Dropping the future
    /// stops everything at its next await, as a crash would.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let pulse = self.0.pulse.begin();
        tokio::pin!(shutdown);
        while let Err(error) = self.check_sealing_key().await {
            tracing::error!(%error, "no work can be done");
            self.0.pulse.beat(self.0.clock.now(), 0);
            tokio::select! {
                biased;
                () = &mut shutdown => return,
                () = self.0.clock.sleep(self.0.config.longest_pause) => {}
            }
        }
        let (mut tasks, mut looks) = (JoinSet::new(), JoinSet::new());
        let mut changes = self.0.store.changes();
        let mut next_look = self.0.clock.now() + self.0.config.poll;
        let mut next_prune = next_look;
        loop {
            changes.mark_unchanged();
            let now = self.0.clock.now();
            if now >= next_look {
                let more = self.look_around(&mut looks).await;
                next_look = if more { now } else { now + self.0.config.poll };
            }
            if now >= next_prune {
                next_prune = now + self.0.config.slow_round;
                self.prune(now).await;
            }
            let free = (self.0.config.workers as usize).saturating_sub(tasks.len());
            for operation in self.claim(free).await {
                let engine = self.clone();
                tasks.spawn(async move { engine.step(operation).await });
            }
            self.0.pulse.beat(now, tasks.len());
            let (wait, lag) = self.until_next().await;
            telemetry::round(tasks.len(), lag);
            let full = tasks.len() >= self.0.config.workers as usize;
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = tasks.join_next() => {}
                Some(_) = looks.join_next() => {}
                Ok(()) = changes.changed(), if !full => {}
                () = self.0.clock.sleep(if full { self.0.config.poll } else { wait }) => {}
            }
        }
        // A look has nothing under way that another could not begin anew.
        looks.shutdown().await;
        while tasks.join_next().await.is_some() {}
        drop(pulse);
    }

    /// Works once on everything that is due now, on the caller's own task, and says how many operations that were. For embedders with
    /// a scheduler of their own, and for tests. Cancel safe in the sense of [`run`](Self::run).
    ///
    /// # Errors
    /// [`Error::SealingKey`], [`Error::Store`].
    pub async fn run_due(&self) -> Result<usize, Error> {
        self.check_sealing_key().await?;
        let limit = self.0.config.workers;
        let operations = self.0.store.claim(&self.claim_request(limit)).await?;
        let count = operations.len();
        let mut steps: FuturesUnordered<_> = operations
            .into_iter()
            .map(|operation| Box::pin(self.step(operation)))
            .collect();
        while steps.next().await.is_some() {}
        Ok(count)
    }

    async fn claim(&self, free: usize) -> Vec<Operation> {
        if free == 0 {
            return Vec::new();
        }
        let limit = u32::try_from(free).unwrap_or(u32::MAX);
        match self.0.store.claim(&self.claim_request(limit)).await {
            Ok(operations) => operations,
            Err(error) => {
                tracing::warn!(%error, "no operations could be claimed");
                Vec::new()
            }
        }
    }

    fn claim_request(&self, limit: u32) -> ClaimRequest {
        let now = self.0.clock.now();
        ClaimRequest {
            engine: self.0.id,
            now,
            until: now + self.0.config.lease,
            limit,
        }
    }

    /// How long to wait for the next due operation, never longer than the poll interval; and how long the most overdue one has waited.
    async fn until_next(&self) -> (Duration, Duration) {
        let poll = self.0.config.poll;
        match self.0.store.next_due().await {
            Ok(Some(due)) => {
                let now = self.0.clock.now();
                let until = (due - now).to_std().unwrap_or_default();
                (until.min(poll), (now - due).to_std().unwrap_or_default())
            }
            Ok(None) | Err(_) => (poll, Duration::ZERO),
        }
    }

    /// Removes events that are older, or more, than the settings keep.
    async fn prune(&self, now: DateTime<Utc>) {
        let config = &self.0.config;
        if config.events_max_age.is_none() && config.events_max_count.is_none() {
            return;
        }
        match self.prune_events(now).await {
            Ok(0) => {}
            Ok(count) => {
                telemetry::pruned(count);
                tracing::info!(count, "old events were removed");
            }
            Err(error) => tracing::warn!(%error, "old events were not removed"),
        }
    }

    async fn prune_events(&self, now: DateTime<Utc>) -> Result<u64, StoreError> {
        let config = &self.0.config;
        let age = config.events_max_age;
        let before = age.map_or(DateTime::UNIX_EPOCH, |age| now - age);
        let up_to = match config.events_max_count {
            Some(keep) => self.0.store.last_event().await?.saturating_sub(keep),
            None => 0,
        };
        let mut count = 0;
        for _ in 0..PRUNED.1 {
            let gone = self.0.store.prune_events(before, up_to, PRUNED.0).await?;
            count += gone;
            if gone < PRUNED.0.into() {
                break;
            }
        }
        Ok(count)
    }
}
