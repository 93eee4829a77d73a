//! Resources of a stack.

use std::fmt;

use chrono::{DateTime, Utc};
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::stack::{StackLink, StackRef};
use crate::{
    Result, Session,
    heat::{StackStatus, stack},
    request::{Answer, Body, Path, Query, Request, ServiceType, request},
    wire,
};

/// A resource of a stack. `Debug` shows no attributes.
#[derive(Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Resource {
    /// Name in the template.
    #[serde(rename = "resource_name")]
    pub name: String,
    /// Type.
    #[serde(rename = "resource_type")]
    pub kind: String,
    /// Id of the real thing; empty until it exists.
    #[serde(
        default,
        rename = "physical_resource_id",
        deserialize_with = "wire::null_default"
    )]
    pub physical_id: String,
    /// Status.
    #[serde(rename = "resource_status")]
    pub status: StackStatus,
    /// Reason of the status.
    #[serde(
        default,
        rename = "resource_status_reason",
        deserialize_with = "wire::null_default"
    )]
    pub status_reason: String,
    /// When it was made.
    #[serde(default, rename = "creation_time", deserialize_with = "wire::option")]
    pub created: Option<DateTime<Utc>>,
    /// When it was last changed.
    #[serde(default, rename = "updated_time", deserialize_with = "wire::option")]
    pub updated: Option<DateTime<Utc>>,
    /// Resources that depend on it.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub required_by: Vec<String>,
    /// Name of the resource that it is nested in, in its parent stack.
    #[serde(default, rename = "parent_resource")]
    pub parent: Option<String>,
    /// Attributes; only when shown alone.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub attributes: Map<String, Value>,
    /// Links.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub links: Vec<StackLink>,
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("physical_id", &self.physical_id)
            .field("status", &self.status.to_string())
            .field("status_reason", &self.status_reason)
            .finish_non_exhaustive()
    }
}

impl Resource {
    fn link(&self, rel: &str) -> Option<StackRef> {
        self.links
            .iter()
            .find(|l| l.rel == rel)
            .and_then(|l| stack::stack_of_href(&l.href))
    }

    /// The stack that holds it.
    pub fn stack(&self) -> Option<StackRef> {
        self.link("stack")
    }

    /// The stack that it is itself, for nested stacks and groups.
    pub fn nested(&self) -> Option<StackRef> {
        self.link("nested")
    }
}

/// Lists the resources of a stack. Heat does not page it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListResources {
    /// Which stack.
    pub stack: StackRef,
    /// How deep into nested stacks; 0 is this stack only.
    pub nested_depth: u32,
    /// Only those of this status word, such as `FAILED`.
    pub status: Option<String>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those of this name.
    pub name: Option<String>,
}

impl ListResources {
    /// The resources of this stack.
    pub fn new(stack: impl Into<StackRef>) -> Self {
        Self {
            stack: stack.into(),
            nested_depth: 0,
            status: None,
            kind: None,
            name: None,
        }
    }

    /// Those of nested stacks too.
    #[must_use]
    pub fn nested_depth(mut self, depth: u32) -> Self {
        self.nested_depth = depth;
        self
    }

    /// Only those of this phase word, such as `FAILED`.
    #[must_use]
    pub fn with_status(mut self, status: impl Into<String>) -> Self {
        self.status = Some(status.into());
        self
    }
}

impl Request for ListResources {
    type Output = Vec<Resource>;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list resources";

    fn path(&self) -> Path {
        self.stack.path().join("resources")
    }

    fn query(&self) -> Query {
        let mut query = Query::new();
        if self.nested_depth > 0 {
            query.push(("nested_depth".into(), self.nested_depth.to_string()));
        }
        for (key, value) in [
            ("status", &self.status),
            ("type", &self.kind),
            ("name", &self.name),
        ] {
            if let Some(value) = value {
                query.push((key.into(), value.clone()));
            }
        }
        query
    }

    fn decode(&self, answer: Answer) -> Result<Vec<Resource>> {
        answer.json_at("resources")
    }
}

request! {
    /// Reads a resource with its attributes.
    ShowResource {
        /// Which stack.
        stack: StackRef,
        /// Which resource.
        name: String,
    } => Resource;
    Orchestration GET "show resource";
    path: |r| r.stack.path().join("resources").join(r.name.clone());
    decode: |answer| answer.json_at("resource")
}

request! {
    /// Reads the metadata of a resource; a wait condition handle keeps its signals there.
    GetResourceMetadata {
        /// Which stack.
        stack: StackRef,
        /// Which resource.
        name: String,
    } => Map<String, Value>;
    Orchestration GET "get resource metadata";
    path: |r| r.stack.path().join("resources").join(r.name.clone()).join("metadata");
    decode: |answer| answer.json_at("metadata")
}

/// Sends a signal to a resource.
///
/// A wait condition's signal of the same id counts once, so it may be repeated.
#[derive(Clone)]
pub struct SignalResource {
    /// Which stack.
    pub stack: StackRef,
    /// Which resource.
    pub name: String,
    /// The signal: for wait condition handles a map of `id`, `status`, `reason`, `data`.
    pub signal: Value,
}

impl fmt::Debug for SignalResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalResource")
            .field("stack", &self.stack)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Request for SignalResource {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "signal resource";

    fn path(&self) -> Path {
        self.stack
            .path()
            .join("resources")
            .join(self.name.clone())
            .join("signal")
    }

    fn body(&self) -> Result<Body> {
        Body::json(Self::OPERATION, &self.signal)
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

request! {
    /// Marks a resource unhealthy, so that the next update replaces it.
    MarkUnhealthy {
        /// Which stack.
        stack: StackRef,
        /// Which resource.
        name: String,
        /// Whether it is unhealthy.
        unhealthy: bool,
        /// Why.
        reason: String,
    } => ();
    Orchestration PATCH "mark resource unhealthy";
    path: |r| r.stack.path().join("resources").join(r.name.clone());
    body: |r| serde_json::json!({"mark_unhealthy": r.unhealthy, "resource_status_reason": r.reason});
    idempotent: true;
    decode: |answer| answer.ignore()
}

/// One signal that a wait condition handle has received.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ReceivedSignal {
    /// Its id.
    #[serde(skip)]
    pub id: String,
    /// `SUCCESS` or `FAILURE`.
    #[serde(default)]
    pub status: String,
    /// Reason.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub reason: String,
    /// Data.
    #[serde(default)]
    pub data: Value,
}

/// Reads the signals that a wait condition handle has received, in Heat's order.
///
/// # Errors
/// Those of [`Session::send`].
pub async fn received_signals(
    session: &Session,
    stack: &StackRef,
    handle: &str,
) -> Result<Vec<ReceivedSignal>> {
    let metadata = session
        .send(GetResourceMetadata {
            stack: stack.clone(),
            name: handle.to_owned(),
        })
        .await?;
    Ok(signals_of(metadata))
}

/// The signals in a handle's metadata. Pure.
pub fn signals_of(metadata: Map<String, Value>) -> Vec<ReceivedSignal> {
    metadata
        .into_iter()
        .filter_map(|(id, value)| {
            let signal: ReceivedSignal = serde_json::from_value(value).ok()?;
            Some(ReceivedSignal { id, ..signal })
        })
        .collect()
}
