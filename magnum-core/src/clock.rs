//! Time and randomness as an injected effect, so that decisions repeat exactly under a seed.

use std::fmt::Debug;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// The engine's source of time and of randomness for names and pauses (never for keys: those come from the crypto library).
#[async_trait]
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> DateTime<Utc>;

    /// Waits for at least `duration`. Cancel safe: dropping the future ends the wait.
    async fn sleep(&self, duration: Duration);

    /// Sixty-four random bits.
    fn random(&self) -> u64;
}

/// The system's clock and randomness.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self) -> u64 {
        SmallRng::from_os_rng().next_u64()
    }
}

/// A clock that stands still until it is moved; sleeping moves it. For tests of single calls: where several tasks sleep at once, each
/// sleep moves it for all, so whole engines want a [`SimulatedClock`].
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<(DateTime<Utc>, SmallRng)>,
}

impl ManualClock {
    /// A clock at `start` whose randomness repeats for equal seeds.
    #[must_use]
    pub fn new(start: DateTime<Utc>, seed: u64) -> Self {
        Self {
            state: Mutex::new((start, SmallRng::seed_from_u64(seed))),
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        let mut state = self.state.lock().expect("no holder of this lock panics");
        state.0 += duration;
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        self.state.lock().expect("no holder of this lock panics").0
    }

    async fn sleep(&self, duration: Duration) {
        self.advance(duration);
        tokio::task::yield_now().await;
    }

    fn random(&self) -> u64 {
        self.state
            .lock()
            .expect("no holder of this lock panics")
            .1
            .next_u64()
    }
}

/// A clock that follows tokio's: under a runtime with paused time, sleeping costs nothing and any number of tasks may sleep at once.
/// For tests and simulations that run whole engines. Its randomness repeats for equal seeds.
#[derive(Debug)]
pub struct SimulatedClock {
    start: DateTime<Utc>,
    began: tokio::time::Instant,
    rng: Mutex<SmallRng>,
}

impl SimulatedClock {
    /// A clock that shows `start` now.
    #[must_use]
    pub fn new(start: DateTime<Utc>, seed: u64) -> Self {
        Self {
            start,
            began: tokio::time::Instant::now(),
            rng: Mutex::new(SmallRng::seed_from_u64(seed)),
        }
    }
}

#[async_trait]
impl Clock for SimulatedClock {
    fn now(&self) -> DateTime<Utc> {
        self.start + self.began.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self) -> u64 {
        let mut rng = self.rng.lock().expect("no holder of this lock panics");
        rng.next_u64()
    }
}

/// A random generator seeded from a clock.
#[must_use]
pub(crate) fn rng(clock: &dyn Clock) -> SmallRng {
    SmallRng::seed_from_u64(clock.random())
}
