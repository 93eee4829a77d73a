//! One step of one operation: from a claimed lease to a committed decision.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use tracing::Instrument;

use super::credentials::Halt;
use super::port::LeasedPort;
use super::{Engine, telemetry};
use crate::clock;
use crate::driver::{
    Advance, Capability, Change, ClusterDriver, ClusterView, DriverContext, DriverError,
};
use crate::event::EventKind;
use crate::operation::{Draft, Lease, Operation, StepResult};
use crate::retry::Retry;
use crate::store::{ClusterRecord, StoreError};

/// The lease is another's now, or the operation has ended: nothing more may be done.
#[derive(Debug)]
pub(super) struct Lost;

impl Engine {
    /// Works on a claimed operation until its next pause, keeping the lease alive meanwhile.
    pub(super) async fn step(&self, operation: Operation) {
        let Some(lease) = operation.lease else { return };
        let span = tracing::info_span!(
            "operation",
            id = %operation.id,
            cluster = %operation.cluster,
            change = %operation.change.kind(),
            project = %operation.project_id,
            request = %operation.request_id,
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
        let (kind, accepted, was) = (
            operation.change.kind(),
            operation.created_at,
            operation.outcome,
        );
        let began = self.0.clock.now();
        let result = match self.perform(&operation, lease, &mut leftovers).await {
            Ok(result) | Err(Halt::With(result)) => result,
            Err(Halt::Lost) => return Err(Lost),
        };
        let ended = Mutex::new(None);
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
            let outcome = draft.operation(lease.operation).and_then(|o| o.outcome);
            *ended.lock().expect("no holder of this lock panics") = outcome;
        })
        .await?;
        let now = self.0.clock.now();
        let took =
            |since: chrono::DateTime<chrono::Utc>| (now - since).to_std().unwrap_or_default();
        telemetry::step(kind, result.name(), took(began));
        let ended = ended.into_inner().expect("no holder of this lock panics");
        if let Some(outcome) = ended.filter(|_| was != ended) {
            telemetry::ended(kind, outcome, took(accepted));
            tracing::info!(%outcome, "the operation ended");
        }
        Ok(())
    }

    /// Everything of a step that is not its decision.
    async fn perform(
        &self,
        operation: &Operation,
        lease: Lease,
        leftovers: &mut Vec<crate::driver::Leftover>,
    ) -> Result<StepResult, Halt> {
        let record = match self.0.store.load(operation.cluster).await {
            Ok(Some(record)) => record,
            Ok(None) => return Err(Halt::Lost),
            Err(error) => return Ok(StepResult::later(error.to_string())),
        };
        let ours = |record: &ClusterRecord| {
            let mut all = record.operations.iter();
            all.find(|o| o.id == operation.id && o.fence == lease.fence)
                .cloned()
        };
        let operation = ours(&record).ok_or(Halt::Lost)?;
        if operation.superseded_by.is_some() {
            let pause = Duration::ZERO;
            return Ok(StepResult::Advanced(Advance::again(pause, "", 0, 0)));
        }
        let driver = match self.driver_of(&record.view) {
            Ok(driver) => driver,
            Err(error) => return Ok(StepResult::later(error.to_string())),
        };
        self.provide_credential(&operation, lease, &record.view)
            .await?;
        if !operation.preflight_passed {
            let look = driver.preflight(&record.view, &operation.change);
            match self.guarded(&*driver, look).await {
                Ok(()) => {}
                Err(result) => {
                    self.after_refusal(&operation, lease, &record.view, &result)
                        .await?;
                    return Ok(result);
                }
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
        let engine_only = operation.change == Change::RotateCredential
            && !driver.capabilities().has(Capability::RotateCredential);
        let advance = if engine_only {
            Advance::Done
        } else {
            let step = driver.advance(&cx, &record.view, &operation.change);
            self.guarded(&*driver, step).await?
        };
        if advance == Advance::Done {
            match operation.change {
                Change::RotateCredential => self.retire_credentials(lease, &record.view).await?,
                Change::Delete => {
                    let look = driver.leftovers(&record.view);
                    *leftovers = self.guarded(&*driver, look).await?;
                    let more = self.withdraw_credentials(lease, &record.view).await?;
                    leftovers.extend(more);
                    if let Err(error) = self.forget_secrets(operation.cluster).await {
                        return Ok(DriverError::from(error).into());
                    }
                }
                _ => {}
            }
        }
        Ok(StepResult::Advanced(advance))
    }

    /// A creation that ends before anything was made leaves no credential behind until its cluster is deleted (pitfall `P-25`).
    async fn after_refusal(
        &self,
        operation: &Operation,
        lease: Lease,
        view: &ClusterView,
        result: &StepResult,
    ) -> Result<(), Halt> {
        let ends = matches!(
            result,
            StepResult::Error {
                retry: Retry::Never,
                ..
            }
        );
        let creates = matches!(operation.change, Change::Create | Change::Adopt { .. });
        if !(ends && creates) || operation.attempts > 0 || self.0.credentials.is_none() {
            return Ok(());
        }
        match self.withdraw_credentials(lease, view).await {
            Err(Halt::Lost) => Err(Halt::Lost),
            Err(Halt::With(why)) => {
                // The deletion of the cluster will try again.
                tracing::warn!(?why, "the credential of a refused creation was not removed");
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    /// Runs a call of a driver so that neither a panic nor a hang of it reaches the engine.
    pub(super) async fn guarded<T>(
        &self,
        driver: &dyn ClusterDriver,
        call: impl Future<Output = Result<T, DriverError>> + Send,
    ) -> Result<T, StepResult> {
        let name = format!("driver {}", driver.name());
        self.bounded(&name, call).await
    }

    /// Runs a call so that neither a panic nor a hang of it reaches the engine.
    pub(super) async fn bounded<T, E: Into<StepResult>>(
        &self,
        who: &str,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, StepResult> {
        let limit = self.0.config.advance_timeout;
        tokio::select! {
            biased;
            done = AssertUnwindSafe(call).catch_unwind() => match done {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(StepResult::later(format!("{who} panicked"))),
            },
            () = self.0.clock.sleep(limit) => Err(StepResult::later(format!(
                "{who} did not return within {} s",
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
