//! Watches: a stream of changes after a version.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Duration, Instant};
use tokio_stream::wrappers::ReceiverStream;

use super::answer::Body;
use super::core::Core;
use super::error::ApiError;
use super::resources::Resource;
use super::selector::Selector;
use super::store::Change;
use super::table::table;

/// What a watch wants to see.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) resource: Arc<Resource>,
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) labels: Selector,
    pub(crate) fields: Selector,
    /// The `includeObject` parameter when the client wants tables.
    pub(crate) as_table: Option<String>,
    pub(crate) bookmarks: bool,
    /// Whether an initial-events-end bookmark is due after the initial list.
    pub(crate) initial_events: bool,
}

impl Wanted {
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let meta = &object["metadata"];
        (self.namespace.is_empty() || meta["namespace"] == self.namespace.as_str())
            && (self.name.is_empty() || meta["name"] == self.name.as_str())
            && self.labels.matches_labels(object)
            && self.fields.matches_fields(object)
    }

    fn event(&self, kind: &str, object: &Value) -> Vec<u8> {
        let shown = match &self.as_table {
            Some(include) if kind != "ERROR" && kind != "BOOKMARK" => {
                let meta = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                table(
                    &self.resource,
                    std::iter::once(object),
                    &meta,
                    include,
                    true,
                )
            }
            _ => object.clone(),
        };
        let mut bytes =
            serde_json::to_vec(&json!({"type": kind, "object": shown})).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    fn bookmark(&self, version: u64, end: bool) -> Vec<u8> {
        let mut object = json!({
            "kind": self.resource.kind, "apiVersion": self.resource.api_version(),
            "metadata": {"resourceVersion": version.to_string()},
        });
        if end {
            object["metadata"]["annotations"]["k8s.io/initial-events-end"] = "true".into();
        }
        self.event("BOOKMARK", &object)
    }

    /// How a change looks to this watch: an object that no longer matches is gone for it.
    fn see(&self, change: &Change) -> Option<Vec<u8>> {
        if change.key.table != self.resource.table() {
            return None;
        }
        let before = change.previous.as_deref().is_some_and(|o| self.matches(o));
        let after = !change.deleted && self.matches(&change.object);
        match (before, after) {
            (false, true) => Some(self.event("ADDED", &change.object)),
            (true, true) => Some(self.event("MODIFIED", &change.object)),
            (true, false) => Some(self.event("DELETED", &change.object)),
            (false, false) => None,
        }
    }
}

/// Opens the stream. `since` empty or `0` begins with everything there is.
pub(crate) fn open(
    core: &Arc<Core>,
    wanted: Wanted,
    since: &str,
    timeout: Option<u64>,
) -> Result<Body, ApiError> {
    let mut first = Vec::new();
    let mut seen = since.parse::<u64>().unwrap_or(0);
    let from_start = seen == 0 || wanted.initial_events;
    let (missed, changes) = if from_start {
        let changes = core.store.subscribe();
        let (version, items) = core.store.list(&wanted.resource.table(), None);
        seen = version;
        for item in items.iter().filter(|i| wanted.matches(i)) {
            first.extend(wanted.event("ADDED", item));
        }
        if wanted.initial_events && wanted.bookmarks {
            first.extend(wanted.bookmark(version, true));
        }
        (Vec::new(), changes)
    } else {
        core.store.follow(seen)?
    };
    for change in &missed {
        seen = seen.max(change.version);
        first.extend(wanted.see(change).unwrap_or_default());
    }
    let (send, receive) = mpsc::channel::<Vec<u8>>(64);
    let limit = Duration::from_secs(timeout.unwrap_or(1800).min(3600));
    tokio::spawn(pump(wanted, changes, send, first, seen, limit));
    let frames = ReceiverStream::new(receive).map(|bytes| Ok(Frame::data(Bytes::from(bytes))));
    Ok(BodyExt::boxed(StreamBody::new(frames)))
}

async fn pump(
    wanted: Wanted,
    mut changes: broadcast::Receiver<Change>,
    send: mpsc::Sender<Vec<u8>>,
    first: Vec<u8>,
    mut seen: u64,
    limit: Duration,
) {
    let end = Instant::now() + limit;
    if !first.is_empty() && send.send(first).await.is_err() {
        return;
    }
    loop {
        let change = tokio::select! {
            c = changes.recv() => c,
            () = tokio::time::sleep_until(end) => return,
            () = send.closed() => return,
            () = tokio::time::sleep(Duration::from_secs(30)), if wanted.bookmarks => {
                if send.send(wanted.bookmark(seen, false)).await.is_err() {
                    return;
                }
                continue;
            }
        };
        match change {
            Ok(change) if change.version <= seen => {}
            Ok(change) => {
                seen = change.version;
                if let Some(bytes) = wanted.see(&change)
                    && send.send(bytes).await.is_err()
                {
                    return;
                }
            }
            Err(broadcast::error::RecvError::Lagged(_)) => {
                let gone = ApiError::new(
                    410,
                    "Expired",
                    "too old resource version: the watch fell behind",
                );
                let _ = send.send(wanted.event("ERROR", &gone.body())).await;
                return;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}
