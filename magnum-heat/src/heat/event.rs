//! Events of a stack.

use chrono::{DateTime, Utc};
use http::Method;
use serde::Deserialize;

use super::stack::{StackLink, StackRef};
use crate::{
    Result, Session,
    heat::{StackStatus, stack},
    paging::{self, Page},
    request::{Answer, Path, Query, Request, ServiceType, request},
    wire,
};

/// Something that happened to a resource or to the stack itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Id.
    pub id: String,
    /// When.
    #[serde(rename = "event_time", deserialize_with = "wire::option")]
    pub time: Option<DateTime<Utc>>,
    /// Resource it happened to; the stack's name for the stack itself.
    #[serde(rename = "resource_name", deserialize_with = "wire::null_default")]
    pub resource: String,
    /// Type of the resource; absent in lists.
    #[serde(default, rename = "resource_type")]
    pub kind: Option<String>,
    /// Id of the real thing.
    #[serde(
        default,
        rename = "physical_resource_id",
        deserialize_with = "wire::null_default"
    )]
    pub physical_id: String,
    /// Status.
    #[serde(rename = "resource_status")]
    pub status: StackStatus,
    /// Reason.
    #[serde(
        default,
        rename = "resource_status_reason",
        deserialize_with = "wire::null_default"
    )]
    pub reason: String,
    /// Links.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub links: Vec<StackLink>,
}

impl Event {
    fn link(&self, rel: &str) -> Option<StackRef> {
        self.links
            .iter()
            .find(|l| l.rel == rel)
            .and_then(|l| stack::stack_of_href(&l.href))
    }

    /// The stack that it happened in.
    pub fn stack(&self) -> Option<StackRef> {
        self.link("stack")
    }

    /// The outermost stack.
    pub fn root_stack(&self) -> Option<StackRef> {
        self.link("root_stack")
    }

    /// Whether it is about a stack itself and not about a resource of it.
    pub fn is_of_stack(&self) -> bool {
        self.stack()
            .is_some_and(|s| s.name() == self.resource && s.id() == Some(self.physical_id.as_str()))
    }
}

request! {
    /// Reads one event with the type and properties of its resource.
    GetEvent {
        /// Which stack.
        stack: StackRef,
        /// Which resource.
        resource: String,
        /// Id of the event.
        id: String,
    } => Event;
    Orchestration GET "show event";
    path: |r| r.stack.path().join("resources").join(r.resource.clone()).join("events").join(r.id.clone());
    decode: |answer| answer.json_at("event")
}

/// One page of events; [`list_events`] reads all pages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListEvents {
    /// Which stack.
    pub stack: StackRef,
    /// Events of this resource only.
    pub resource: Option<String>,
    /// How deep into nested stacks; 0 is this stack only.
    pub nested_depth: u32,
    /// Newest first.
    pub newest_first: bool,
    /// Failures only.
    pub failed_only: bool,
    /// Events in one page; `None` is all that Heat gives.
    pub limit: Option<usize>,
    /// Id of the last event of the page before.
    pub marker: Option<String>,
}

impl ListEvents {
    /// The events of this stack, oldest first, in pages of 200.
    pub fn new(stack: impl Into<StackRef>) -> Self {
        Self {
            stack: stack.into(),
            resource: None,
            nested_depth: 0,
            newest_first: false,
            failed_only: false,
            limit: Some(200),
            marker: None,
        }
    }

    /// Those of nested stacks too.
    #[must_use]
    pub fn nested_depth(mut self, depth: u32) -> Self {
        self.nested_depth = depth;
        self
    }

    /// Events of one resource only.
    #[must_use]
    pub fn of_resource(mut self, name: impl Into<String>) -> Self {
        self.resource = Some(name.into());
        self
    }

    /// Newest first.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// So many in one page.
    #[must_use]
    pub fn page_size(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Begins after this event.
    #[must_use]
    pub fn after_event(mut self, id: impl Into<String>) -> Self {
        self.marker = Some(id.into());
        self
    }
}

impl Request for ListEvents {
    type Output = Vec<Event>;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list events";

    fn path(&self) -> Path {
        let path = self.stack.path();
        match &self.resource {
            Some(name) => path.join("resources").join(name.clone()).join("events"),
            None => path.join("events"),
        }
    }

    fn query(&self) -> Query {
        let mut query = Query::new();
        if self.nested_depth > 0 {
            query.push(("nested_depth".into(), self.nested_depth.to_string()));
        }
        if self.failed_only {
            query.push(("resource_status".into(), "FAILED".to_owned()));
        }
        query.push((
            "sort_dir".into(),
            if self.newest_first { "desc" } else { "asc" }.to_owned(),
        ));
        paging::push(&mut query, self.limit, self.marker.as_deref());
        query
    }

    fn decode(&self, answer: Answer) -> Result<Vec<Event>> {
        answer.json_at("events")
    }
}

impl Page for ListEvents {
    type Item = Event;

    fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn after(&self, marker: &str) -> Self {
        Self {
            marker: Some(marker.to_owned()),
            ..self.clone()
        }
    }

    fn marker_of(item: &Event) -> &str {
        &item.id
    }
}

/// Reads all pages of a list of events (`HC-07`).
///
/// # Errors
/// Those of [`Session::send`], and [`crate::Error::PagingLoop`].
pub async fn list_events(session: &Session, request: ListEvents) -> Result<Vec<Event>> {
    paging::all(session, request).await
}
