//! Marker paging, with an end.

use crate::{
    Error, Result, Session,
    request::{Query, Request},
};

/// A list request that is read page by page.
pub trait Page: Request<Output = Vec<Self::Item>> + Sized {
    /// What is listed.
    type Item: Send;
    /// Items asked for in one page; `None` leaves it to the service, whose own limit then ends nothing: paging goes on
    /// until an empty page.
    fn limit(&self) -> Option<usize>;
    /// The request of the page after this marker.
    fn after(&self, marker: &str) -> Self;
    /// The marker of an item.
    fn marker_of(item: &Self::Item) -> &str;
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

/// Reads all pages until a short one. Without a limit one page is everything.
///
/// # Errors
/// Those of [`Session::send`]; [`Error::PagingLoop`] when the service repeats a page.
pub async fn all<P: Page>(session: &Session, first: P) -> Result<Vec<P::Item>> {
    let mut items: Vec<P::Item> = Vec::new();
    let mut request = first;
    let mut last: Option<String> = None;
    loop {
        let page = session.send_ref(&request).await?;
        let full = request
            .limit()
            .is_some_and(|limit| limit > 0 && page.len() >= limit);
        let Some(end) = page.last().map(|item| P::marker_of(item).to_owned()) else {
            return Ok(items);
        };
        if let Some(marker) = &last
            && page.iter().any(|item| P::marker_of(item) == marker)
        {
            return Err(Error::PagingLoop {
                operation: P::OPERATION,
                marker: marker.clone(),
            });
        }
        items.extend(page);
        if !full {
            return Ok(items);
        }
        request = request.after(&end);
        last = Some(end);
    }
}
