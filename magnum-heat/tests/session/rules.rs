//! Session rules on a scripted HTTP service.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use magnum_heat::{
    Clock, Error, Scope, ServiceType, Session,
    http::HttpErrorKind,
    neutron, nova,
    stack::{DeleteStack, ListStacks, PatchStack, ShowStack, StackRef},
    testing::{Reply, Script, Seen, token},
};
use serde_json::json;

fn empty_list() -> Reply {
    Reply::json(200, &json!({"stacks": []}))
}

fn header<'a>(seen: &'a Seen, name: &str) -> &'a str {
    seen.headers.get(name).map_or("", |v| v.to_str().unwrap())
}

#[derive(Debug, Default)]
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + TimeDelta::seconds(self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test(start_paused = true)]
async fn au_01_fifty_calls_on_an_expired_token_make_one_login() {
    let script = Script::new()
        .rule(|_| None)
        .rule(|seen| seen.path.starts_with("/heat").then(empty_list));
    let clock = Arc::new(ManualClock::default());
    let builder = Session::builder(Script::cloud())
        .http(Arc::new(script.clone()))
        .clock(clock.clone());
    let session = builder.connect().await.unwrap();
    assert_eq!(script.logins(), 1);
    clock.0.store(7200, Ordering::SeqCst);
    // The fresh token's own times are the script's, so let it last beyond the moved clock.
    let script = script.token_lifetime(100_000);
    let calls = (0..50).map(|_| session.send(ListStacks::new()));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(script.logins(), 2);
    assert_eq!(script.seen().len(), 50);
    assert!(
        script
            .seen()
            .iter()
            .all(|s| header(s, "x-auth-token") == token(2))
    );
}

#[tokio::test(start_paused = true)]
async fn au_01_fifty_calls_refused_at_once_make_one_login() {
    let script = Script::new().rule(|seen| {
        seen.path.starts_with("/heat").then(|| {
            if header(seen, "x-auth-token") == token(1) {
                Reply::empty(401)
            } else {
                empty_list()
            }
        })
    });
    let session = script.session().await.unwrap();
    let results = futures::future::join_all((0..50).map(|_| session.send(ListStacks::new()))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(script.logins(), 2);
    assert!(
        script
            .seen()
            .iter()
            .all(|s| !header(s, "x-auth-token").is_empty())
    );
}

#[tokio::test(start_paused = true)]
async fn au_01_a_failed_login_is_shared_by_all_who_wait() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let script = Script::new().rule(move |seen| {
        if seen.path.ends_with("/auth/tokens") {
            counted.fetch_add(1, Ordering::SeqCst);
            return Some(Reply::json(
                401,
                &json!({"error": {"message": "no", "code": 401}}),
            ));
        }
        None
    });
    let session = Session::builder(Script::cloud())
        .http(Arc::new(script.clone()))
        .build()
        .unwrap();
    let results = futures::future::join_all((0..20).map(|_| session.send(ListStacks::new()))).await;
    assert!(
        results
            .iter()
            .all(|r| matches!(r, Err(Error::Login { .. })))
    );
    assert_eq!(tries.load(Ordering::SeqCst), 1);
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn au_02_a_service_that_keeps_refusing_ends_in_unauthorized() {
    let script = Script::new().rule(|seen| {
        seen.path
            .starts_with("/heat")
            .then(|| Reply::empty(401).header("x-openstack-request-id", "req-1"))
    });
    let session = script.session().await.unwrap();
    let error = session.send(ListStacks::new()).await.unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Unauthorized {
                service: ServiceType::Orchestration,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(error.request_id(), Some("req-1"));
    assert_eq!((script.seen().len(), script.logins()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn au_06_a_rescoped_session_uses_its_own_catalog() {
    let script = Script::new().rule(|seen| seen.path.starts_with("/heat").then(empty_list));
    let a = script.session().await.unwrap();
    a.send(ListStacks::new()).await.unwrap();
    let b = a.rescoped(Scope::project("p2")).await.unwrap();
    b.send(ListStacks::new()).await.unwrap();
    let paths: Vec<String> = script.seen().into_iter().map(|s| s.path).collect();
    assert_eq!(paths, ["/heat/v1/p1/stacks", "/heat/v1/p2/stacks"]);
}

#[tokio::test(start_paused = true)]
async fn tokens_are_renewed_early_and_once() {
    let script = Script::new()
        .token_lifetime(1000)
        .rule(|seen| seen.path.starts_with("/heat").then(empty_list));
    let clock = Arc::new(ManualClock::default());
    let builder = Session::builder(Script::cloud())
        .http(Arc::new(script.clone()))
        .clock(clock.clone());
    let session = builder.connect().await.unwrap();
    clock.0.store(790, Ordering::SeqCst);
    session.send(ListStacks::new()).await.unwrap();
    assert_eq!(script.logins(), 1);
    clock.0.store(810, Ordering::SeqCst);
    let script = script.token_lifetime(10_000);
    futures::future::join_all((0..10).map(|_| session.send(ListStacks::new()))).await;
    assert_eq!(script.logins(), 2);
}

#[tokio::test(start_paused = true)]
async fn sp_05_retry_after_is_honoured_for_safe_calls_only() {
    let script = Script::new()
        .then(Reply::empty(429).header("retry-after", "7"))
        .then(empty_list());
    let session = script.session().await.unwrap();
    let started = tokio::time::Instant::now();
    session.send(ListStacks::new()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(7));
    assert_eq!(script.seen().len(), 2);

    let script = Script::new().then(Reply::empty(503).header("retry-after", "1"));
    let session = script.session().await.unwrap();
    let error = session
        .send(PatchStack::new(StackRef::new("s", "i")))
        .await
        .unwrap_err();
    assert_eq!(
        error.retry(),
        magnum_heat::Retry::After(Duration::from_secs(1))
    );
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn sp_05_lost_answers_of_safe_calls_are_repeated() {
    let script = Script::new()
        .then(Reply::Fail(HttpErrorKind::Interrupted))
        .then(Reply::Fail(HttpErrorKind::Timeout))
        .then(Reply::empty(502))
        .then(empty_list());
    let session = script.session().await.unwrap();
    session.send(ListStacks::new()).await.unwrap();
    assert_eq!(script.seen().len(), 4);

    let script = Script::new().then(Reply::Fail(HttpErrorKind::Interrupted));
    let session = script.session().await.unwrap();
    let error = session
        .send(PatchStack::new(StackRef::new("s", "i")))
        .await
        .unwrap_err();
    assert!(error.may_have_happened());
    assert_eq!(script.seen().len(), 1);

    // Nothing was sent when no connection was made, so anything may be tried again.
    let script = Script::new()
        .then(Reply::Fail(HttpErrorKind::Connect))
        .then(Reply::empty(202));
    let session = script.session().await.unwrap();
    session
        .send(PatchStack::new(StackRef::new("s", "i")))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn redirects_keep_the_method_and_the_origin() {
    let location = "http://cloud.test/heat/v1/p1/stacks/small/id1";
    let script = Script::new()
        .then(Reply::empty(302).header("location", location))
        .then(Reply::empty(204));
    let session = script.session().await.unwrap();
    session
        .send(DeleteStack {
            stack: StackRef::find("small"),
        })
        .await
        .unwrap();
    let seen = script.seen();
    assert_eq!(
        (seen[1].method.as_str(), seen[1].path.as_str()),
        ("DELETE", "/heat/v1/p1/stacks/small/id1")
    );

    for elsewhere in [
        "http://evil.test/heat/v1/p1/stacks/x/y",
        "https://cloud.test/heat/v1/p1/x",
        "http://cloud.test/identity/v3",
    ] {
        let script = Script::new().then(Reply::empty(302).header("location", elsewhere));
        let session = script.session().await.unwrap();
        let error = session
            .send(ShowStack::new(StackRef::find("x")))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Redirect { .. }), "{error}");
        assert_eq!(script.seen().len(), 1);
    }
    let script = Script::new().rule(move |s| {
        s.path
            .starts_with("/heat")
            .then(|| Reply::empty(302).header("location", location))
    });
    let session = script.session().await.unwrap();
    let error = session
        .send(ShowStack::new(StackRef::find("x")))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Redirect { .. }));
}

#[tokio::test(start_paused = true)]
async fn sm_09_no_request_with_an_empty_id() {
    let script = Script::new();
    let session = script.session().await.unwrap();
    for error in [
        session
            .send(ShowStack::new(StackRef::find("")))
            .await
            .unwrap_err(),
        session
            .send(DeleteStack {
                stack: StackRef::new("s", " "),
            })
            .await
            .unwrap_err(),
        session
            .send(nova::DeleteServer { id: "..".into() })
            .await
            .unwrap_err(),
        session
            .send(neutron::DeleteItem::<neutron::Port>::new(""))
            .await
            .unwrap_err(),
    ] {
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
    assert!(
        neutron::find::<neutron::Network>(&session, "")
            .await
            .unwrap_err()
            .is_not_found()
    );
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn paths_are_encoded_and_microversions_sent() {
    let script = Script::new()
        .then(Reply::json(200, &json!({"keypair": {"name": "a/b c"}})))
        .then(Reply::json(200, &json!({"flavors": []})));
    let session = script.session().await.unwrap();
    nova::find_keypair(&session, "a/b c").await.unwrap();
    let missing = nova::find_flavor(&session, "x").await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no flavor named \"x\" (neither by name nor by id)"
    );
    let seen = script.seen();
    assert_eq!(seen[0].path, "/compute/v2.1/os-keypairs/a%2Fb%20c");
    assert_eq!(header(&seen[1], "openstack-api-version"), "compute 2.61");
}

#[tokio::test(start_paused = true)]
async fn missing_services_are_named() {
    let script = Script::new().catalog(json!([{"type": "identity", "endpoints": []}, {"type": "compute", "name": "nova",
        "endpoints": [{"interface": "public", "region": "R", "url": "http://cloud.test/compute"}]}]));
    let session = script.session().await.unwrap();
    assert!(
        !session
            .has_service(ServiceType::Orchestration)
            .await
            .unwrap()
    );
    assert!(session.has_service(ServiceType::Compute).await.unwrap());
    let error = session.send(ListStacks::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the cloud offers no orchestration service (it has: compute, identity)"
    );
    assert_eq!(session.region().await.unwrap().as_deref(), Some("R"));
}

#[tokio::test(start_paused = true)]
async fn sp_03_reads_need_no_new_login() {
    let script = Script::new().rule(|seen| seen.path.starts_with("/heat").then(empty_list));
    let session = script.session().await.unwrap();
    for _ in 0..100 {
        session.send(ListStacks::new()).await.unwrap();
    }
    assert_eq!(script.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delete_whose_answer_was_lost_is_done_when_nothing_is_found() {
    let script = Script::new()
        .then(Reply::Fail(HttpErrorKind::Timeout))
        .then(Reply::empty(404));
    let session = script.session().await.unwrap();
    session
        .send(nova::DeleteServer { id: "s1".into() })
        .await
        .unwrap();
    let script = Script::new().then(Reply::empty(404));
    let session = script.session().await.unwrap();
    let error = session
        .send(nova::DeleteServer { id: "s1".into() })
        .await
        .unwrap_err();
    assert!(error.is_not_found());
    // A stack that is gone already is what its deletion wants.
    let script = Script::new().then(Reply::empty(404));
    let session = script.session().await.unwrap();
    session
        .send(DeleteStack {
            stack: StackRef::new("s", "i"),
        })
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn oidc_exchanges_an_access_token_for_a_scoped_one() {
    let script = Script::new().rule(|seen| {
        if seen.path == "/idp/token" {
            return Some(Reply::json(200, &json!({"access_token": "at"})));
        }
        let federated = "/identity/v3/OS-FEDERATION/identity_providers/idp/protocols/openid/auth";
        (seen.path == federated).then(|| {
            assert_eq!(header(seen, "authorization"), "Bearer at");
            Reply::json(201, &json!({})).header("x-subject-token", "unscoped")
        })
    });
    let mut cloud = Script::cloud();
    cloud.auth = magnum_heat::Auth::Oidc(magnum_heat::auth::OidcAuth {
        identity_provider: "idp".into(),
        protocol: "openid".into(),
        discovery_endpoint: None,
        access_token_endpoint: Some("http://cloud.test/idp/token".into()),
        client_id: Some("c".into()),
        client_secret: Some("s".into()),
        scope: "openid".into(),
        grant: magnum_heat::auth::OidcGrant::ClientCredentials,
    });
    let builder = Session::builder(cloud).http(Arc::new(script.clone()));
    let session = builder.connect().await.unwrap();
    assert_eq!(session.project_id().await.unwrap(), "p1");
    assert_eq!((script.seen().len(), script.logins()), (2, 1));
}
