//! What Heat says of a stack.

use std::fmt;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    heat::StackStatus,
    request::{Path, segments},
    wire,
};

/// Which stack: by name and id, or by one of them.
///
/// With both, Heat answers at once; with one it answers a redirect first, which the session follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StackRef {
    first: String,
    id: Option<String>,
}

impl StackRef {
    /// By name and id.
    pub fn new(name: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            first: name.into(),
            id: Some(id.into()),
        }
    }

    /// By name or id alone.
    pub fn find(name_or_id: impl Into<String>) -> Self {
        Self {
            first: name_or_id.into(),
            id: None,
        }
    }

    /// Name, or whatever it was made of.
    pub fn name(&self) -> &str {
        &self.first
    }

    /// Id, where it is known to be one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub(crate) fn path(&self) -> Path {
        let path = segments!["stacks", self.first];
        match &self.id {
            Some(id) => path.join(id.clone()),
            None => path,
        }
    }
}

impl fmt::Display for StackRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first)?;
        self.id.as_ref().map_or(Ok(()), |id| write!(f, " ({id})"))
    }
}

/// A link of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct StackLink {
    /// Address.
    pub href: String,
    /// Relation: `self`, `stack`, `nested`, `root_stack`, `resource`.
    pub rel: String,
}

/// The stack that a Heat address leads to.
pub(crate) fn stack_of_href(href: &str) -> Option<StackRef> {
    let (_, rest) = href.split_once("/stacks/")?;
    let mut parts = rest.split(['/', '?']);
    let (name, id) = (parts.next()?, parts.next()?);
    (!name.is_empty() && !id.is_empty()).then(|| StackRef::new(name, id))
}

/// One output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Output {
    /// Its name.
    #[serde(rename = "output_key")]
    pub key: String,
    /// Its value; `Null` while it cannot be computed.
    #[serde(default, rename = "output_value")]
    pub value: Value,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
    /// Why the value could not be computed.
    #[serde(default, rename = "output_error")]
    pub error: Option<String>,
}

/// A stack in a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct StackSummary {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(rename = "stack_name")]
    pub name: String,
    /// Status.
    #[serde(rename = "stack_status")]
    pub status: StackStatus,
    /// Reason of the status.
    #[serde(
        default,
        rename = "stack_status_reason",
        deserialize_with = "wire::null_default"
    )]
    pub status_reason: String,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
    /// When it was made.
    #[serde(default, rename = "creation_time", deserialize_with = "wire::option")]
    pub created: Option<DateTime<Utc>>,
    /// When it was last changed.
    #[serde(default, rename = "updated_time", deserialize_with = "wire::option")]
    pub updated: Option<DateTime<Utc>>,
    /// Tags.
    #[serde(default, deserialize_with = "wire::tags")]
    pub tags: Vec<String>,
    /// Stack that this one is nested in.
    #[serde(default)]
    pub parent: Option<String>,
    /// Project, in lists over all projects.
    #[serde(default)]
    pub project: Option<String>,
}

impl StackSummary {
    /// Name and id.
    pub fn reference(&self) -> StackRef {
        StackRef::new(&self.name, &self.id)
    }
}

/// A stack. Parameters and outputs may hold what users put there, so `Debug` shows neither.
#[derive(Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Stack {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(rename = "stack_name")]
    pub name: String,
    /// Status.
    #[serde(rename = "stack_status")]
    pub status: StackStatus,
    /// Reason of the status.
    #[serde(
        default,
        rename = "stack_status_reason",
        deserialize_with = "wire::null_default"
    )]
    pub status_reason: String,
    /// Description.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub description: String,
    /// When it was made.
    #[serde(default, rename = "creation_time", deserialize_with = "wire::option")]
    pub created: Option<DateTime<Utc>>,
    /// When it was last changed.
    #[serde(default, rename = "updated_time", deserialize_with = "wire::option")]
    pub updated: Option<DateTime<Utc>>,
    /// When it was deleted.
    #[serde(default, rename = "deletion_time", deserialize_with = "wire::option")]
    pub deleted: Option<DateTime<Utc>>,
    /// Parameters as Heat has them, its own `OS::...` included.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub parameters: IndexMap<String, Value>,
    /// Outputs; empty unless asked for.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub outputs: Vec<Output>,
    /// Tags.
    #[serde(default, deserialize_with = "wire::tags")]
    pub tags: Vec<String>,
    /// Stack that this one is nested in.
    #[serde(default)]
    pub parent: Option<String>,
    /// Whether a failed creation stays for inspection.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub disable_rollback: bool,
    /// Heat's own time limit, in minutes.
    #[serde(default)]
    pub timeout_mins: Option<u64>,
    /// Name of the user who made it.
    #[serde(default, rename = "stack_owner")]
    pub owner: Option<String>,
    /// Project that holds the stack's own users.
    #[serde(default)]
    pub stack_user_project_id: Option<String>,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("status", &self.status.to_string())
            .field("status_reason", &self.status_reason)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}

impl Stack {
    /// Name and id.
    pub fn reference(&self) -> StackRef {
        StackRef::new(&self.name, &self.id)
    }

    /// Value of an output.
    pub fn output(&self, key: &str) -> Option<&Value> {
        self.outputs.iter().find(|o| o.key == key).map(|o| &o.value)
    }

    /// Value of an output that is text.
    pub fn output_str(&self, key: &str) -> Option<&str> {
        self.output(key).and_then(Value::as_str)
    }

    /// Whether it carries the tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|t| t == tag)
    }
}
