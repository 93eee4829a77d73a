//! Changing stacks: all of it (PUT) or some parameters (PATCH).

use http::Method;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{
    create::{StackContent, checked_size, tags_text},
    model::StackRef,
};
use crate::{
    Error, Result,
    hot::Limits,
    request::{Answer, Body, Path, Request, ServiceType},
};

/// Replaces template, files, parameters, environment and tags of a stack (PUT).
///
/// A PUT without tags clears them, so they are part of this request always.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReplaceStack {
    /// Which.
    pub stack: StackRef,
    /// The whole new content.
    pub content: StackContent,
    /// All tags from now on.
    pub tags: Vec<String>,
    /// Heat's own time limit, in minutes.
    pub timeout_mins: Option<u64>,
    /// Whether a failure stays for inspection. Default true.
    pub disable_rollback: bool,
    /// What is checked before sending.
    pub limits: Limits,
}

impl ReplaceStack {
    /// The new content and all tags of a stack.
    pub fn new<S: Into<String>>(
        stack: StackRef,
        content: StackContent,
        tags: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            stack,
            content,
            tags: tags.into_iter().map(Into::into).collect(),
            timeout_mins: None,
            disable_rollback: true,
            limits: Limits::default(),
        }
    }

    /// With Heat's own time limit, in minutes.
    #[must_use]
    pub fn timeout_mins(mut self, minutes: u64) -> Self {
        self.timeout_mins = Some(minutes);
        self
    }

    fn to_body(&self, operation: &'static str) -> Result<Body> {
        if self.content.template.resources().is_empty() && self.content.template.is_blank() {
            return Err(Error::invalid(
                operation,
                "a full replacement needs a template",
            ));
        }
        self.content.check(operation, &self.limits)?;
        let mut body = Map::new();
        self.content.put_into(&mut body);
        body.insert("disable_rollback".into(), self.disable_rollback.into());
        // Absent clears them in a PUT; an empty text would leave one empty tag.
        if !self.tags.is_empty() {
            body.insert("tags".into(), tags_text(operation, &self.tags)?.into());
        }
        if let Some(minutes) = self.timeout_mins {
            body.insert("timeout_mins".into(), minutes.into());
        }
        checked_size(operation, &body, &self.limits)
    }
}

impl Request for ReplaceStack {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::PUT;
    /// Sent twice it ends in the same content, but the second supersedes a first that runs, which costs Heat work and
    /// may hide a lost race: so it is repeated by the caller, who knows, and not by the session.
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "update stack";

    fn path(&self) -> Path {
        self.stack.path()
    }

    fn body(&self) -> Result<Body> {
        self.to_body(Self::OPERATION)
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

/// Changes some parameters of a stack and keeps everything else (PATCH).
///
/// With no parameters it makes Heat try again what failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PatchStack {
    /// Which.
    pub stack: StackRef,
    /// Parameters that change.
    pub parameters: IndexMap<String, Value>,
    /// Parameters that go back to their defaults.
    pub clear_parameters: Vec<String>,
    /// New tags: `None` keeps them, an empty list clears them (`HC-09`).
    pub tags: Option<Vec<String>>,
    /// Heat's own time limit, in minutes.
    pub timeout_mins: Option<u64>,
    /// Whether a failure stays for inspection. Default true.
    pub disable_rollback: bool,
}

impl PatchStack {
    /// Changes nothing yet.
    pub fn new(stack: StackRef) -> Self {
        Self {
            stack,
            parameters: IndexMap::new(),
            clear_parameters: Vec::new(),
            tags: None,
            timeout_mins: None,
            disable_rollback: true,
        }
    }

    /// Changes a parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Sets all tags.
    #[must_use]
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags = Some(tags.into_iter().map(Into::into).collect());
        self
    }
}

impl Request for PatchStack {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::PATCH;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "update stack parameters";

    fn path(&self) -> Path {
        self.stack.path()
    }

    fn body(&self) -> Result<Body> {
        self.to_body(Self::OPERATION)
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

impl PatchStack {
    fn to_body(&self, operation: &'static str) -> Result<Body> {
        let mut body = Map::new();
        body.insert(
            "parameters".into(),
            Value::Object(self.parameters.clone().into_iter().collect()),
        );
        body.insert("disable_rollback".into(), self.disable_rollback.into());
        if !self.clear_parameters.is_empty() {
            body.insert(
                "clear_parameters".into(),
                self.clear_parameters.clone().into(),
            );
        }
        if let Some(tags) = &self.tags {
            body.insert("tags".into(), tags_text(operation, tags)?.into());
        }
        if let Some(minutes) = self.timeout_mins {
            body.insert("timeout_mins".into(), minutes.into());
        }
        Body::json(operation, &body)
    }
}

/// Asks Heat what a replacement would change, without doing it. Not a safety check: Heat claims replacements that do not
/// happen.
#[derive(Debug, Clone)]
pub struct PreviewReplace(pub ReplaceStack);

impl Request for PreviewReplace {
    type Output = Value;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::PUT;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "preview update";

    fn path(&self) -> Path {
        self.0.stack.path().join("preview")
    }

    fn body(&self) -> Result<Body> {
        self.0.to_body(Self::OPERATION)
    }

    fn decode(&self, answer: Answer) -> Result<Value> {
        answer.json_at("resource_changes")
    }
}

/// Asks Heat what a change of parameters would change, without doing it.
#[derive(Debug, Clone)]
pub struct PreviewPatch(pub PatchStack);

impl Request for PreviewPatch {
    type Output = Value;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::PATCH;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "preview update of parameters";

    fn path(&self) -> Path {
        self.0.stack.path().join("preview")
    }

    fn body(&self) -> Result<Body> {
        self.0.to_body(Self::OPERATION)
    }

    fn decode(&self, answer: Answer) -> Result<Value> {
        answer.json_at("resource_changes")
    }
}
