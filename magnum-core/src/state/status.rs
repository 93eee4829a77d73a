//! Magnum's statuses: an action and a phase.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is or was being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Creation.
    Create,
    /// Any change.
    Update,
    /// Deletion.
    Delete,
    /// Return to what was before a failed change.
    Rollback,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Running.
    InProgress,
    /// Ended as asked.
    Complete,
    /// Ended otherwise.
    Failed,
}

/// A status as Magnum writes it: one of twelve, such as `CREATE_IN_PROGRESS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Status {
    /// What is or was being done.
    pub action: Action,
    /// How far it is.
    pub phase: Phase,
}

impl Status {
    /// All twelve.
    pub const ALL: [Self; 12] = {
        let actions = [
            Action::Create,
            Action::Update,
            Action::Delete,
            Action::Rollback,
        ];
        let phases = [Phase::InProgress, Phase::Complete, Phase::Failed];
        let mut all = [Self::CREATE_IN_PROGRESS; 12];
        let mut index = 0;
        while index < 12 {
            all[index] = Self::new(actions[index / 3], phases[index % 3]);
            index += 1;
        }
        all
    };
    /// `CREATE_IN_PROGRESS`
    pub const CREATE_IN_PROGRESS: Self = Self::new(Action::Create, Phase::InProgress);
    /// `CREATE_COMPLETE`
    pub const CREATE_COMPLETE: Self = Self::new(Action::Create, Phase::Complete);
    /// `CREATE_FAILED`
    pub const CREATE_FAILED: Self = Self::new(Action::Create, Phase::Failed);
    /// `UPDATE_IN_PROGRESS`
    pub const UPDATE_IN_PROGRESS: Self = Self::new(Action::Update, Phase::InProgress);
    /// `UPDATE_COMPLETE`
    pub const UPDATE_COMPLETE: Self = Self::new(Action::Update, Phase::Complete);
    /// `UPDATE_FAILED`
    pub const UPDATE_FAILED: Self = Self::new(Action::Update, Phase::Failed);
    /// `DELETE_IN_PROGRESS`
    pub const DELETE_IN_PROGRESS: Self = Self::new(Action::Delete, Phase::InProgress);
    /// `DELETE_COMPLETE`
    pub const DELETE_COMPLETE: Self = Self::new(Action::Delete, Phase::Complete);
    /// `DELETE_FAILED`
    pub const DELETE_FAILED: Self = Self::new(Action::Delete, Phase::Failed);

    /// The status of an action in a phase.
    #[must_use]
    pub const fn new(action: Action, phase: Phase) -> Self {
        Self { action, phase }
    }

    /// Whether something runs.
    #[must_use]
    pub fn in_progress(self) -> bool {
        self.phase == Phase::InProgress
    }

    /// Magnum's text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match (self.action, self.phase) {
            (Action::Create, Phase::InProgress) => "CREATE_IN_PROGRESS",
            (Action::Create, Phase::Complete) => "CREATE_COMPLETE",
            (Action::Create, Phase::Failed) => "CREATE_FAILED",
            (Action::Update, Phase::InProgress) => "UPDATE_IN_PROGRESS",
            (Action::Update, Phase::Complete) => "UPDATE_COMPLETE",
            (Action::Update, Phase::Failed) => "UPDATE_FAILED",
            (Action::Delete, Phase::InProgress) => "DELETE_IN_PROGRESS",
            (Action::Delete, Phase::Complete) => "DELETE_COMPLETE",
            (Action::Delete, Phase::Failed) => "DELETE_FAILED",
            (Action::Rollback, Phase::InProgress) => "ROLLBACK_IN_PROGRESS",
            (Action::Rollback, Phase::Complete) => "ROLLBACK_COMPLETE",
            (Action::Rollback, Phase::Failed) => "ROLLBACK_FAILED",
        }
    }
}

/// A text that is none of the twelve statuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no status of a cluster")]
pub struct UnknownStatus(String);

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

impl TryFrom<String> for Status {
    type Error = UnknownStatus;

    fn try_from(text: String) -> Result<Self, UnknownStatus> {
        text.parse()
    }
}

impl From<Status> for String {
    fn from(status: Status) -> Self {
        status.as_str().to_owned()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A cluster's health, independent of its status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Health {
    /// The API answers and all nodes are ready.
    Healthy,
    /// The API answers badly, or nodes are not ready.
    Unhealthy,
    /// Not known: not looked at yet, or not reachable.
    #[default]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_twelve_statuses_read_back() {
        let mut seen = std::collections::BTreeSet::new();
        for status in Status::ALL {
            assert_eq!(status.as_str().parse::<Status>().unwrap(), status);
            seen.insert(status);
        }
        assert_eq!(seen.len(), 12);
        assert!("CHECK_COMPLETE".parse::<Status>().is_err());
    }
}
