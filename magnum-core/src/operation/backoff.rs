//! Pauses that grow while a service is away.

use std::time::Duration;

use rand::Rng;

use crate::retry::Retry;

/// The pause before try number `errors + 1` after `errors` failures in a row: doubled each time from `first` up to `most`,
/// spread by a quarter so that many tasks do not come back at once, and never shorter than what the service asked for.
pub(crate) fn pause(
    errors: u32,
    first: Duration,
    most: Duration,
    asked: Retry,
    rng: &mut impl Rng,
) -> Duration {
    let doubled = first.saturating_mul(1u32 << errors.saturating_sub(1).min(16));
    let spread = doubled.min(most).mul_f64(rng.random_range(0.75..=1.25));
    match asked {
        Retry::After(least) => spread.max(least),
        Retry::Later | Retry::Never => spread,
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    #[test]
    fn sm_08_waits_grow_to_a_limit_and_honour_what_the_service_asked() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut of = |errors, asked| {
            pause(
                errors,
                Duration::from_secs(2),
                Duration::from_secs(60),
                asked,
                &mut rng,
            )
        };
        let waits: Vec<_> = [1, 3, 5].map(|n| of(n, Retry::Later)).to_vec();
        assert!(waits.is_sorted(), "{waits:?}");
        assert!(of(40, Retry::Later) <= Duration::from_secs(75));
        assert!(of(1, Retry::After(Duration::from_secs(90))) >= Duration::from_secs(90));
    }
}
