//! Rules of stack operations on a scripted HTTP service.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use magnum_heat::{
    Error, FaultKind, Session,
    event::{ListEvents, list_events},
    hot::{Document, Files, Resource, types::Port},
    http::HttpErrorKind,
    stack::{
        AdoptOutcome, CreateStack, DeleteStack, DeleteWait, ListStacks, PatchStack, ReplaceStack,
        ShowStack, StackContent, StackRef, create_stack_or_adopt, find_stack, list_stacks,
        wait_deleted,
    },
    testing::{Reply, Script},
};
use serde_json::{Value, json};

fn stack(name: &str, id: &str, status: &str, updated: &str, tags: &[&str]) -> Value {
    json!({"stack": {"id": id, "stack_name": name, "stack_status": status, "stack_status_reason": "r",
        "creation_time": "2026-12-01T09:00:00Z", "updated_time": updated, "tags": tags}})
}

fn show(name: &str, status: &str, updated: &str) -> Reply {
    Reply::json(200, &stack(name, "id1", status, updated, &[]))
}

fn not_found() -> Reply {
    Reply::json(
        404,
        &json!({"error": {"type": "EntityNotFound", "message": "The Stack (s) could not be found."}}),
    )
}

fn exists() -> Reply {
    Reply::json(
        409,
        &json!({"error": {"type": "StackExists", "message": "The Stack (s) already exists."}}),
    )
}

fn created(id: &str) -> Reply {
    Reply::json(201, &json!({"stack": {"id": id, "links": []}}))
}

fn content() -> StackContent {
    let mut doc = Document::new();
    doc.add_resource("port_a", Port::new("net")).unwrap();
    let mut files = Files::new();
    files.add("script", "#!/bin/sh");
    StackContent::new(doc).files(files)
}

async fn session(script: &Script) -> Session {
    script.session().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn hc_01_partial_updates_are_patches_and_full_ones_need_a_template() {
    let script = Script::new()
        .then(Reply::empty(202))
        .then(Reply::empty(202));
    let session = session(&script).await;
    let existing = StackRef::new("s", "id1");
    session
        .send(PatchStack::new(existing.clone()).parameter("number_of_minions", 4))
        .await
        .unwrap();
    let seen = script.seen();
    assert_eq!(
        (seen[0].method.as_str(), seen[0].path.as_str()),
        ("PATCH", "/heat/v1/p1/stacks/s/id1")
    );
    assert_eq!(
        seen[0].body,
        json!({"parameters": {"number_of_minions": 4}, "disable_rollback": true})
    );
    let no_template = ReplaceStack::new(existing.clone(), StackContent::default(), ["t"]);
    assert!(matches!(
        session.send(no_template).await,
        Err(Error::Invalid { .. })
    ));
    assert_eq!(script.seen().len(), 1);
    session
        .send(ReplaceStack::new(existing, content(), ["mark"]))
        .await
        .unwrap();
    let put = &script.seen()[1];
    assert_eq!(
        (put.method.as_str(), put.body["tags"].as_str()),
        ("PUT", Some("mark"))
    );
}

#[tokio::test(start_paused = true)]
async fn hc_02_an_old_delete_failure_does_not_count() {
    let old = "2026-12-01T10:00:00Z";
    let script = Script::new()
        .then(show("s", "DELETE_FAILED", old))
        .then(Reply::empty(204))
        .then(show("s", "DELETE_FAILED", old))
        .then(show("s", "DELETE_IN_PROGRESS", "2026-12-01T10:05:00Z"))
        .then(not_found());
    let session = session(&script).await;
    let existing = StackRef::new("s", "id1");
    let before = session.send(ShowStack::new(&existing)).await.unwrap();
    session
        .send(DeleteStack {
            stack: existing.clone(),
        })
        .await
        .unwrap();
    let wait = DeleteWait::new(Some(&before), Duration::from_secs(60));
    wait_deleted(
        &session,
        &existing,
        wait,
        Duration::from_secs(1),
        Duration::from_secs(600),
    )
    .await
    .unwrap();
    assert_eq!(script.seen().len(), 5);

    // The same failure after the update time moved on is real.
    let script = Script::new().then(show("s", "DELETE_FAILED", "2026-12-01T10:05:09Z"));
    let session = script.session().await.unwrap();
    let wait = DeleteWait::new(Some(&before), Duration::from_secs(60));
    let error = wait_deleted(
        &session,
        &existing,
        wait,
        Duration::from_secs(1),
        Duration::from_secs(600),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, Error::StackState { .. }), "{error}");

    // And without any movement once the grace period is over.
    let script = Script::new().rule(move |s| {
        s.path
            .starts_with("/heat")
            .then(|| show("s", "DELETE_FAILED", old))
    });
    let session = script.session().await.unwrap();
    let wait = DeleteWait::new(Some(&before), Duration::from_secs(5));
    let error = wait_deleted(
        &session,
        &existing,
        wait,
        Duration::from_secs(1),
        Duration::from_secs(600),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, Error::StackState { .. }), "{error}");
    assert!((5..=7).contains(&script.seen().len()));
}

#[tokio::test(start_paused = true)]
async fn hc_03_gone_is_404_or_delete_complete() {
    for reply in [
        not_found(),
        show("s", "DELETE_COMPLETE", "2026-12-01T10:00:00Z"),
    ] {
        let script = Script::new().then(reply.clone()).then(reply);
        let session = session(&script).await;
        let existing = StackRef::new("s", "id1");
        let wait = DeleteWait::new(None, Duration::ZERO);
        wait_deleted(
            &session,
            &existing,
            wait,
            Duration::from_secs(1),
            Duration::from_secs(9),
        )
        .await
        .unwrap();
        assert!(find_stack(&session, "s").await.unwrap().is_none());
    }
    let uuid = "6fbe4ada-6694-42bf-9322-0fac82f5d315";
    let script = Script::new()
        .then(Reply::empty(302).header(
            "location",
            &format!("http://cloud.test/heat/v1/p1/stacks/{uuid}/id9"),
        ))
        .then(Reply::json(
            200,
            &stack(uuid, "id9", "CREATE_COMPLETE", "", &[]),
        ));
    let session = session(&script).await;
    assert_eq!(find_stack(&session, uuid).await.unwrap().unwrap().id, "id9");
}

#[tokio::test(start_paused = true)]
async fn hc_06_a_lost_create_is_adopted_by_name_and_mark() {
    let ours = Reply::json(
        200,
        &stack("s", "id1", "CREATE_IN_PROGRESS", "", &["cluster-1"]),
    );
    // The answer is lost, the stack is there.
    let script = Script::new()
        .then(Reply::Fail(HttpErrorKind::Timeout))
        .then(ours.clone());
    let one = session(&script).await;
    let made = create_stack_or_adopt(&one, CreateStack::new("s", content()), "cluster-1")
        .await
        .unwrap();
    assert_eq!(made, AdoptOutcome::Adopted(StackRef::new("s", "id1")));
    assert_eq!(script.seen()[0].body["tags"], "cluster-1");
    assert_eq!(
        script.seen().iter().filter(|s| s.method == "POST").count(),
        1
    );

    // The answer is lost, nothing was made: it is made now.
    let script = Script::new()
        .then(Reply::Fail(HttpErrorKind::Interrupted))
        .then(not_found())
        .then(created("id2"));
    let made = create_stack_or_adopt(
        &session(&script).await,
        CreateStack::new("s", content()),
        "cluster-1",
    )
    .await
    .unwrap();
    assert_eq!(made, AdoptOutcome::Created(StackRef::new("s", "id2")));

    // A later try finds the name taken by us.
    let script = Script::new().then(exists()).then(ours);
    let made = create_stack_or_adopt(
        &session(&script).await,
        CreateStack::new("s", content()),
        "cluster-1",
    )
    .await
    .unwrap();
    assert!(matches!(made, AdoptOutcome::Adopted(_)));

    // Or by somebody else.
    let foreign = Reply::json(
        200,
        &stack("s", "id7", "CREATE_COMPLETE", "", &["cluster-2"]),
    );
    let script = Script::new().then(exists()).then(foreign);
    let error = create_stack_or_adopt(
        &session(&script).await,
        CreateStack::new("s", content()),
        "cluster-1",
    )
    .await
    .unwrap_err();
    assert!(
        matches!(&error, Error::ForeignStack { id, .. } if id == "id7"),
        "{error}"
    );
    assert!(error.is_conflict());
}

#[tokio::test(start_paused = true)]
async fn sp_05_an_overloaded_create_is_repeated_with_the_adopt_check() {
    let script = Script::new()
        .then(Reply::empty(503).header("retry-after", "2"))
        .then(created("id1"));
    let made = create_stack_or_adopt(
        &session(&script).await,
        CreateStack::new("s", content()),
        "m",
    )
    .await
    .unwrap();
    assert!(matches!(made, AdoptOutcome::Created(_)));
    let script = Script::new().then(Reply::json(
        400,
        &json!({"error": {"type": "StackValidationFailed", "message": "bad"}}),
    ));
    let error = create_stack_or_adopt(
        &session(&script).await,
        CreateStack::new("s", content()),
        "m",
    )
    .await
    .unwrap_err();
    assert_eq!(error.api().unwrap().kind, FaultKind::StackValidationFailed);
    assert_eq!(script.seen().len(), 1);
}

fn paged(total: usize, repeat: bool) -> Script {
    Script::new().rule(move |seen| {
        let url = url::Url::parse(&format!("http://x{}", seen.path)).unwrap();
        let get = |key: &str| url.query_pairs().find(|(k, _)| k == key).map(|(_, v)| v.into_owned());
        let limit: usize = get("limit")?.parse().ok()?;
        let first = match get("marker") {
            Some(marker) if !repeat => marker.parse::<usize>().ok()? + 1,
            _ => 1,
        };
        let items: Vec<Value> = (first..first + limit)
            .filter(|n| *n <= total)
            .map(|n| json!({"id": n.to_string(), "event_time": "2026-12-01T10:00:00Z", "resource_name": "r",
                "resource_status": "CREATE_COMPLETE", "stack_name": "s", "stack_status": "CREATE_COMPLETE"}))
            .collect();
        Some(Reply::json(200, &json!({"events": items, "stacks": items})))
    })
}

#[tokio::test(start_paused = true)]
async fn hc_07_long_lists_are_read_to_the_end() {
    let script = paged(450, false);
    let one = session(&script).await;
    let events = list_events(
        &one,
        ListEvents::new(StackRef::new("s", "i")).page_size(100),
    )
    .await
    .unwrap();
    let ids: Vec<usize> = events.iter().map(|e| e.id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=450).collect::<Vec<_>>());
    assert_eq!(script.seen().len(), 5);
    assert!(script.seen()[1].path.contains("marker=100"));

    let mut request = ListStacks::new();
    request.limit = Some(2);
    assert_eq!(list_stacks(&one, request).await.unwrap().len(), 450);

    let script = paged(450, true);
    let error = list_events(
        &session(&script).await,
        ListEvents::new(StackRef::new("s", "i")).page_size(100),
    )
    .await;
    assert!(matches!(error, Err(Error::PagingLoop { .. })));
    assert_eq!(script.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn hc_08_empty_bodies_are_fine() {
    let script = Script::new()
        .then(Reply::empty(204))
        .then(Reply::empty(202))
        .then(Reply::empty(200));
    let session = session(&script).await;
    let existing = StackRef::new("s", "i");
    session
        .send(DeleteStack {
            stack: existing.clone(),
        })
        .await
        .unwrap();
    session
        .send(PatchStack::new(existing.clone()))
        .await
        .unwrap();
    session
        .send(magnum_heat::heat::action::StackActionRequest::cancel_update(existing))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn hc_09_absent_tags_stay_and_empty_tags_clear() {
    let script = Script::new()
        .then(Reply::empty(202))
        .then(Reply::empty(202));
    let session = session(&script).await;
    let existing = StackRef::new("s", "i");
    session
        .send(PatchStack::new(existing.clone()))
        .await
        .unwrap();
    session
        .send(PatchStack::new(existing).tags(Vec::<String>::new()))
        .await
        .unwrap();
    let seen = script.seen();
    assert!(seen[0].body.get("tags").is_none());
    assert_eq!(seen[1].body["tags"], "");
}

#[tokio::test(start_paused = true)]
async fn limits_are_checked_before_sending() {
    let script = Script::new();
    let session = session(&script).await;
    let mut doc = Document::new();
    for n in 0..1001 {
        doc.add_resource(format!("r{n}"), Resource::raw("OS::Heat::None"))
            .unwrap();
    }
    let error = session
        .send(CreateStack::new("s", StackContent::new(doc)))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "create stack: the template has 1001 resources, the limit is 1000"
    );
    let mut files = Files::new();
    files.add("big", "x".repeat(1_100_000));
    let error = session
        .send(CreateStack::new("s", content().files(files)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("Heat takes 1048576"), "{error}");
    for (name, tags) in [
        ("1s", vec![]),
        ("a b", vec![]),
        ("s", vec!["a,b"]),
        ("s", vec![""]),
    ] {
        assert!(
            session
                .send(CreateStack::new(name, content()).tags(tags))
                .await
                .is_err()
        );
    }
    assert!(script.seen().is_empty());
}
