//! Ids, random or from a seed.

use std::sync::{Mutex, PoisonError};

use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// Makes ids. With a seed, the same sequence at each first start.
#[derive(Debug)]
pub struct Ids(Mutex<SmallRng>);

impl Ids {
    /// A generator. `boots` counts how often the same journal was started, so that a restart never repeats ids.
    #[must_use]
    pub fn new(seed: Option<u64>, boots: u64) -> Self {
        let rng = match seed {
            Some(seed) => SmallRng::seed_from_u64(seed ^ boots.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            None => SmallRng::from_os_rng(),
        };
        Self(Mutex::new(rng))
    }

    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fill_bytes(&mut bytes);
        bytes
    }

    /// A version 4 UUID with dashes.
    #[must_use]
    pub fn uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.bytes())
            .into_uuid()
            .hyphenated()
            .to_string()
    }

    /// A version 4 UUID without dashes, as Keystone makes them.
    #[must_use]
    pub fn hex(&self) -> String {
        uuid::Builder::from_random_bytes(self.bytes())
            .into_uuid()
            .simple()
            .to_string()
    }

    /// A number from 0 inclusive to 1 exclusive.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let bits = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next_u32();
        f64::from(bits) / 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids_and_a_restart_gives_others() {
        let first = Ids::new(Some(7), 0).uuid();
        assert_eq!(first, Ids::new(Some(7), 0).uuid());
        assert_ne!(first, Ids::new(Some(7), 1).uuid());
    }
}
