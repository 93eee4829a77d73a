//! `CREATE_COMPLETE` as two typed words.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What Heat does or did.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum StackAction {
    Init,
    Create,
    Delete,
    Update,
    Rollback,
    Suspend,
    Resume,
    Adopt,
    Snapshot,
    Check,
    Restore,
    /// A word this version does not know.
    Unknown(String),
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Running.
    InProgress,
    /// Done.
    Complete,
    /// Failed.
    Failed,
    /// A word this version does not know.
    Unknown(String),
}

/// Status of a stack or resource: action and phase.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StackStatus {
    /// What Heat does or did.
    pub action: StackAction,
    /// How far it is.
    pub phase: Phase,
}

const ACTIONS: &[(&str, StackAction)] = &[
    ("INIT", StackAction::Init),
    ("CREATE", StackAction::Create),
    ("DELETE", StackAction::Delete),
    ("UPDATE", StackAction::Update),
    ("ROLLBACK", StackAction::Rollback),
    ("SUSPEND", StackAction::Suspend),
    ("RESUME", StackAction::Resume),
    ("ADOPT", StackAction::Adopt),
    ("SNAPSHOT", StackAction::Snapshot),
    ("CHECK", StackAction::Check),
    ("RESTORE", StackAction::Restore),
];

impl StackStatus {
    /// A status of its two words.
    pub fn new(action: StackAction, phase: Phase) -> Self {
        Self { action, phase }
    }

    /// Reads Heat's spelling. Never fails: unknown words are kept.
    pub fn parse(text: &str) -> Self {
        let (action, phase) = match text.split_once('_') {
            Some((action, phase)) => (action, phase),
            None => ("", text),
        };
        let action = ACTIONS
            .iter()
            .find(|(name, _)| *name == action)
            .map_or_else(
                || StackAction::Unknown(action.to_owned()),
                |(_, known)| known.clone(),
            );
        let phase = match phase {
            "IN_PROGRESS" => Phase::InProgress,
            "COMPLETE" => Phase::Complete,
            "FAILED" => Phase::Failed,
            other => Phase::Unknown(other.to_owned()),
        };
        Self { action, phase }
    }

    /// Whether the action runs.
    pub fn is_in_progress(&self) -> bool {
        self.phase == Phase::InProgress
    }

    /// Whether the action is done.
    pub fn is_complete(&self) -> bool {
        self.phase == Phase::Complete
    }

    /// Whether the action failed.
    pub fn is_failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    /// Whether it is this action.
    pub fn is(&self, action: &StackAction, phase: &Phase) -> bool {
        self.action == *action && self.phase == *phase
    }

    /// Whether the stack is deleted (`HC-03`).
    pub fn is_gone(&self) -> bool {
        self.is(&StackAction::Delete, &Phase::Complete)
    }
}

impl fmt::Display for StackStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match &self.action {
            StackAction::Unknown(text) => text.as_str(),
            known => ACTIONS
                .iter()
                .find(|(_, a)| a == known)
                .map_or("", |(name, _)| *name),
        };
        let phase = match &self.phase {
            Phase::InProgress => "IN_PROGRESS",
            Phase::Complete => "COMPLETE",
            Phase::Failed => "FAILED",
            Phase::Unknown(text) => text.as_str(),
        };
        if action.is_empty() {
            f.write_str(phase)
        } else {
            write!(f, "{action}_{phase}")
        }
    }
}

impl<'de> Deserialize<'de> for StackStatus {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Ok(Self::parse(&text))
    }
}

impl Serialize for StackStatus {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_survives() {
        for (name, _) in ACTIONS {
            for phase in ["IN_PROGRESS", "COMPLETE", "FAILED"] {
                let text = format!("{name}_{phase}");
                let status = StackStatus::parse(&text);
                assert_eq!(status.to_string(), text);
                assert!(!matches!(status.action, StackAction::Unknown(_)));
            }
        }
        for text in [
            "",
            "GARBAGE",
            "FOO_BAR_BAZ",
            "CREATE_",
            "_",
            "CREATE_PAUSED",
        ] {
            assert_eq!(
                StackStatus::parse(text).to_string().trim_start_matches('_'),
                text.trim_start_matches('_')
            );
        }
        assert!(StackStatus::parse("DELETE_COMPLETE").is_gone());
    }
}
