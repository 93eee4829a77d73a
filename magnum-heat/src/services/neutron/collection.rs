//! One set of requests for every kind of thing that Neutron keeps.

use std::{fmt, marker::PhantomData};

use http::Method;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{
    Named, Result, Session,
    paging::{self, Page},
    pick,
    request::{Answer, Body, Path, Query, Request, ServiceType, segments},
};

/// A kind of thing that Neutron keeps.
pub trait Item: Named + DeserializeOwned + fmt::Debug + Clone + Send + Sync + 'static {
    /// Plural in paths: `floatingips`, `security-groups`.
    const PATH: &'static str;
    /// Plural in answers: `floatingips`, `security_groups`.
    const PLURAL: &'static str;
    /// Singular in answers: `floatingip`.
    const SINGULAR: &'static str;
    /// Field that look-ups by name compare.
    const NAME_FIELD: &'static str = "name";
}

/// Lists things of one kind, a page of 500 at a time; [`list`] reads all pages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListItems<T> {
    /// Filters: `name`, `tags`, `network_id`, `device_id`, `router:external`, ...
    pub filters: Vec<(String, String)>,
    /// Items in one page.
    pub limit: Option<usize>,
    /// Id of the last item of the page before.
    pub marker: Option<String>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Default for ListItems<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ListItems<T> {
    /// All that the project sees.
    pub fn new() -> Self {
        Self {
            filters: Vec::new(),
            limit: Some(500),
            marker: None,
            kind: PhantomData,
        }
    }

    /// Only those where the field has the value. A field may be given several times.
    #[must_use]
    pub fn filter(mut self, field: impl Into<String>, value: impl Into<String>) -> Self {
        self.filters.push((field.into(), value.into()));
        self
    }

    /// Only those that carry this tag.
    #[must_use]
    pub fn with_tag(self, tag: impl Into<String>) -> Self {
        self.filter("tags", tag)
    }

    /// Only those of this project.
    #[must_use]
    pub fn of_project(self, project: impl Into<String>) -> Self {
        self.filter("project_id", project)
    }
}

impl<T: Item> Request for ListItems<T> {
    type Output = Vec<T>;
    const SERVICE: ServiceType = ServiceType::Network;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "list network resources";

    fn path(&self) -> Path {
        segments![T::PATH]
    }

    fn query(&self) -> Query {
        let mut query: Query = self
            .filters
            .iter()
            .map(|(k, v)| (k.clone().into(), v.clone()))
            .collect();
        paging::push(&mut query, self.limit, self.marker.as_deref());
        query
    }

    fn decode(&self, answer: Answer) -> Result<Vec<T>> {
        answer.json_at(T::PLURAL)
    }
}

impl<T: Item> Page for ListItems<T> {
    type Item = T;
    fn limit(&self) -> Option<usize> {
        self.limit
    }
    fn after(&self, marker: &str) -> Self {
        Self {
            marker: Some(marker.to_owned()),
            ..self.clone()
        }
    }
    fn marker_of(item: &T) -> &str {
        item.id()
    }
    fn says_more(&self, answer: &Answer) -> bool {
        paging::has_next_link(answer, &format!("{}_links", T::PLURAL))
    }
}

/// Reads one thing.
#[derive(Debug, Clone)]
pub struct ShowItem<T> {
    id: String,
    kind: PhantomData<fn() -> T>,
}

impl<T> ShowItem<T> {
    /// By id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind: PhantomData,
        }
    }
}

impl<T: Item> Request for ShowItem<T> {
    type Output = T;
    const SERVICE: ServiceType = ServiceType::Network;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "show network resource";

    fn path(&self) -> Path {
        segments![T::PATH, self.id]
    }

    fn decode(&self, answer: Answer) -> Result<T> {
        answer.json_at(T::SINGULAR)
    }
}

/// Deletes one thing.
#[derive(Debug, Clone)]
pub struct DeleteItem<T> {
    id: String,
    kind: PhantomData<fn() -> T>,
}

impl<T> DeleteItem<T> {
    /// By id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind: PhantomData,
        }
    }
}

impl<T: Item> Request for DeleteItem<T> {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Network;
    const METHOD: Method = Method::DELETE;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "delete network resource";

    fn path(&self) -> Path {
        segments![T::PATH, self.id]
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

/// Replaces all tags of one thing.
#[derive(Debug, Clone)]
pub struct SetTags<T> {
    id: String,
    tags: Vec<String>,
    kind: PhantomData<fn() -> T>,
}

impl<T> SetTags<T> {
    /// By id.
    pub fn new<S: Into<String>>(id: impl Into<String>, tags: impl IntoIterator<Item = S>) -> Self {
        Self {
            id: id.into(),
            tags: tags.into_iter().map(Into::into).collect(),
            kind: PhantomData,
        }
    }
}

impl<T: Item> Request for SetTags<T> {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Network;
    const METHOD: Method = Method::PUT;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "set tags";

    fn path(&self) -> Path {
        segments![T::PATH, self.id, "tags"]
    }

    fn body(&self) -> Result<Body> {
        Body::json(Self::OPERATION, &json!({"tags": self.tags}))
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

/// Reads all pages of a list.
///
/// # Errors
/// Those of [`Session::send`], and [`crate::Error::PagingLoop`].
pub async fn list<T: Item>(session: &Session, request: ListItems<T>) -> Result<Vec<T>> {
    paging::all(session, request).await
}

/// Reads one thing by id.
///
/// # Errors
/// Those of [`Session::send`].
pub async fn show<T: Item>(session: &Session, id: &str) -> Result<T> {
    session.send(ShowItem::<T>::new(id)).await
}

/// Deletes one thing by id.
///
/// # Errors
/// Those of [`Session::send`].
pub async fn delete<T: Item>(session: &Session, id: &str) -> Result<()> {
    session.send(DeleteItem::<T>::new(id)).await
}

/// Finds one thing by name or id.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find<T: Item>(session: &Session, name_or_id: &str) -> Result<T> {
    if name_or_id.is_empty() {
        return Ok(pick(name_or_id, Vec::new())?);
    }
    let mut found = list(session, ListItems::<T>::new().filter("id", name_or_id)).await?;
    if found.is_empty() {
        found = list(
            session,
            ListItems::<T>::new().filter(T::NAME_FIELD, name_or_id),
        )
        .await?;
    }
    Ok(pick(name_or_id, found)?)
}
