//! What Heat remembers.

use std::collections::BTreeSet;
use std::fmt;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is being done to a stack or a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Action {
    Init,
    Create,
    Update,
    Delete,
    Suspend,
    Resume,
    Check,
    Signal,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Init => "INIT",
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Suspend => "SUSPEND",
            Self::Resume => "RESUME",
            Self::Check => "CHECK",
            Self::Signal => "SIGNAL",
        })
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Status {
    InProgress,
    Complete,
    Failed,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Complete => "COMPLETE",
            Self::Failed => "FAILED",
        })
    }
}

/// One version of a resource. A replaced resource lives beside its replacement until it is deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Resource {
    /// Counts within the stack, never reused.
    pub(super) rid: u64,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) physical_id: Option<String>,
    pub(super) action: Action,
    pub(super) status: Status,
    pub(super) reason: String,
    pub(super) created: DateTime<Utc>,
    pub(super) updated: DateTime<Utc>,
    /// Resolved properties of the last create or update.
    pub(super) properties: Map<String, Value>,
    /// The raw definition in the template.
    pub(super) definition: Value,
    /// Names this version depends on.
    pub(super) requires: BTreeSet<String>,
    /// Private to the resource's type.
    pub(super) data: Map<String, Value>,
    /// Signals, for wait condition handles.
    pub(super) metadata: Map<String, Value>,
    /// The replacement's `rid`.
    pub(super) replaced_by: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) at: DateTime<Utc>,
    pub(super) resource_name: String,
    pub(super) resource_type: String,
    pub(super) physical_id: Option<String>,
    pub(super) status: String,
    pub(super) reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stack {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) project_id: String,
    pub(super) owner_id: String,
    pub(super) owner_name: String,
    pub(super) trust_id: String,
    pub(super) user_project_id: String,
    pub(super) created: DateTime<Utc>,
    pub(super) updated: Option<DateTime<Utc>>,
    pub(super) deleted: Option<DateTime<Utc>>,
    pub(super) action: Action,
    pub(super) status: Status,
    pub(super) reason: String,
    pub(super) template: Value,
    pub(super) files: Map<String, Value>,
    pub(super) environment: Map<String, Value>,
    /// Parameters as given, over the template's defaults.
    pub(super) parameters: Map<String, Value>,
    pub(super) tags: Vec<String>,
    pub(super) timeout_mins: Option<u64>,
    pub(super) disable_rollback: bool,
    /// Counts operations; work of an older one stops starting things.
    pub(super) traversal: u64,
    pub(super) started: DateTime<Utc>,
    pub(super) next_rid: u64,
    pub(super) resources: IndexMap<u64, Resource>,
    pub(super) events: Vec<Event>,
}

impl Stack {
    /// The version of a resource that is current.
    pub(super) fn current(&self, name: &str) -> Option<&Resource> {
        self.resources
            .values()
            .rev()
            .find(|r| r.name == name && r.replaced_by.is_none())
    }

    /// `CREATE_COMPLETE`, ...
    pub(super) fn stack_status(&self) -> String {
        format!("{}_{}", self.action, self.status)
    }

    /// Whether it is gone.
    pub(super) fn is_deleted(&self) -> bool {
        self.deleted.is_some()
    }

    /// Names of the current resources that depend on `name`.
    pub(super) fn required_by(&self, name: &str) -> Vec<&str> {
        let current = self.resources.values().filter(|r| r.replaced_by.is_none());
        current
            .filter(|r| r.requires.contains(name))
            .map(|r| r.name.as_str())
            .collect()
    }

    /// The definition of a resource in the template.
    pub(super) fn definition(&self, name: &str) -> Option<&Value> {
        self.template.get("resources")?.get(name)
    }
}

impl Resource {
    pub(super) fn resource_status(&self) -> String {
        format!("{}_{}", self.action, self.status)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) stacks: IndexMap<String, Stack>,
}

impl State {
    /// The stack of a project (or of the project of its users) by id.
    pub(super) fn find(&self, project: &str, id: &str) -> Option<&Stack> {
        self.stacks
            .get(id)
            .filter(|s| s.project_id == project || s.user_project_id == project)
    }

    /// The living stack of this name.
    pub(super) fn by_name(&self, project: &str, name: &str) -> Option<&Stack> {
        let own = self
            .stacks
            .values()
            .filter(|s| s.project_id == project || s.user_project_id == project);
        own.filter(|s| !s.is_deleted()).find(|s| s.name == name)
    }
}
