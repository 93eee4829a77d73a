//! Time as a seam, so that tests can set it.

use chrono::{DateTime, Utc};

/// Tells the time. Sleeping goes through tokio, whose own clock tests can pause.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Now.
    fn now(&self) -> DateTime<Utc>;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}
