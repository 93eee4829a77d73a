//! Creating stacks.

use std::fmt;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{CreatedStack, model::StackRef};
use crate::{
    Error, Result,
    hot::{Document, Files, Limits},
    request::{Answer, Body, Path, Request, ServiceType, segments},
};

/// What a stack is made of: template, files, parameters and environment. `Debug` shows sizes only, since all of it
/// may hold secrets.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct StackContent {
    /// Template.
    pub template: Document,
    /// Texts that `get_file` refers to.
    pub files: Files,
    /// Parameters.
    pub parameters: IndexMap<String, Value>,
    /// Environment; `None` sends none.
    pub environment: Option<Map<String, Value>>,
}

impl StackContent {
    /// A template without files and parameters.
    pub fn new(template: Document) -> Self {
        Self {
            template,
            ..Self::default()
        }
    }

    /// With these files.
    #[must_use]
    pub fn files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    /// With a parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// With an environment: `resource_registry`, `parameter_defaults` and so on.
    #[must_use]
    pub fn environment(mut self, environment: Map<String, Value>) -> Self {
        self.environment = Some(environment);
        self
    }

    pub(super) fn put_into(&self, body: &mut Map<String, Value>) {
        body.insert("template".into(), self.template.to_json());
        body.insert("files".into(), self.files.to_json());
        body.insert(
            "parameters".into(),
            Value::Object(self.parameters.clone().into_iter().collect()),
        );
        if let Some(environment) = &self.environment {
            body.insert("environment".into(), Value::Object(environment.clone()));
        }
    }

    pub(super) fn check(&self, operation: &'static str, limits: &Limits) -> Result<()> {
        self.template
            .check(limits)
            .map_err(|e| Error::invalid(operation, e.to_string()))
    }
}

impl fmt::Debug for StackContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackContent")
            .field("resources", &self.template.resources().len())
            .field("files", &self.files.len())
            .field("parameters", &self.parameters.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Creates a stack. Rollback is off unless switched on, so that a failure stays for inspection.
///
/// Not repeated after a lost answer; [`create_stack_or_adopt`](super::create_stack_or_adopt) does that safely.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CreateStack {
    /// Name: a letter, then letters, digits, `_`, `-`, `.`; at most 255.
    pub name: String,
    /// Template, files, parameters, environment.
    pub content: StackContent,
    /// Tags.
    pub tags: Vec<String>,
    /// Heat's own time limit, in minutes; `None` is Heat's default (60).
    pub timeout_mins: Option<u64>,
    /// Whether a failure stays for inspection. Default true.
    pub disable_rollback: bool,
    /// Result of an abandon that the stack is made of instead of new resources.
    pub adopt_stack_data: Option<String>,
    /// What is checked before sending.
    pub limits: Limits,
}

impl CreateStack {
    /// A stack of this name and content.
    pub fn new(name: impl Into<String>, content: StackContent) -> Self {
        Self {
            name: name.into(),
            content,
            tags: Vec::new(),
            timeout_mins: None,
            disable_rollback: true,
            adopt_stack_data: None,
            limits: Limits::default(),
        }
    }

    /// With these tags.
    #[must_use]
    pub fn tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// With Heat's own time limit, in minutes.
    #[must_use]
    pub fn timeout_mins(mut self, minutes: u64) -> Self {
        self.timeout_mins = Some(minutes);
        self
    }

    /// Rolls a failed creation back.
    #[must_use]
    pub fn with_rollback(mut self) -> Self {
        self.disable_rollback = false;
        self
    }

    /// Takes over the resources of an abandoned stack.
    #[must_use]
    pub fn adopting(mut self, data: impl Into<String>) -> Self {
        self.adopt_stack_data = Some(data.into());
        self
    }

    fn to_body(&self, operation: &'static str) -> Result<Body> {
        crate::hot::check_stack_name(&self.name).map_err(|e| Error::invalid(operation, e))?;
        self.content.check(operation, &self.limits)?;
        let mut body = Map::new();
        body.insert("stack_name".into(), self.name.clone().into());
        self.content.put_into(&mut body);
        body.insert("disable_rollback".into(), self.disable_rollback.into());
        if !self.tags.is_empty() {
            body.insert("tags".into(), tags_text(operation, &self.tags)?.into());
        }
        if let Some(minutes) = self.timeout_mins {
            body.insert("timeout_mins".into(), minutes.into());
        }
        if let Some(data) = &self.adopt_stack_data {
            body.insert("adopt_stack_data".into(), data.clone().into());
        }
        checked_size(operation, &body, &self.limits)
    }
}

/// Heat takes tags as one text separated by commas.
pub(super) fn tags_text(operation: &'static str, tags: &[String]) -> Result<String> {
    for tag in tags {
        if tag.is_empty() || tag.len() > 80 || tag.contains([',', '/']) {
            return Err(Error::invalid(
                operation,
                format!("tag {tag:?} must have 1 to 80 characters and no , or /"),
            ));
        }
    }
    Ok(tags.join(","))
}

pub(super) fn checked_size(
    operation: &'static str,
    body: &Map<String, Value>,
    limits: &Limits,
) -> Result<Body> {
    let body = Body::json(operation, body)?;
    if let Body::Json(bytes) = &body
        && bytes.len() > limits.request_bytes
    {
        let text = format!(
            "the request has {} bytes, Heat takes {}",
            bytes.len(),
            limits.request_bytes
        );
        return Err(Error::invalid(operation, text));
    }
    Ok(body)
}

impl Request for CreateStack {
    type Output = CreatedStack;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: http::Method = http::Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "create stack";

    fn path(&self) -> Path {
        segments!["stacks"]
    }

    fn body(&self) -> Result<Body> {
        self.to_body(Self::OPERATION)
    }

    fn decode(&self, answer: Answer) -> Result<CreatedStack> {
        #[derive(serde::Deserialize)]
        struct Made {
            id: String,
        }
        let made: Made = answer.json_at("stack")?;
        Ok(CreatedStack {
            stack: StackRef::new(&self.name, made.id),
        })
    }
}

/// Asks Heat what a creation would make, without making it. The answer is Heat's own, untyped: it is not a safety
/// check (it reports replacements that do not happen).
#[derive(Debug, Clone)]
pub struct PreviewStack(pub CreateStack);

impl Request for PreviewStack {
    type Output = Value;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: http::Method = http::Method::POST;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "preview stack";

    fn path(&self) -> Path {
        segments!["stacks", "preview"]
    }

    fn body(&self) -> Result<Body> {
        self.0.to_body(Self::OPERATION)
    }

    fn decode(&self, answer: Answer) -> Result<Value> {
        answer.json_at("stack")
    }
}
