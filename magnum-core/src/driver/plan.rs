//! The dry run: what a change would do.

use serde::{Deserialize, Serialize};

/// What happens to one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlannedAction {
    /// It is made.
    Create(String),
    /// It is changed in place.
    Change(String),
    /// It is made anew and the old one removed.
    Replace(String),
    /// It is removed.
    Delete(String),
}

/// How much more of a quota a change needs at its peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaNeed {
    /// The service's type, such as `compute`.
    pub service: String,
    /// The quota's name there, such as `instances`.
    pub resource: String,
    /// How much more.
    pub amount: u64,
}

/// What a change would do, in order, and what it would need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The things, each named as a person would (`node group gpu: 3 nodes`).
    pub actions: Vec<PlannedAction>,
    /// What it needs.
    pub quota: Vec<QuotaNeed>,
}

/// Something that was made for a cluster and is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// Its kind, such as `network port`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its name, where it has one.
    pub name: String,
}
