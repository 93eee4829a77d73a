//! The loop that works on what is due.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::task::JoinSet;

use super::Engine;
use crate::error::Error;
use crate::operation::Operation;
use crate::store::ClaimRequest;

impl Engine {
    /// Works on due operations until `shutdown` ends, then lets every step that is under way end and gives its lease back. What was
    /// under way when a process was killed goes on here, or in another engine, when its lease has run out.
    ///
    /// Runs on the caller's tokio runtime. Errors of the store are logged and tried again: the loop ends only by `shutdown`. Dropping
    /// the future stops everything at its next await, as a crash would.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let mut tasks = JoinSet::new();
        let mut changes = self.0.store.changes();
        let mut last_look = self.0.clock.now();
        tokio::pin!(shutdown);
        loop {
            changes.mark_unchanged();
            if self.0.clock.now() >= last_look + self.0.config.poll {
                last_look = self.0.clock.now();
                self.look_around(&mut tasks).await;
            }
            let free = (self.0.config.workers as usize).saturating_sub(tasks.len());
            for operation in self.claim(free).await {
                let engine = self.clone();
                tasks.spawn(async move { engine.step(operation).await });
            }
            let wait = self.until_next().await;
            let full = tasks.len() >= self.0.config.workers as usize;
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = tasks.join_next() => {}
                Ok(()) = changes.changed(), if !full => {}
                () = self.0.clock.sleep(wait), if !full => {}
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Works once on everything that is due now, on the caller's own task, and says how many operations that were. For embedders with
    /// a scheduler of their own, and for tests. Cancel safe in the sense of [`run`](Self::run).
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn run_due(&self) -> Result<usize, Error> {
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

    /// How long to wait for the next due operation; never longer than the poll interval.
    async fn until_next(&self) -> std::time::Duration {
        let poll = self.0.config.poll;
        match self.0.store.next_due().await {
            Ok(Some(due)) => (due - self.0.clock.now())
                .to_std()
                .unwrap_or_default()
                .min(poll),
            Ok(None) | Err(_) => poll,
        }
    }
}
