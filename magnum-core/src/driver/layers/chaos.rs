//! Trouble on purpose.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::Poll;

use futures::future::BoxFuture;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::{DriverCall, DriverLayer};
use crate::driver::DriverError;
use crate::retry::Retry;

/// Lets some calls go wrong, the same ones for the same seed and order of calls: refused before they begin, with their answer lost after
/// they took effect, or dropped at one of their awaits. For tests and game days; a driver that keeps the contract bears all of it.
#[derive(Debug)]
pub struct Chaos {
    refused: f64,
    lost: f64,
    dropped: f64,
    state: Mutex<(SmallRng, u32)>,
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Refused,
    Lost,
    /// After so many polls.
    Dropped(u32),
}

impl Chaos {
    /// No trouble yet; without end once there is.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self {
            refused: 0.0,
            lost: 0.0,
            dropped: 0.0,
            state: Mutex::new((SmallRng::seed_from_u64(seed), u32::MAX)),
        }
    }

    /// This share of calls is refused: the driver is not even called. From 0 to 1.
    #[must_use]
    pub const fn refusing(mut self, share: f64) -> Self {
        self.refused = share;
        self
    }

    /// The answers of this share of calls are lost: the driver did what it did, and an error is returned. From 0 to 1.
    #[must_use]
    pub const fn losing(mut self, share: f64) -> Self {
        self.lost = share;
        self
    }

    /// This share of calls is dropped at one of their first awaits, as a crash would. From 0 to 1.
    #[must_use]
    pub const fn dropping(mut self, share: f64) -> Self {
        self.dropped = share;
        self
    }

    /// After so many troubled calls there is no more trouble.
    #[must_use]
    pub fn at_most(self, calls: u32) -> Self {
        self.state().1 = calls;
        self
    }

    /// How many more calls may go wrong.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.state().1
    }

    fn state(&self) -> MutexGuard<'_, (SmallRng, u32)> {
        self.state.lock().expect("no holder of this lock panics")
    }

    fn draw(&self) -> Option<Trouble> {
        let (rng, left) = &mut *self.state();
        let drawn: f64 = rng.random();
        let polls = rng.random_range(1..20);
        let shares = [
            (self.refused, Trouble::Refused),
            (self.lost, Trouble::Lost),
            (self.dropped, Trouble::Dropped(polls)),
        ];
        let mut below = 0.0;
        let trouble = shares.into_iter().find_map(|(share, trouble)| {
            below += share;
            (drawn < below).then_some(trouble)
        });
        let trouble = trouble.filter(|_| *left > 0);
        *left = left.saturating_sub(u32::from(trouble.is_some()));
        trouble
    }
}

fn away(call: DriverCall<'_>, what: &str) -> DriverError {
    DriverError::Unavailable {
        service: format!("driver {}", call.driver),
        reason: format!("{} was {what} on purpose", call.method),
        retry: Retry::Later,
        source: None,
    }
}

/// Polls a future at most so many times; none where it is not done then.
async fn polled<T>(mut future: Pin<&mut (dyn Future<Output = T> + Send)>, polls: u32) -> Option<T> {
    let mut left = polls;
    std::future::poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

impl DriverLayer for Chaos {
    async fn around<'a, T, F>(&'a self, call: DriverCall<'a>, run: F) -> Result<T, DriverError>
    where
        T: Send + 'a,
        F: Fn() -> BoxFuture<'a, Result<T, DriverError>> + Send + Sync + 'a,
    {
        match self.draw() {
            None => run().await,
            Some(Trouble::Refused) => Err(away(call, "refused")),
            Some(Trouble::Lost) => {
                run().await?;
                Err(away(call, "carried out and its answer lost"))
            }
            Some(Trouble::Dropped(polls)) => match polled(run().as_mut(), polls).await {
                Some(ended) => ended,
                None => Err(away(call, "dropped")),
            },
        }
    }
}
