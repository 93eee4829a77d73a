//! Marker paging, with an end: whole lists, one page after the other, or items as a stream.

use std::collections::{HashSet, VecDeque};

use futures::Stream;

use crate::{
    Error, Result, Session,
    request::{Answer, Query, Request},
};

/// A list request that is read page by page.
pub trait Page: Request<Output = Vec<Self::Item>> + Sized {
    /// What is listed.
    type Item: Send;
    /// Items asked for in one page; `None` asks for everything in one answer.
    fn limit(&self) -> Option<usize>;
    /// The request of the page after this marker.
    fn after(&self, marker: &str) -> Self;
    /// The marker of an item.
    fn marker_of(item: &Self::Item) -> &str;
    /// Whether the answer itself says that more follows. A service whose operator allows smaller pages than were asked
    /// for says so; without it a short page is the last.
    fn says_more(&self, answer: &Answer) -> bool {
        let _ = answer;
        false
    }
}

/// Adds `limit` and `marker`.
pub(crate) fn push(query: &mut Query, limit: Option<usize>, marker: Option<&str>) {
    if let Some(limit) = limit {
        query.push(("limit".into(), limit.to_string()));
    }
    if let Some(marker) = marker {
        query.push(("marker".into(), marker.to_owned()));
    }
}

/// Whether the list of links under `key` has a next page; Nova and Neutron give one when they cut a page short.
pub(crate) fn has_next_link(answer: &Answer, key: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Link {
        rel: String,
    }
    answer
        .json_at::<Vec<Link>>(key)
        .is_ok_and(|links| links.iter().any(|link| link.rel == "next"))
}

/// Reads the pages of a list, one after the other; only one is held at a time.
#[derive(Debug)]
pub struct Pages<P> {
    session: Session,
    next: Option<P>,
    /// Markers that ended a page.
    ends: HashSet<String>,
}

impl<P: Page> Pages<P> {
    /// From this request's page on. Nothing is sent yet.
    pub fn new(session: &Session, first: P) -> Self {
        Self {
            session: session.clone(),
            next: Some(first),
            ends: HashSet::new(),
        }
    }

    /// The next page; `None` after the last. Cancel safe: a page that was not given is read again.
    ///
    /// # Errors
    /// Those of [`Session::send`], after which the same page can be asked for again; [`Error::PagingLoop`] when the
    /// service repeats a page, after which there is none.
    pub async fn next(&mut self) -> Result<Option<Vec<P::Item>>> {
        let Some(request) = &self.next else {
            return Ok(None);
        };
        let answer = self.session.answer(request).await?;
        let limit = request.limit().filter(|limit| *limit > 0);
        let short = limit.map(|_| request.says_more(&answer));
        let page = request.decode(answer)?;
        let Some(end) = page.last().map(|item| P::marker_of(item).to_owned()) else {
            self.next = None;
            return Ok(None);
        };
        let repeated = page
            .iter()
            .map(P::marker_of)
            .find(|marker| self.ends.contains(*marker));
        if let Some(marker) = repeated {
            let marker = marker.to_owned();
            self.next = None;
            return Err(Error::PagingLoop {
                operation: P::OPERATION,
                marker,
            });
        }
        let full = limit.is_some_and(|limit| page.len() >= limit);
        self.next = (full || short == Some(true)).then(|| request.after(&end));
        self.ends.insert(end);
        Ok(Some(page))
    }
}

/// Reads all pages. Without a limit one page is everything.
///
/// # Errors
/// Those of [`Session::send`]; [`Error::PagingLoop`] when the service repeats a page.
pub async fn all<P: Page>(session: &Session, first: P) -> Result<Vec<P::Item>> {
    let mut pages = Pages::new(session, first);
    let mut items: Vec<P::Item> = Vec::new();
    while let Some(page) = pages.next().await? {
        items.extend(page);
    }
    Ok(items)
}

/// The items of all pages in order, each read when it is asked for: memory is that of one page, however long the list.
///
/// Ends after the first error.
pub fn stream<P>(session: &Session, first: P) -> impl Stream<Item = Result<P::Item>> + Send + use<P>
where
    P: Page + Send,
{
    let state = (Some(Pages::new(session, first)), VecDeque::new());
    futures::stream::unfold(state, |(mut pages, mut ready)| async move {
        loop {
            if let Some(item) = ready.pop_front() {
                return Some((Ok(item), (pages, ready)));
            }
            match pages.as_mut()?.next().await {
                Ok(page) => ready.extend(page?),
                Err(error) => return Some((Err(error), (None, ready))),
            }
        }
    })
}
