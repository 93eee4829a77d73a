//! What is where: notes of everything that was made, and a pointer to what counts.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chrono::{DateTime, Utc};
use magnum_core::{ClusterId, Secret, SecretStore, SecretStoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const POINTER: &str = "barbican/at/";
const NOTE: &str = "barbican/made/";

/// The generation of a purpose that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Located {
    /// Id of the secret in Barbican.
    pub(super) id: String,
    /// The last part of its name.
    pub(super) nonce: String,
    /// SHA-256 of the content, so that nobody can put another in its place.
    digest: String,
}

impl Located {
    pub(super) fn new(id: String, nonce: String, secret: &Secret) -> Self {
        Self {
            id,
            nonce,
            digest: digest(secret),
        }
    }

    /// Whether this content is what was stored.
    pub(super) fn is_of(&self, secret: &Secret) -> bool {
        self.digest == digest(secret)
    }
}

fn digest(secret: &Secret) -> String {
    STANDARD_NO_PAD.encode(Sha256::digest(secret.expose()))
}

/// A secret that is or may be in Barbican.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) purpose: String,
    pub(super) nonce: String,
}

#[derive(Serialize, Deserialize)]
struct Written {
    at: DateTime<Utc>,
}

/// A reading of the index of one cluster.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) notes: Vec<Note>,
    pub(super) pointers: BTreeSet<String>,
}

impl Listing {
    fn of(keys: &[String]) -> Self {
        let mut listing = Self::default();
        for key in keys {
            if let Some(purpose) = key.strip_prefix(POINTER) {
                listing.pointers.insert(purpose.to_owned());
            } else if let Some((nonce, purpose)) =
                key.strip_prefix(NOTE).and_then(|rest| rest.split_once('/'))
            {
                listing.notes.push(Note {
                    purpose: purpose.to_owned(),
                    nonce: nonce.to_owned(),
                });
            }
        }
        listing
    }

    /// Everything for which something is or may be stored, sorted.
    pub(super) fn purposes(&self) -> Vec<String> {
        let noted = self.notes.iter().map(|note| note.purpose.clone());
        let all: BTreeSet<String> = self.pointers.iter().cloned().chain(noted).collect();
        all.into_iter().collect()
    }

    pub(super) fn notes_of<'a>(&'a self, purpose: &'a str) -> impl Iterator<Item = &'a Note> {
        self.notes
            .iter()
            .filter(move |note| note.purpose == purpose)
    }
}

/// The index, kept in another store.
#[derive(Debug, Clone)]
pub(super) struct Index(pub(super) Arc<dyn SecretStore>);

impl Index {
    pub(super) async fn list(&self, cluster: ClusterId) -> Result<Listing, SecretStoreError> {
        Ok(Listing::of(&self.0.purposes(cluster).await?))
    }

    pub(super) async fn located(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Located>, SecretStoreError> {
        let found = self.0.get(cluster, &pointer(purpose)).await?;
        found.map(|row| read(cluster, purpose, &row)).transpose()
    }

    /// Lets a generation count.
    pub(super) async fn point(
        &self,
        cluster: ClusterId,
        purpose: &str,
        to: &Located,
    ) -> Result<(), SecretStoreError> {
        self.0.put(cluster, &pointer(purpose), row(to)).await
    }

    /// Lets a generation count unless another does; gives the one that counts afterwards.
    pub(super) async fn point_if_absent(
        &self,
        cluster: ClusterId,
        purpose: &str,
        to: &Located,
    ) -> Result<Located, SecretStoreError> {
        let key = pointer(purpose);
        let stored = self.0.put_if_absent(cluster, &key, row(to)).await?;
        read(cluster, purpose, &stored)
    }

    pub(super) async fn forget_pointer(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<(), SecretStoreError> {
        self.0.delete(cluster, &pointer(purpose)).await
    }

    pub(super) async fn note(
        &self,
        cluster: ClusterId,
        note: &Note,
        at: DateTime<Utc>,
    ) -> Result<(), SecretStoreError> {
        self.0.put(cluster, &key(note), row(&Written { at })).await
    }

    /// When a note was written; none where it is gone meanwhile.
    pub(super) async fn noted_at(
        &self,
        cluster: ClusterId,
        note: &Note,
    ) -> Result<Option<DateTime<Utc>>, SecretStoreError> {
        let found = self.0.get(cluster, &key(note)).await?;
        let read = found.map(|row| read::<Written>(cluster, &note.purpose, &row));
        Ok(read.transpose()?.map(|written| written.at))
    }

    pub(super) async fn forget(
        &self,
        cluster: ClusterId,
        note: &Note,
    ) -> Result<(), SecretStoreError> {
        self.0.delete(cluster, &key(note)).await
    }
}

fn pointer(purpose: &str) -> String {
    format!("{POINTER}{purpose}")
}

fn key(note: &Note) -> String {
    format!("{NOTE}{}/{}", note.nonce, note.purpose)
}

fn row(value: &impl Serialize) -> Secret {
    Secret::new(serde_json::to_vec(value).expect("texts and times are always JSON"))
}

fn read<T: DeserializeOwned>(
    cluster: ClusterId,
    purpose: &str,
    row: &Secret,
) -> Result<T, SecretStoreError> {
    serde_json::from_slice(row.expose()).map_err(|_| SecretStoreError::Damaged {
        cluster,
        purpose: purpose.to_owned(),
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn purposes_are_those_that_count_and_those_that_were_interrupted() {
        let keys = [
            "barbican/at/pki.ca",
            "barbican/made/00ff/pki.ca",
            "barbican/made/01ff/odd/purpose",
            "other",
        ];
        let listing = Listing::of(&keys.map(str::to_owned));
        assert_eq!(listing.purposes(), ["odd/purpose", "pki.ca"]);
        assert_eq!(listing.notes_of("pki.ca").count(), 1);
        let odd: Vec<_> = listing.notes_of("odd/purpose").map(key).collect();
        assert_eq!(odd, [keys[2]]);
    }

    #[test]
    fn another_content_is_noticed() {
        let secret = Secret::new(b"a".to_vec());
        let located = Located::new("1".into(), "n".into(), &secret);
        assert!(located.is_of(&secret) && !located.is_of(&Secret::new(b"b".to_vec())));
    }
}
