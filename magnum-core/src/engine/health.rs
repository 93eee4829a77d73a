//! Whether the engine itself is well, and whether it has the key that its store was written with.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::Engine;
use crate::error::Error;
use crate::id::ClusterId;
use crate::sealer::{SealContext, SealError};
use crate::secret::Secret;
use crate::store::StoreError;

/// What the check of the sealing key keeps, sealed, in the store. No secret.
const KNOWN: &[u8] = b"the value by which a sealing key is known";
const PURPOSE: &str = "engine.known-value";

/// What the engine counts of itself.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    loops: AtomicU32,
    busy: AtomicU32,
    last_round: AtomicI64,
    key_fits: AtomicBool,
}

/// Counts a running loop for as long as it lives.
#[derive(Debug)]
pub(super) struct Beating<'a>(&'a Pulse);

impl Drop for Beating<'_> {
    fn drop(&mut self) {
        self.0.loops.fetch_sub(1, Ordering::Relaxed);
        self.0.busy.store(0, Ordering::Relaxed);
    }
}

impl Pulse {
    pub(super) fn begin(&self) -> Beating<'_> {
        self.loops.fetch_add(1, Ordering::Relaxed);
        Beating(self)
    }

    pub(super) fn beat(&self, now: DateTime<Utc>, busy: usize) {
        let busy = u32::try_from(busy).unwrap_or(u32::MAX);
        self.busy.store(busy, Ordering::Relaxed);
        self.last_round
            .store(now.timestamp_micros(), Ordering::Relaxed);
    }
}

/// How an engine is, at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EngineHealth {
    /// Why the store does not answer, where it does not.
    pub store_problem: Option<String>,
    /// Why the sealing key cannot be used, where it cannot: it is another than the store was written with, or its service is away.
    pub key_problem: Option<String>,
    /// Whether [`Engine::run`] is at work in this process.
    pub running: bool,
    /// When it last looked for work.
    pub last_round: Option<DateTime<Utc>>,
    /// How many operations it is working on now.
    pub busy: u32,
    /// How many it works on at most.
    pub workers: u32,
    /// How long the most overdue step has been waiting for any engine on this store; zero where none is due.
    pub lag: Duration,
    /// Whether it has stalled: it should have looked for work and has not.
    pub stalled: bool,
}

impl EngineHealth {
    /// Whether nothing is wrong. An engine that does not run, but answers requests, can be healthy.
    #[must_use]
    pub const fn is_healthy(&self) -> bool {
        self.store_problem.is_none() && self.key_problem.is_none() && !self.stalled
    }
}

impl Engine {
    /// How the engine is. One reading of the store and, until it has succeeded once, one use of the sealing key; no cloud is called.
    pub async fn health(&self) -> EngineHealth {
        let now = self.0.clock.now();
        let pulse = &self.0.pulse;
        let (lag, store_problem) = match self.0.store.next_due().await {
            Ok(Some(due)) => ((now - due).to_std().unwrap_or_default(), None),
            Ok(None) => (Duration::ZERO, None),
            Err(error) => (Duration::ZERO, Some(error.to_string())),
        };
        let key_problem = match self.check_sealing_key().await {
            Err(error @ Error::SealingKey) => Some(error.to_string()),
            Err(error) if store_problem.is_none() => Some(error.to_string()),
            _ => None,
        };
        let micros = pulse.last_round.load(Ordering::Relaxed);
        let last_round = (micros > 0)
            .then(|| DateTime::from_timestamp_micros(micros))
            .flatten();
        let running = pulse.loops.load(Ordering::Relaxed) > 0;
        let busy = pulse.busy.load(Ordering::Relaxed);
        let workers = self.0.config.workers;
        let patience = (self.0.config.poll * 10).max(Duration::from_secs(30));
        let silent = last_round.is_none_or(|last| now - patience > last);
        EngineHealth {
            store_problem,
            key_problem,
            running,
            last_round,
            busy,
            workers,
            lag,
            stalled: running && silent && busy < workers,
        }
    }

    /// Checks that what the store holds was sealed with this engine's key, by a value that the first engine on a store puts there. With
    /// another key every secret and memo would be unreadable, so [`run`](Self::run) does not begin to work before this succeeds.
    ///
    /// # Errors
    /// [`Error::SealingKey`] for another key; [`Error::Store`] where the store or the key service does not answer.
    pub async fn check_sealing_key(&self) -> Result<(), Error> {
        if self.0.pulse.key_fits.load(Ordering::Relaxed) {
            return Ok(());
        }
        let nobody = ClusterId::from_uuid(Uuid::nil());
        let context = SealContext::new(nobody, PURPOSE);
        let away = |error: SealError| StoreError::Unavailable {
            reason: error.to_string(),
            source: None,
        };
        let (store, sealer) = (&self.0.store, &self.0.sealer);
        let stored = match store.secret(nobody, PURPOSE).await? {
            Some(stored) => stored,
            None => {
                let sealed = sealer.seal(&context, &Secret::new(KNOWN)).await;
                let sealed = sealed.map_err(away)?;
                store.put_secret(nobody, PURPOSE, sealed, false).await?
            }
        };
        match sealer.open(&context, &stored).await {
            Ok(value) if value.expose() == KNOWN => {
                self.0.pulse.key_fits.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error @ SealError::KeyUnavailable { .. }) => Err(away(error).into()),
            _ => Err(Error::SealingKey),
        }
    }
}
