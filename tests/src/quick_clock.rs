//! Time that goes faster for an engine than for the cloud under it.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use magnum_core::{Clock, SystemClock};

/// A clock that goes so many times as fast as the real one. What an engine waits for is then seen as rarely as with its real intervals:
/// the cloud does a lot between two looks.
///
/// It begins an hour ago, so that what the engine signs is valid for services that read the real time.
#[derive(Debug)]
pub struct QuickClock {
    times: u32,
    began: Instant,
    start: DateTime<Utc>,
}

impl QuickClock {
    /// Goes `times` as fast, from now on.
    #[must_use]
    pub fn new(times: u32) -> Self {
        Self {
            times,
            began: Instant::now(),
            start: Utc::now() - Duration::from_secs(3600),
        }
    }
}

#[async_trait]
impl Clock for QuickClock {
    fn now(&self) -> DateTime<Utc> {
        self.start + self.began.elapsed() * self.times
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration / self.times).await;
    }

    fn random(&self) -> u64 {
        SystemClock.random()
    }
}
