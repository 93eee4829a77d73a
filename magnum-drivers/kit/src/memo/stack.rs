//! One stack, as the memo keeps it.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Utc};
use magnum_heat::hot::{Document, Files};
use serde::{Deserialize, Serialize};

/// What was last asked of Heat and is not known to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackIntent {
    /// To create it.
    Create,
    /// To replace its content.
    Update,
    /// To delete it.
    Delete,
}

/// A stack with the document that was last submitted, and what is going on with it.
///
/// The document and its files hold user-data and so keys; `Debug` shows their sizes only.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct StackRecord {
    /// Its name; derived from ids, written before it is created.
    pub name: String,
    /// Its id, once Heat has answered.
    #[serde(default)]
    pub id: Option<String>,
    /// The template that was last submitted, or is about to be.
    pub template: Document,
    /// The files that it refers to, by content-derived names.
    #[serde(default)]
    pub files: Files,
    /// What was asked and has not ended.
    #[serde(default)]
    pub intent: Option<StackIntent>,
    /// Whether Heat accepted what was asked.
    #[serde(default)]
    pub accepted: bool,
    /// When it was asked.
    #[serde(default)]
    pub asked_at: Option<DateTime<Utc>>,
    /// Heat's time of the last change that was seen before it was asked.
    #[serde(default)]
    pub seen_updated: Option<DateTime<Utc>>,
    /// Whether an `IN_PROGRESS` was seen since it was asked.
    #[serde(default)]
    pub seen_in_progress: bool,
    /// How often a deletion was asked for after it had failed.
    #[serde(default)]
    pub delete_attempts: u32,
    /// Physical ids of the stack's resources, as last read.
    #[serde(default)]
    pub physical: BTreeMap<String, String>,
    /// Whether its last action failed.
    #[serde(default)]
    pub failed: bool,
}

impl StackRecord {
    /// A stack that is not yet created.
    #[must_use]
    pub fn new(name: impl Into<String>, template: Document, files: Files) -> Self {
        Self {
            name: name.into(),
            id: None,
            template,
            files,
            intent: None,
            accepted: false,
            asked_at: None,
            seen_updated: None,
            seen_in_progress: false,
            delete_attempts: 0,
            physical: BTreeMap::new(),
            failed: false,
        }
    }

    /// Notes what is about to be asked. Checkpoint the memo before asking.
    pub fn intend(&mut self, intent: StackIntent, now: DateTime<Utc>) {
        self.intent = Some(intent);
        self.accepted = false;
        self.asked_at = Some(now);
        self.seen_in_progress = false;
    }

    /// Notes that what was asked has ended.
    pub const fn settle(&mut self, failed: bool) {
        self.intent = None;
        self.accepted = false;
        self.failed = failed;
    }

    /// Bytes of the template as JSON text.
    #[must_use]
    pub fn template_bytes(&self) -> usize {
        self.template.to_text().len()
    }

    /// Bytes of the files as JSON text, about.
    #[must_use]
    pub fn file_bytes(&self) -> usize {
        self.files
            .iter()
            .map(|(name, text)| {
                name.len() + text.len() + text.matches(['\n', '"', '\\']).count() + 8
            })
            .sum()
    }
}

impl fmt::Debug for StackRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackRecord")
            .field("name", &self.name)
            .field("id", &self.id)
            .field("intent", &self.intent)
            .field("accepted", &self.accepted)
            .field("failed", &self.failed)
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use magnum_heat::hot::Resource;

    use super::*;

    #[test]
    fn ms_04_debug_shows_no_document() {
        let mut files = Files::new();
        files.insert("a", "topsecret");
        let mut template = Document::new();
        template
            .add_resource("x", Resource::raw("T").property("p", "topsecret"))
            .unwrap();
        let record = StackRecord::new("s", template, files);
        assert!(!format!("{record:?}").contains("topsecret"));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<StackRecord>(&text).unwrap(), record);
    }
}
