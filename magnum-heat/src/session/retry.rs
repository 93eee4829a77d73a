//! When a call is repeated, and after which pause.

use std::{sync::Mutex, time::Duration};

use rand::{Rng, SeedableRng, rngs::SmallRng};

/// When and how long calls are repeated.
///
/// Only idempotent calls are, and only after a lost answer or 408, 429, 502, 503, 504; a call that certainly was not
/// sent (no connection) may be repeated whatever it is. `Retry-After` is honoured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Tries in all, the first included. Default 5.
    pub attempts: u32,
    /// Pause before the second try; doubles each time. Default 300 ms.
    pub first_pause: Duration,
    /// Longest pause of our own. Default 10 s.
    pub longest_pause: Duration,
    /// Longest `Retry-After` that is waited for; a longer one ends the call with that error. Default 60 s.
    pub longest_retry_after: Duration,
    /// No pause is begun that would end later than this after the call began. Default 2 min.
    pub budget: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_pause: Duration::from_millis(300),
            longest_pause: Duration::from_secs(10),
            longest_retry_after: Duration::from_secs(60),
            budget: Duration::from_secs(120),
        }
    }
}

impl RetryPolicy {
    /// Never repeats anything.
    pub fn none() -> Self {
        Self {
            attempts: 1,
            ..Self::default()
        }
    }

    /// The same with another number of tries.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The same with other pauses.
    #[must_use]
    pub fn with_pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.first_pause = first;
        self.longest_pause = longest;
        self
    }

    /// Pause after the given failed try (1, 2, ...); `random` is in 0..1. It grows, and at least half of it is fixed.
    pub(crate) fn pause(&self, failed: u32, random: f64) -> Duration {
        let doubled = self
            .first_pause
            .saturating_mul(1 << failed.saturating_sub(1).min(16));
        doubled
            .min(self.longest_pause)
            .mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
    }

    /// The pause before the next try, or `None` when there is no next one.
    pub(super) fn next(
        &self,
        failed: u32,
        spent: Duration,
        asked: Option<Duration>,
        pauses: &Pauses,
    ) -> Option<Duration> {
        if failed >= self.attempts || asked.is_some_and(|a| a > self.longest_retry_after) {
            return None;
        }
        let own = self.pause(failed, pauses.random());
        // The random part goes on top of what was asked for, so that many callers do not come back at once.
        let pause = asked.map_or(own, |asked| asked + own.min(Duration::from_secs(1)));
        (spent + pause <= self.budget).then_some(pause)
    }
}

/// Source of the random part of pauses.
#[derive(Debug)]
pub(super) struct Pauses(Mutex<SmallRng>);

impl Pauses {
    pub(super) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(
            seed.map_or_else(SmallRng::from_os_rng, SmallRng::seed_from_u64),
        ))
    }

    fn random(&self) -> f64 {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sp_05_pauses_grow_and_differ() {
        let policy = RetryPolicy::default();
        let series = |seed| {
            let pauses = Pauses::new(Some(seed));
            (1..4)
                .map(|n| policy.next(n, Duration::ZERO, None, &pauses).unwrap())
                .collect::<Vec<_>>()
        };
        let (a, b) = (series(1), series(2));
        assert!(a.windows(2).all(|w| w[0] <= w[1]), "{a:?}");
        assert_ne!(a, b);
    }

    #[test]
    fn sp_05_retry_after_and_budget() {
        let policy = RetryPolicy::default();
        let pauses = Pauses::new(Some(3));
        let asked = Duration::from_secs(7);
        assert!(
            policy
                .next(1, Duration::ZERO, Some(asked), &pauses)
                .unwrap()
                >= asked
        );
        assert_eq!(
            policy.next(1, Duration::ZERO, Some(Duration::from_secs(600)), &pauses),
            None
        );
        assert_eq!(
            policy.next(1, Duration::from_secs(119), Some(asked), &pauses),
            None
        );
        assert_eq!(policy.next(5, Duration::ZERO, None, &pauses), None);
        assert_eq!(
            RetryPolicy::none().next(1, Duration::ZERO, None, &pauses),
            None
        );
    }
}
