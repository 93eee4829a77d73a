//! The ordered record of what was created, updated and deleted.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Cloud, Store};

/// One line of the ledger.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Entry {
    /// Counts from 1.
    pub sequence: u64,
    /// When it was accepted.
    pub at: DateTime<Utc>,
    /// `stack`, `server`, ...
    pub kind: String,
    /// `create`, `update` or `delete`.
    pub action: String,
    /// The object's id.
    pub id: String,
    /// The object's name.
    pub name: String,
    /// The project that owns it.
    pub project_id: String,
}

/// The ledger.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) entries: Store<Vec<Entry>>,
}

impl Ledger {
    /// Adds a line. Call it when the request is accepted.
    pub fn record(
        &self,
        cloud: &Cloud,
        kind: &str,
        action: &str,
        id: &str,
        name: &str,
        project_id: &str,
    ) {
        let at = cloud.now();
        self.entries.write(|entries| {
            entries.push(Entry {
                sequence: entries.len() as u64 + 1,
                at,
                kind: kind.to_owned(),
                action: action.to_owned(),
                id: id.to_owned(),
                name: name.to_owned(),
                project_id: project_id.to_owned(),
            });
        });
    }

    /// All lines, oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.read(Clone::clone)
    }
}
