//! From resources and events to causes. Pure.

use std::{collections::HashMap, fmt};

use chrono::{DateTime, Utc};

use super::{CauseKind, Reason};
use crate::{event::Event, resource::Resource, stack::StackRef};

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// Kind, with its numbers.
    pub kind: CauseKind,
    /// Resources from the outermost stack to the failed one: `workers`, `2`, `server`.
    pub path: Vec<String>,
    /// Type of the failed resource, where known.
    pub resource_type: Option<String>,
    /// Id of the real thing, where it exists.
    pub physical_id: Option<String>,
    /// Message of the service, cleaned of Heat's wrapping.
    pub message: String,
    /// When it failed.
    pub time: Option<DateTime<Utc>>,
    /// Request id, for the cloud's operator.
    pub request_id: Option<String>,
    /// Whether it was only given up because something else failed.
    pub follower: bool,
}

impl Cause {
    /// Name of the failed resource in its own stack.
    pub fn resource(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    pub(super) fn of_reason(
        text: &str,
        mut path: Vec<String>,
        resource_type: Option<String>,
    ) -> Self {
        let reason = Reason::parse(text);
        // Heat's text repeats the last part of the path, or goes further down than we know.
        if path.is_empty() || reason.path.len() > 1 {
            let known = reason
                .path
                .first()
                .is_some_and(|first| path.last() == Some(first));
            path.extend(reason.path.iter().skip(usize::from(known)).cloned());
        }
        Self {
            kind: CauseKind::of(&reason, resource_type.as_deref()),
            path,
            resource_type,
            physical_id: None,
            follower: reason.is_follower(),
            message: reason.message,
            time: None,
            request_id: reason.request_id,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            CauseKind::Quota(q) if q.limit.is_some() && q.used.is_some() => {
                write!(
                    f,
                    "quota exceeded: {} {} of {} in use",
                    q.resource,
                    q.used.unwrap_or(0),
                    q.limit.unwrap_or(0)
                )?;
                if let Some(requested) = q.requested {
                    write!(f, ", {requested} more requested")?;
                }
            }
            _ => f.write_str(&self.message)?,
        }
        if self.path.is_empty() {
            Ok(())
        } else {
            write!(f, " (resource {})", self.path.join("/"))
        }
    }
}

/// A failed resource by its stack's id and its name.
type Key = (String, String);

/// The causes of a failed stack, the root cause first: real ones before followers, earlier before later.
///
/// `since` is when the failed action began; older events belong to former actions. Resources may be those of failed
/// branches only. Containers whose failure something inside them explains are left out.
pub fn causes(
    root: &StackRef,
    since: Option<DateTime<Utc>>,
    resources: &[Resource],
    events: &[Event],
) -> Vec<Cause> {
    let root_id = root.id().unwrap_or(root.name()).to_owned();
    let mut places: HashMap<String, (String, String)> = HashMap::new();
    for resource in resources {
        let (Some(nested), Some(stack)) = (nested_id(resource), resource.stack()) else {
            continue;
        };
        places.insert(
            nested,
            (
                stack.id().unwrap_or_default().to_owned(),
                resource.name.clone(),
            ),
        );
    }
    for event in events.iter().filter(|e| !e.is_of_stack()) {
        if let (Some(stack), false) = (event.stack(), event.physical_id.is_empty()) {
            let place = (
                stack.id().unwrap_or_default().to_owned(),
                event.resource.clone(),
            );
            places.entry(event.physical_id.clone()).or_insert(place);
        }
    }
    let mut found: HashMap<Key, Cause> = HashMap::new();
    let fresh = |event: &&Event| match (event.time, since) {
        (Some(time), Some(since)) => time >= since,
        _ => true,
    };
    for event in events
        .iter()
        .filter(fresh)
        .filter(|e| e.status.is_failed() && !e.is_of_stack())
    {
        let Some(stack) = event.stack() else { continue };
        let key = (
            stack.id().unwrap_or_default().to_owned(),
            event.resource.clone(),
        );
        let mut cause = Cause::of_reason(
            &event.reason,
            path_of(&places, &root_id, &key),
            event.kind.clone(),
        );
        cause.time = event.time;
        cause.physical_id = Some(event.physical_id.clone()).filter(|id| !id.is_empty());
        match found.get(&key) {
            Some(known) if known.time <= cause.time && !known.follower => {}
            _ => drop(found.insert(key, cause)),
        }
    }
    for resource in resources {
        let Some(stack) = resource.stack() else {
            continue;
        };
        let key = (
            stack.id().unwrap_or_default().to_owned(),
            resource.name.clone(),
        );
        if !resource.status.is_failed() {
            // It failed once and was mended since, so it is no cause.
            found.remove(&key);
            continue;
        }
        let path = path_of(&places, &root_id, &key);
        let mut cause =
            Cause::of_reason(&resource.status_reason, path, Some(resource.kind.clone()));
        cause.physical_id = Some(resource.physical_id.clone()).filter(|id| !id.is_empty());
        cause.time = found.get(&key).and_then(|c| c.time).or(resource.updated);
        found.insert(key, cause);
    }
    let mut all: Vec<Cause> = found.into_values().collect();
    let paths: Vec<Vec<String>> = all
        .iter()
        .filter(|c| !c.follower)
        .map(|c| c.path.clone())
        .collect();
    // A container is explained by a real failure below it, or by its twin with the same path from the text.
    all.retain(|cause| {
        !paths
            .iter()
            .any(|p| p.len() > cause.path.len() && p.starts_with(&cause.path))
    });
    all.sort_by(|a, b| {
        let rank = |c: &Cause| {
            (
                c.follower,
                c.kind == CauseKind::Unknown && c.message.is_empty(),
            )
        };
        let time = |c: &Cause| c.time.unwrap_or(DateTime::<Utc>::MAX_UTC);
        rank(a)
            .cmp(&rank(b))
            .then(time(a).cmp(&time(b)))
            .then(b.path.len().cmp(&a.path.len()))
            .then(a.path.cmp(&b.path))
    });
    all.dedup_by(|b, a| a.path == b.path);
    all
}

/// The id of the stack that a resource is, where it is one.
fn nested_id(resource: &Resource) -> Option<String> {
    resource.nested().and_then(|s| s.id().map(str::to_owned))
}

fn path_of(places: &HashMap<String, (String, String)>, root: &str, key: &Key) -> Vec<String> {
    let mut path = vec![key.1.clone()];
    let mut stack = &key.0;
    for _ in 0..16 {
        if stack == root {
            break;
        }
        let Some((outer, name)) = places.get(stack) else {
            break;
        };
        path.push(name.clone());
        stack = outer;
    }
    path.reverse();
    path
}
