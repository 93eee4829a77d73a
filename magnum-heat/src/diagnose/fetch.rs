//! Fetching what the diagnosis needs, with a bounded number of requests.

use std::collections::VecDeque;

use super::cause::{Cause, causes};
use crate::{
    Result, Session,
    event::ListEvents,
    resource::{ListResources, Resource},
    stack::{ShowStack, StackRef},
};

/// Most requests that one diagnosis makes.
pub const MAX_REQUESTS: usize = 16;
/// Failed events looked at, newest first.
const EVENTS: usize = 200;

/// The root cause of a failed stack; `None` when the stack has not failed.
///
/// Opens failed branches only: of a tree with thousands of resources it reads what failed and nothing else, in at most
/// [`MAX_REQUESTS`] requests.
///
/// # Errors
/// Those of [`Session::send`]. Cancel safe.
pub async fn root_cause(session: &Session, stack: &StackRef) -> Result<Option<Cause>> {
    let shown = session.send(ShowStack::new(stack)).await?;
    if !shown.status.is_failed() {
        return Ok(None);
    }
    let root = shown.reference();
    let mut requests = 1;
    let mut resources: Vec<Resource> = Vec::new();
    let mut branches = VecDeque::from([root.clone()]);
    while let Some(branch) = branches.pop_front() {
        if requests + 1 >= MAX_REQUESTS {
            break;
        }
        requests += 1;
        let failed = match session
            .send(ListResources::new(branch).with_status("FAILED"))
            .await
        {
            Ok(failed) => failed,
            // A nested stack may vanish while we look.
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(error),
        };
        branches.extend(
            failed
                .iter()
                .filter(|r| r.status.is_failed())
                .filter_map(Resource::nested),
        );
        resources.extend(failed);
    }
    let mut request = ListEvents::new(&root)
        .nested_depth(5)
        .newest_first()
        .page_size(EVENTS);
    request.failed_only = true;
    let events = session.send(request).await?;
    let since = shown.updated.or(shown.created);
    let mut all = causes(&root, since, &resources, &events);
    if all.is_empty() || all.iter().all(|c| c.follower) {
        let own = Cause::of_reason(&shown.status_reason, Vec::new(), None);
        if !own.follower && !own.message.is_empty() {
            return Ok(Some(own));
        }
    }
    Ok(if all.is_empty() {
        None
    } else {
        Some(all.swap_remove(0))
    })
}
