//! A limit on each call.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::{DriverCall, DriverLayer};
use crate::clock::Clock;
use crate::driver::DriverError;
use crate::retry::Retry;

/// Ends a call that takes too long: it is dropped at its next await and counts as one that was not answered, so it is tried again.
#[derive(Debug, Clone)]
pub struct Timeout {
    limit: Duration,
    clock: Arc<dyn Clock>,
}

impl Timeout {
    /// Calls may take `limit`. The engine's own limit (`advance_timeout`, 300 s by default) stays above it.
    pub fn new(limit: Duration, clock: Arc<dyn Clock>) -> Self {
        Self { limit, clock }
    }
}

impl DriverLayer for Timeout {
    async fn around<'a, T, F>(&'a self, call: DriverCall<'a>, run: F) -> Result<T, DriverError>
    where
        T: Send + 'a,
        F: Fn() -> BoxFuture<'a, Result<T, DriverError>> + Send + Sync + 'a,
    {
        tokio::select! {
            biased;
            ended = run() => ended,
            () = self.clock.sleep(self.limit) => Err(DriverError::Unavailable {
                service: format!("driver {}", call.driver),
                reason: format!("{} did not return within {:?}", call.method, self.limit),
                retry: Retry::Later,
                source: None,
            }),
        }
    }
}
