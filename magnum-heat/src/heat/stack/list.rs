//! Listing stacks.

use http::Method;

use super::model::{Stack, StackSummary};
use crate::{
    Result, Session,
    paging::{self, Page},
    request::{Answer, Path, Query, Request, ServiceType, segments},
};

/// One page of stacks; [`list_stacks`] reads all pages.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListStacks {
    /// Stacks that carry all of these tags.
    pub tags: Vec<String>,
    /// Stacks that carry any of these tags.
    pub tags_any: Vec<String>,
    /// Stacks that do not carry all of these tags.
    pub not_tags: Vec<String>,
    /// Stacks that carry none of these tags.
    pub not_tags_any: Vec<String>,
    /// Stacks of this name.
    pub name: Option<String>,
    /// Stacks of this id.
    pub id: Option<String>,
    /// Stacks of this status, such as `COMPLETE` or `FAILED`.
    pub status: Option<String>,
    /// Stacks of this action, such as `CREATE`.
    pub action: Option<String>,
    /// Nested stacks too.
    pub show_nested: bool,
    /// Deleted stacks too.
    pub show_deleted: bool,
    /// Hidden stacks too.
    pub show_hidden: bool,
    /// Stacks of all projects (administrators).
    pub global: bool,
    /// Stacks in one page; `None` is Heat's own limit.
    pub limit: Option<usize>,
    /// Id of the last stack of the page before.
    pub marker: Option<String>,
}

impl ListStacks {
    /// All stacks of the project.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only stacks that carry all of these tags.
    #[must_use]
    pub fn with_tags<S: Into<String>>(mut self, tags: impl IntoIterator<Item = S>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Only stacks of this name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Stacks of all projects.
    #[must_use]
    pub fn global(mut self) -> Self {
        self.global = true;
        self
    }
}

impl Request for ListStacks {
    type Output = Vec<StackSummary>;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list stacks";

    fn path(&self) -> Path {
        segments!["stacks"]
    }

    fn query(&self) -> Query {
        let mut query = Query::new();
        for (key, tags) in [
            ("tags", &self.tags),
            ("tags_any", &self.tags_any),
            ("not_tags", &self.not_tags),
            ("not_tags_any", &self.not_tags_any),
        ] {
            if !tags.is_empty() {
                query.push((key.into(), tags.join(",")));
            }
        }
        for (key, value) in [
            ("name", &self.name),
            ("id", &self.id),
            ("status", &self.status),
            ("action", &self.action),
        ] {
            if let Some(value) = value {
                query.push((key.into(), value.clone()));
            }
        }
        for (key, flag) in [
            ("show_nested", self.show_nested),
            ("show_deleted", self.show_deleted),
            ("show_hidden", self.show_hidden),
            ("global_tenant", self.global),
        ] {
            if flag {
                query.push((key.into(), "True".to_owned()));
            }
        }
        paging::push(&mut query, self.limit, self.marker.as_deref());
        query
    }

    fn decode(&self, answer: Answer) -> Result<Vec<StackSummary>> {
        answer.json_at("stacks")
    }
}

impl Page for ListStacks {
    type Item = StackSummary;

    fn limit(&self) -> Option<usize> {
        self.limit
    }

    fn after(&self, marker: &str) -> Self {
        Self {
            marker: Some(marker.to_owned()),
            ..self.clone()
        }
    }

    fn marker_of(item: &StackSummary) -> &str {
        &item.id
    }
}

/// Lists stacks with everything that showing each would tell, outputs not among it.
#[derive(Debug, Clone, Default)]
pub struct ListStacksDetail(pub ListStacks);

impl Request for ListStacksDetail {
    type Output = Vec<Stack>;
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list stacks in detail";

    fn path(&self) -> Path {
        segments!["stacks", "detail"]
    }

    fn query(&self) -> Query {
        self.0.query()
    }

    fn decode(&self, answer: Answer) -> Result<Vec<Stack>> {
        answer.json_at("stacks")
    }
}

/// Reads all pages of a list of stacks (`HC-07`).
///
/// # Errors
/// Those of [`Session::send`], and [`crate::Error::PagingLoop`].
pub async fn list_stacks(session: &Session, request: ListStacks) -> Result<Vec<StackSummary>> {
    paging::all(session, request).await
}
