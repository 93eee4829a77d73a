//! Lists as streams of items (`HC-07`).

use futures::{StreamExt, TryStreamExt};
use magnum_heat::{
    Error,
    event::{Event, ListEvents},
    neutron, nova,
    paging::{self, Pages},
    stack::{ListStacks, StackRef},
    testing::{Reply, Script},
};
use serde_json::{Value, json};

fn query(path: &str, key: &str) -> Option<String> {
    let url = url::Url::parse(&format!("http://x{path}")).unwrap();
    url.query_pairs()
        .find(|(k, _)| k == key)
        .map(|(_, v)| v.into_owned())
}

/// `total` events in pages of what is asked for, with `next` choosing where a page begins.
fn events(total: usize, begin: impl Fn(usize) -> usize + Send + Sync + 'static) -> Script {
    Script::new().rule(move |seen| {
        let limit: usize = query(&seen.path, "limit")?.parse().ok()?;
        let after = query(&seen.path, "marker").map_or(0, |m| m.parse::<usize>().unwrap_or(0));
        let first = begin(after) + 1;
        let items: Vec<Value> = (first..first + limit)
            .filter(|n| *n <= total)
            .map(|n| {
                json!({"id": n.to_string(), "event_time": "2026-12-01T10:00:00Z", "resource_name": "r",
                    "resource_status": "CREATE_COMPLETE"})
            })
            .collect();
        Some(Reply::json(200, &json!({"events": items})))
    })
}

fn of(limit: usize) -> ListEvents {
    ListEvents::new(StackRef::new("s", "i")).page_size(limit)
}

#[tokio::test(start_paused = true)]
async fn hc_07_a_stream_reads_no_further_than_it_is_asked() {
    let script = events(450, |after| after);
    let session = script.session().await.unwrap();
    let first: Vec<Event> = paging::stream(&session, of(100))
        .take(150)
        .try_collect()
        .await
        .unwrap();
    assert_eq!((first.len(), script.seen().len()), (150, 2));
    let all: Vec<Event> = paging::stream(&session, of(100))
        .try_collect()
        .await
        .unwrap();
    let ids: Vec<usize> = all.iter().map(|e| e.id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=450).collect::<Vec<_>>());
    assert_eq!(script.seen().len(), 2 + 5);
    let mut pages = Pages::new(&session, of(200));
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        sizes.push(page.len());
    }
    assert_eq!(sizes, [200, 200, 50]);
    assert!(pages.next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn hc_07_a_list_that_goes_round_ends_in_an_error() {
    // Page 1, page 2, page 3, page 2 again: no page repeats the one before it.
    let script = events(450, |after| if after == 30 { 10 } else { after });
    let session = script.session().await.unwrap();
    let read: Vec<Result<Event, Error>> = paging::stream(&session, of(10)).collect().await;
    assert_eq!(read.len(), 31);
    assert!(
        matches!(&read[30], Err(Error::PagingLoop { marker, .. }) if marker == "20"),
        "{:?}",
        read[30]
    );
    assert_eq!(script.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn hc_07_an_error_can_be_tried_again_at_the_same_page() {
    let page = |from: usize, to: usize| {
        let items: Vec<Value> = (from..=to)
            .map(|n| json!({"id": n.to_string(), "stack_name": "s", "stack_status": "CREATE_COMPLETE"}))
            .collect();
        Reply::json(200, &json!({"stacks": items}))
    };
    let script = Script::new()
        .then(page(1, 2))
        .then(Reply::empty(403))
        .then(page(3, 3));
    let session = script.session().await.unwrap();
    let mut request = ListStacks::new();
    request.limit = Some(2);
    let mut pages = Pages::new(&session, request.clone());
    assert_eq!(pages.next().await.unwrap().unwrap().len(), 2);
    assert!(pages.next().await.is_err());
    assert_eq!(pages.next().await.unwrap().unwrap()[0].id, "3");
    assert!(script.seen()[2].path.ends_with("limit=2&marker=2"));

    let script = Script::new().then(page(1, 2)).then(Reply::empty(403));
    let session = script.session().await.unwrap();
    let read: Vec<_> = paging::stream(&session, request).collect().await;
    assert_eq!(read.len(), 3);
    assert!(read[2].is_err());
}

#[tokio::test(start_paused = true)]
async fn hc_07_pages_that_the_operator_keeps_short_are_followed() {
    let next =
        |kind: &str| json!([{"rel": "next", "href": format!("http://cloud.test/{kind}?marker=b")}]);
    let ports = |ids: &[&str]| {
        ids.iter()
            .map(|id| json!({"id": id, "network_id": "n"}))
            .collect::<Vec<_>>()
    };
    let script = Script::new()
        .then(Reply::json(
            200,
            &json!({"ports": ports(&["a", "b"]), "ports_links": next("ports")}),
        ))
        .then(Reply::json(200, &json!({"ports": ports(&["c"])})))
        .then(Reply::json(
            200,
            &json!({"servers": ports(&["a", "b"]), "servers_links": next("servers")}),
        ))
        .then(Reply::json(
            200,
            &json!({"servers": ports(&["c"]), "servers_links": []}),
        ));
    let session = script.session().await.unwrap();
    let found = neutron::list(&session, neutron::ListItems::<neutron::Port>::new()).await;
    assert_eq!(found.unwrap().len(), 3);
    let found = nova::list_servers(&session, nova::ListServers::new()).await;
    assert_eq!(found.unwrap().len(), 3);
    assert_eq!(script.seen().len(), 4);
}
