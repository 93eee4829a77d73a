//! Further tries of a call that may work later.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::{DriverCall, DriverLayer};
use crate::clock::{self, Clock};
use crate::driver::DriverError;
use crate::operation::pause;
use crate::retry::Retry as MayRetry;

/// Tries a call again at once, after short pauses, where the error says that it may help. What still fails then is the engine's: it
/// counts the error, shows it, and comes back after longer pauses.
///
/// A lost lease and wrong input are never tried again. Where a service asks for more patience than
/// [`longest_pause`](Self::longest_pause), the call ends with its error at once, so that the engine can do other things meanwhile.
#[derive(Debug, Clone)]
pub struct Retry {
    attempts: u32,
    first_pause: Duration,
    longest_pause: Duration,
    clock: Arc<dyn Clock>,
}

impl Retry {
    /// Three tries in all, with pauses of 200 ms doubled up to 5 s, spread by a quarter.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            attempts: 3,
            first_pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(5),
            clock,
        }
    }

    /// So many tries in all; at least one is made.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// The pause before the second try.
    #[must_use]
    pub const fn first_pause(mut self, pause: Duration) -> Self {
        self.first_pause = pause;
        self
    }

    /// The longest pause between tries.
    #[must_use]
    pub const fn longest_pause(mut self, pause: Duration) -> Self {
        self.longest_pause = pause;
        self
    }

    /// The pause before the next try after `failed` ones; none where there is no next.
    fn next(&self, failed: u32, error: &DriverError) -> Option<Duration> {
        let asked = match error.retry() {
            MayRetry::Never => return None,
            MayRetry::After(asked) if asked > self.longest_pause => return None,
            other => other,
        };
        let mut rng = clock::rng(&*self.clock);
        let (first, longest) = (self.first_pause, self.longest_pause);
        (failed < self.attempts).then(|| pause(failed, first, longest, asked, &mut rng))
    }
}

impl DriverLayer for Retry {
    async fn around<'a, T, F>(&'a self, call: DriverCall<'a>, run: F) -> Result<T, DriverError>
    where
        T: Send + 'a,
        F: Fn() -> BoxFuture<'a, Result<T, DriverError>> + Send + Sync + 'a,
    {
        let mut failed = 0;
        loop {
            let error = match run().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            failed += 1;
            let Some(pause) = self.next(failed, &error) else {
                return Err(error);
            };
            tracing::debug!(driver = call.driver, method = call.method, %error, failed, ?pause, "tried again");
            self.clock.sleep(pause).await;
        }
    }
}
