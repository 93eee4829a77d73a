//! The secret store.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use magnum_core::driver::Leftover;
use magnum_core::{Clock, ClusterId, Secret, SecretStore, SecretStoreError, SystemClock};
use magnum_heat::{Error, Retry, Session};
use tokio::sync::{Mutex, MutexGuard};

use super::index::{Index, Located, Note};
use super::objects::{self, Readers};

/// How old a note must be before it counts as one whose writer is dead, where another writes the same purpose.
const ABANDONED: TimeDelta = TimeDelta::hours(1);
/// How many purposes can be written at once by one process.
const STRIPES: usize = 32;

/// A [`SecretStore`] that keeps contents in Barbican. See the [module](super) for what is where.
///
/// All secrets are made by the session's user in the session's project, which needs the role `creator` (or `member` with Barbican's newer
/// policies). Unless told otherwise nobody else can read them, not even the project.
///
/// Give it to [`EngineBuilder::secret_store`](magnum_core::EngineBuilder::secret_store), with
/// [`SealedSecrets`](magnum_core::SealedSecrets) over the engine's own store as index. The index holds ids and digests, no contents.
///
/// Errors: [`SecretStoreError::Refused`] where Barbican does not allow it or finds a secret too large (20 000 bytes unless set up
/// otherwise), [`SecretStoreError::Lost`] where somebody has deleted a secret in Barbican, [`SecretStoreError::Damaged`] where
/// the content is not what was stored, [`SecretStoreError::Unavailable`] for all that passes.
#[derive(Debug)]
pub struct BarbicanSecrets {
    session: Session,
    index: Index,
    readers: Readers,
    clock: Arc<dyn Clock>,
    writing: Vec<Mutex<()>>,
}

impl BarbicanSecrets {
    /// Secrets in the session's project, with an index in `index`.
    #[must_use]
    pub fn new(session: Session, index: Arc<dyn SecretStore>) -> Self {
        Self {
            session,
            index: Index(index),
            readers: Readers::Users(Vec::new()),
            clock: Arc::new(SystemClock),
            writing: (0..STRIPES).map(|_| Mutex::default()).collect(),
        }
    }

    /// Lets these users (by id) read what is stored from now on.
    #[must_use]
    pub fn with_readers(mut self, users: impl IntoIterator<Item = String>) -> Self {
        self.readers = Readers::Users(users.into_iter().collect());
        self
    }

    /// Lets the whole project read what is stored from now on, as Barbican does without an access list.
    #[must_use]
    pub fn open_to_project(mut self) -> Self {
        self.readers = Readers::Project;
        self
    }

    /// Another clock and source of randomness.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// What of a cluster is in Barbican, found by the cluster's mark alone, without the index.
    ///
    /// # Errors
    /// As the type says.
    pub async fn leftovers(&self, cluster: ClusterId) -> Result<Vec<Leftover>, SecretStoreError> {
        let containers = objects::containers(&self.session, cluster).await;
        let containers = containers.map_err(|error| failed(&error, cluster, "*", "listed"))?;
        let mut left = Vec::new();
        for container in containers {
            left.extend(container.secret_refs.iter().map(|entry| Leftover {
                kind: "secret".to_owned(),
                id: entry.secret_ref.id().to_owned(),
                name: entry.name.clone().unwrap_or_default(),
            }));
            left.push(Leftover {
                kind: "secret container".to_owned(),
                id: container.container_ref.id().to_owned(),
                name: container.name.unwrap_or_default(),
            });
        }
        Ok(left)
    }

    /// Removes everything of a cluster, by index and by mark; gives how many secrets the mark alone knew. The deletion of the last purpose
    /// does the same; call this where the index was lost.
    ///
    /// # Errors
    /// As the type says; call again, nothing is forgotten.
    pub async fn sweep(&self, cluster: ClusterId) -> Result<usize, SecretStoreError> {
        for purpose in self.purposes(cluster).await? {
            self.clear(cluster, &purpose).await?;
        }
        let swept = objects::sweep(&self.session, cluster).await;
        swept.map_err(|error| failed(&error, cluster, "*", "deleted"))
    }

    /// One writer of a purpose at a time in this process. Other processes are kept apart by the leases of their operations; where they are not,
    /// the index decides which of them counts.
    async fn writing(&self, cluster: ClusterId, purpose: &str) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (cluster, purpose).hash(&mut hasher);
        let stripe = usize::try_from(hasher.finish() % STRIPES as u64).unwrap_or_default();
        self.writing[stripe].lock().await
    }

    /// Stores a generation that does not count yet.
    async fn store(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: &Secret,
    ) -> Result<Located, SecretStoreError> {
        if secret.expose().is_empty() {
            return Err(SecretStoreError::Refused {
                cluster,
                purpose: purpose.to_owned(),
                action: "written",
                reason: "Barbican takes no empty secret".to_owned(),
            });
        }
        let note = Note {
            purpose: purpose.to_owned(),
            nonce: format!("{:016x}", self.clock.random()),
        };
        self.index.note(cluster, &note, self.clock.now()).await?;
        let stored = async {
            let made = objects::create(&self.session, cluster, &note).await?;
            objects::fill(&self.session, cluster, &note, &made, &self.readers, secret).await?;
            Ok(made)
        };
        let made = stored.await;
        let made = made.map_err(|error| failed(&error, cluster, purpose, "written"))?;
        Ok(Located::new(made.id().to_owned(), note.nonce, secret))
    }

    /// The generation that counts with its content.
    async fn read(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Secret>, SecretStoreError> {
        let mut before: Option<Located> = None;
        loop {
            let Some(located) = self.index.located(cluster, purpose).await? else {
                return Ok(None);
            };
            match objects::read(&self.session, &located.id).await {
                Ok(secret) if located.is_of(&secret) => return Ok(Some(secret)),
                Ok(_) => {
                    return Err(SecretStoreError::Damaged {
                        cluster,
                        purpose: purpose.to_owned(),
                    });
                }
                // Between the two readings a writer may have replaced it.
                Err(error) if error.is_not_found() && before.as_ref() != Some(&located) => {
                    before = Some(located);
                }
                Err(error) if error.is_not_found() => {
                    return Err(SecretStoreError::Lost {
                        cluster,
                        purpose: purpose.to_owned(),
                    });
                }
                Err(error) => return Err(failed(&error, cluster, purpose, "read")),
            }
        }
    }

    /// Removes a generation and then its note.
    async fn discard(&self, cluster: ClusterId, note: &Note) -> Result<(), SecretStoreError> {
        let gone = objects::remove(&self.session, cluster, note).await;
        gone.map_err(|error| failed(&error, cluster, &note.purpose, "deleted"))?;
        self.index.forget(cluster, note).await
    }

    /// Removes what no longer counts: `old`, and what writers that died have left.
    async fn tidy(
        &self,
        cluster: ClusterId,
        purpose: &str,
        counts: &Located,
        old: Option<&Located>,
    ) -> Result<(), SecretStoreError> {
        let listing = self.index.list(cluster).await?;
        for note in listing.notes_of(purpose) {
            if note.nonce == counts.nonce {
                continue;
            }
            let replaced = old.is_some_and(|old| old.nonce == note.nonce);
            let abandoned = || async {
                let written = self.index.noted_at(cluster, note).await?;
                Ok::<_, SecretStoreError>(
                    written.is_some_and(|at| at + ABANDONED < self.clock.now()),
                )
            };
            if replaced || abandoned().await? {
                self.discard(cluster, note).await?;
            }
        }
        Ok(())
    }

    /// As [`tidy`](Self::tidy), where a failure costs nothing: the notes stay and the next write or the deletion tries again.
    async fn try_to_tidy(
        &self,
        cluster: ClusterId,
        purpose: &str,
        counts: &Located,
        old: Option<&Located>,
    ) {
        if let Err(error) = self.tidy(cluster, purpose, counts, old).await {
            tracing::warn!(%error, "an earlier generation of a secret was not removed yet");
        }
    }

    /// Removes all generations of a purpose; with the last purpose of a cluster everything of its mark.
    async fn clear(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        self.index.forget_pointer(cluster, purpose).await?;
        let listing = self.index.list(cluster).await?;
        if listing.purposes() == [purpose] {
            // Before the notes go: as long as one is there, a deletion that was cut short is known and done again.
            let swept = objects::sweep(&self.session, cluster).await;
            swept.map_err(|error| failed(&error, cluster, purpose, "deleted"))?;
        }
        for note in listing.notes_of(purpose) {
            self.discard(cluster, note).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl SecretStore for BarbicanSecrets {
    async fn get(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Secret>, SecretStoreError> {
        self.read(cluster, purpose).await
    }

    async fn put_if_absent(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<Secret, SecretStoreError> {
        let _writing = self.writing(cluster, purpose).await;
        if let Some(found) = self.read(cluster, purpose).await? {
            return Ok(found);
        }
        let own = self.store(cluster, purpose, &secret).await?;
        let counts = self.index.point_if_absent(cluster, purpose, &own).await?;
        if counts == own {
            self.try_to_tidy(cluster, purpose, &counts, None).await;
            return Ok(secret);
        }
        // Another process was first.
        self.try_to_tidy(cluster, purpose, &counts, Some(&own))
            .await;
        let lost = || SecretStoreError::Lost {
            cluster,
            purpose: purpose.to_owned(),
        };
        self.read(cluster, purpose).await?.ok_or_else(lost)
    }

    async fn put(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<(), SecretStoreError> {
        let _writing = self.writing(cluster, purpose).await;
        let old = self.index.located(cluster, purpose).await?;
        let new = self.store(cluster, purpose, &secret).await?;
        self.index.point(cluster, purpose, &new).await?;
        self.try_to_tidy(cluster, purpose, &new, old.as_ref()).await;
        Ok(())
    }

    async fn delete(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        let _writing = self.writing(cluster, purpose).await;
        self.clear(cluster, purpose).await
    }

    async fn purposes(&self, cluster: ClusterId) -> Result<Vec<String>, SecretStoreError> {
        Ok(self.index.list(cluster).await?.purposes())
    }
}

fn failed(
    error: &Error,
    cluster: ClusterId,
    purpose: &str,
    action: &'static str,
) -> SecretStoreError {
    let (purpose, reason) = (purpose.to_owned(), error.to_string());
    if error.retry() == Retry::Never && !error.may_have_happened() {
        SecretStoreError::Refused {
            cluster,
            purpose,
            action,
            reason,
        }
    } else {
        SecretStoreError::Unavailable {
            cluster,
            purpose,
            action,
            reason,
        }
    }
}
