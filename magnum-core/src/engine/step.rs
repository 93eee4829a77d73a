//! One step of one operation: from a claimed lease to a committed decision.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use tracing::Instrument;

use super::Engine;
use super::port::LeasedPort;
use crate::clock;
use crate::driver::{
    Advance, CauseKind, Change, ClusterDriver, ClusterView, DriverContext, DriverError,
};
use crate::event::EventKind;
use crate::operation::{Draft, Lease, Operation, StepResult};
use crate::retry::Retry;
use crate::store::{ClusterRecord, StoreError};

/// The lease is another's now, or the operation has ended: nothing more may be done.
#[derive(Debug)]
struct Lost;

impl Engine {
    /// Works on a claimed operation until its next pause, keeping the lease alive meanwhile.
    pub(super) async fn step(&self, operation: Operation) {
        let Some(lease) = operation.lease else { return };
        let span = tracing::info_span!(
            "operation",
            id = %operation.id,
            cluster = %operation.cluster,
            change = %operation.change.kind(),
            attempt = operation.attempts + 1,
        );
        let mut work = Box::pin(self.work(operation, lease)).instrument(span);
        let mut work = Pin::new(&mut work);
        let mut until = lease.until;
        let margin = self.0.config.lease / 10;
        loop {
            tokio::select! {
                biased;
                ended = self.while_leased(work.as_mut(), until - margin) => if ended { return },
                () = self.0.clock.sleep(self.0.config.lease / 3) => {}
            }
            let next = self.0.clock.now() + self.0.config.lease;
            // The work goes on meanwhile: it may hold the very connection to the store that the renewal waits for.
            let mut renewal = self.0.store.renew(&lease, next);
            let renewed = tokio::select! {
                biased;
                renewed = &mut renewal => renewed,
                ended = self.while_leased(work.as_mut(), until - margin) => {
                    if ended {
                        return;
                    }
                    tokio::select! {
                        biased;
                        renewed = renewal => renewed,
                        () = self.0.clock.sleep(self.0.config.lease) => return,
                    }
                }
            };
            match renewed {
                Ok(()) => until = next,
                Err(StoreError::LeaseLost { .. }) => return,
                Err(error) => {
                    tracing::warn!(%error, "a lease was not renewed");
                    if self.0.clock.now() + margin >= until {
                        self.0.clock.sleep(self.0.config.first_pause).await;
                    }
                }
            }
        }
    }

    /// Works until the end, which is true, or until the given time, which is false: a process that was frozen must not go on as if no time
    /// had passed. Once a lease is near its end nothing more is done before it is renewed, and where that fails nothing at all.
    async fn while_leased(
        &self,
        mut work: Pin<&mut (impl Future<Output = Result<(), Lost>> + Send)>,
        end: DateTime<Utc>,
    ) -> bool {
        std::future::poll_fn(|cx| {
            if self.0.clock.now() >= end {
                return Poll::Ready(false);
            }
            work.as_mut().poll(cx).map(|_| true)
        })
        .await
    }

    async fn work(&self, operation: Operation, lease: Lease) -> Result<(), Lost> {
        let mut leftovers = Vec::new();
        let again = operation.attempts > 0;
        let result = match self.perform(&operation, lease, &mut leftovers).await {
            Ok(result) => result,
            Err(Lost) => return Err(Lost),
        };
        self.commit(lease, |draft| {
            if let Some(operation) = draft.operation_mut(lease.operation) {
                operation.leftovers.clone_from(&leftovers);
                operation.attempts += u32::from(again);
            }
            for left in &leftovers {
                let text = format!("left over: {} {} ({})", left.kind, left.name, left.id);
                draft.tell(Some(lease.operation), EventKind::Warning { text });
            }
            draft.begin(lease.operation);
            let mut rng = clock::rng(&*self.0.clock);
            let pace = self.0.config.pace();
            draft.after_step(lease.operation, result.again(), &pace, &mut rng);
        })
        .await
    }

    /// Everything of a step that is not its decision.
    async fn perform(
        &self,
        operation: &Operation,
        lease: Lease,
        leftovers: &mut Vec<crate::driver::Leftover>,
    ) -> Result<StepResult, Lost> {
        let record = match self.0.store.load(operation.cluster).await {
            Ok(Some(record)) => record,
            Ok(None) => return Err(Lost),
            Err(error) => return Ok(store_away(&error)),
        };
        let ours = |record: &ClusterRecord| {
            let mut all = record.operations.iter();
            all.find(|o| o.id == operation.id && o.fence == lease.fence)
                .cloned()
        };
        let operation = ours(&record).ok_or(Lost)?;
        if operation.superseded_by.is_some() {
            let pause = Duration::ZERO;
            return Ok(StepResult::Advanced(Advance::again(pause, "", 0, 0)));
        }
        let driver = match self.driver_of(&record.view) {
            Ok(driver) => driver,
            Err(error) => return Ok(later(error.to_string())),
        };
        if !operation.preflight_passed {
            let look = driver.preflight(&record.view, &operation.change);
            match self.guarded(&*driver, look).await {
                Ok(()) => {}
                Err(result) => return Ok(result),
            }
        }
        if operation.attempts == 0 {
            self.commit(lease, |draft| {
                draft.begin(lease.operation);
                if let Some(operation) = draft.operation_mut(lease.operation) {
                    operation.preflight_passed = true;
                    operation.attempts = 1;
                }
            })
            .await?;
        }
        let cx = self.driver_context(&operation, lease);
        let step = driver.advance(&cx, &record.view, &operation.change);
        let advance = match self.guarded(&*driver, step).await {
            Ok(advance) => advance,
            Err(result) => return Ok(result),
        };
        if operation.change == Change::Delete && advance == Advance::Done {
            match self.guarded(&*driver, driver.leftovers(&record.view)).await {
                Ok(left) => *leftovers = left,
                Err(result) => return Ok(result),
            }
        }
        Ok(StepResult::Advanced(advance))
    }

    /// Runs a call of a driver so that neither a panic nor a hang of it reaches the engine.
    pub(super) async fn guarded<T>(
        &self,
        driver: &dyn ClusterDriver,
        call: impl Future<Output = Result<T, DriverError>> + Send,
    ) -> Result<T, StepResult> {
        let limit = self.0.config.advance_timeout;
        tokio::select! {
            biased;
            done = AssertUnwindSafe(call).catch_unwind() => match done {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(later(format!("driver {} panicked", driver.name()))),
            },
            () = self.0.clock.sleep(limit) => Err(later(format!(
                "driver {} did not return within {} s",
                driver.name(),
                limit.as_secs()
            ))),
        }
    }

    /// Calls the driver once more for an operation that has ended, as an engine would whose word of the end was lost. Nothing can be
    /// written by it.
    #[cfg(feature = "conformance")]
    pub(crate) async fn advance_again(
        &self,
        cx: &super::RequestContext,
        id: crate::id::OperationId,
    ) -> Result<(), crate::error::Error> {
        let operation = self.operation(cx, id).await?;
        let missing = || crate::error::Error::not_found("cluster", operation.cluster.to_string());
        let record = self.0.store.load(operation.cluster).await?;
        let record = record.ok_or_else(missing)?;
        let driver = self.driver_of(&record.view)?;
        let reading = self.reading_context(&record.view, operation.id);
        loop {
            let call = driver.advance(&reading, &record.view, &operation.change);
            match call.await {
                // The lease is gone, so a driver that wants to write is stopped before any effect, as it would be for a zombie.
                Ok(_) | Err(DriverError::Checkpoint(_)) => return Ok(()),
                Err(error) if error.retry() == Retry::Never => return Err(error.into()),
                Err(_) => self.0.clock.sleep(self.0.config.first_pause).await,
            }
        }
    }

    fn driver_context(&self, operation: &Operation, lease: Lease) -> DriverContext {
        let port = LeasedPort {
            inner: Arc::clone(&self.0),
            cluster: operation.cluster,
            scope: operation.scope,
            lease: Some(lease),
        };
        DriverContext::new(
            operation.id,
            operation.cluster,
            operation.deadline,
            operation.cancelled,
            Arc::clone(&self.0.clock),
            Arc::clone(&self.0.secrets),
            Arc::new(port),
        )
    }

    /// A context outside any operation: memos can be read, nothing can be written.
    pub(super) fn reading_context(
        &self,
        view: &ClusterView,
        operation: crate::id::OperationId,
    ) -> DriverContext {
        let port = LeasedPort {
            inner: Arc::clone(&self.0),
            cluster: view.cluster.id,
            scope: crate::operation::LockScope::Exclusive,
            lease: None,
        };
        let now = self.0.clock.now();
        DriverContext::new(
            operation,
            view.cluster.id,
            now + self.0.config.advance_timeout,
            false,
            Arc::clone(&self.0.clock),
            Arc::clone(&self.0.secrets),
            Arc::new(port),
        )
    }

    /// Makes a decision true, deciding anew where the cluster has changed meanwhile and trying on while the store is away.
    async fn commit(
        &self,
        lease: Lease,
        decide: impl Fn(&mut Draft) + Send + Sync,
    ) -> Result<(), Lost> {
        let mut errors = 0;
        loop {
            match self.try_commit(lease, &decide).await {
                Ok(()) => return Ok(()),
                Err(StoreError::Stale { .. }) => {}
                Err(StoreError::LeaseLost { .. }) => return Err(Lost),
                Err(error) => {
                    tracing::warn!(%error, "a decision was not stored yet");
                    errors += 1;
                    let pause = self.0.config.first_pause * errors.min(10);
                    self.0.clock.sleep(pause).await;
                }
            }
        }
    }

    async fn try_commit(
        &self,
        lease: Lease,
        decide: &(impl Fn(&mut Draft) + Sync),
    ) -> Result<(), StoreError> {
        let operation = lease.operation;
        let claimed = self
            .0
            .store
            .operation(&crate::store::Visibility::Everything, operation)
            .await?;
        let Some(claimed) = claimed else {
            return Err(StoreError::LeaseLost { operation });
        };
        let Some(record) = self.0.store.load(claimed.cluster).await? else {
            return Err(StoreError::LeaseLost { operation });
        };
        let ours = |o: &Operation| o.id == operation && o.fence == lease.fence;
        if !record.operations.iter().any(ours) {
            return Err(StoreError::LeaseLost { operation });
        }
        let mut draft = Draft::of(record, self.0.clock.now());
        draft.guard_fence(operation, lease.fence);
        decide(&mut draft);
        self.0.store.commit(draft.into_commit()).await?;
        Ok(())
    }
}

const fn later(sentence: String) -> StepResult {
    StepResult::Error {
        sentence,
        retry: Retry::Later,
        kind: CauseKind::Unknown,
    }
}

fn store_away(error: &StoreError) -> StepResult {
    later(error.to_string())
}
