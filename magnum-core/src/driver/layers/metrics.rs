//! Figures of each call.

use std::time::Instant;

use futures::future::BoxFuture;

use super::{DriverCall, DriverLayer};
use crate::driver::{Advance, ChangeKind, DriverError};
use crate::retry::Retry;

/// Counts and times calls, by the recorder that the process has installed for the crate `metrics`.
///
/// | name | kind | labels |
/// |---|---|---|
/// | `magnum_driver_calls_total` | counter | `driver`, `method`, `change`, `result` |
/// | `magnum_driver_call_seconds` | histogram | `driver`, `method`, `change` |
/// | `magnum_driver_advances_total` | counter | `driver`, `change`, `advance` (`done`, `again`, `failed`) |
///
/// `result` is `ok`, `retried` (an error after which the engine calls again), `error`, or `dropped` (the future was dropped). `change`
/// is empty for calls that concern none. No label holds the name or id of a cluster, so that their number stays bounded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Metrics;

impl Metrics {
    /// The layer.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

fn label(change: Option<ChangeKind>) -> &'static str {
    change.map_or("", ChangeKind::as_str)
}

/// Notes the end of a call when it goes out of scope, also when the call was dropped.
struct Noted<'a> {
    call: DriverCall<'a>,
    began: Instant,
    result: &'static str,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        let DriverCall {
            driver,
            method,
            change,
            ..
        } = self.call;
        let (driver, change) = (driver.to_owned(), label(change));
        metrics::counter!(
            "magnum_driver_calls_total",
            "driver" => driver.clone(), "method" => method, "change" => change, "result" => self.result
        )
        .increment(1);
        metrics::histogram!("magnum_driver_call_seconds", "driver" => driver, "method" => method, "change" => change)
            .record(self.began.elapsed().as_secs_f64());
    }
}

impl DriverLayer for Metrics {
    async fn around<'a, T, F>(&'a self, call: DriverCall<'a>, run: F) -> Result<T, DriverError>
    where
        T: Send + 'a,
        F: Fn() -> BoxFuture<'a, Result<T, DriverError>> + Send + Sync + 'a,
    {
        let mut noted = Noted {
            call,
            began: Instant::now(),
            result: "dropped",
        };
        let result = run().await;
        noted.result = match &result {
            Ok(_) => "ok",
            Err(error) if error.retry() == Retry::Never => "error",
            Err(_) => "retried",
        };
        result
    }

    fn advanced(&self, call: DriverCall<'_>, advance: &Advance) {
        let ended = match advance {
            Advance::Done => "done",
            Advance::Again { .. } => "again",
            Advance::Failed(_) => "failed",
        };
        metrics::counter!(
            "magnum_driver_advances_total",
            "driver" => call.driver.to_owned(), "change" => label(call.change), "advance" => ended
        )
        .increment(1);
    }
}
