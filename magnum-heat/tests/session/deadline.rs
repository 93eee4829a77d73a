//! A call ends in time, whatever the service does.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use magnum_heat::{
    Error, Session,
    http::{HttpError, HttpService},
    stack::{CreateStack, ListStacks, StackContent},
    testing::{Reply, Script},
};

/// Never answers anything but logins.
#[derive(Debug)]
struct Silent(Script);

#[async_trait]
impl HttpService for Silent {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        if request.uri().path().starts_with("/identity") {
            return self.0.call(request).await;
        }
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_ends_in_deadline() {
    let session = Session::builder(Script::cloud())
        .http(Arc::new(Silent(Script::new())))
        .connect()
        .await
        .unwrap();
    let limit = Duration::from_secs(7);
    let started = tokio::time::Instant::now();
    let error = session
        .with_deadline(limit)
        .send(ListStacks::new())
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Deadline { waited, .. } if waited == limit),
        "{error}"
    );
    assert_eq!(error.to_string(), "list stacks: not done after 7 s");
    assert_eq!(started.elapsed(), limit);
    // What was sent may have been done.
    assert!(error.may_have_happened());
}

#[tokio::test(start_paused = true)]
async fn repeats_end_at_the_deadline_too() {
    let script = Script::new().rule(|seen| {
        seen.path
            .starts_with("/heat")
            .then(|| Reply::empty(503).header("retry-after", "5"))
    });
    let session = Session::builder(Script::cloud())
        .http(Arc::new(script.clone()))
        .deadline(Duration::from_secs(12))
        .connect()
        .await
        .unwrap();
    let error = session.send(ListStacks::new()).await.unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    assert!(
        (2..=3).contains(&script.seen().len()),
        "{}",
        script.seen().len()
    );
    // A session made of it keeps the deadline.
    let other = session
        .rescoped(magnum_heat::Scope::project("p2"))
        .await
        .unwrap();
    assert!(matches!(
        other.send(ListStacks::new()).await,
        Err(Error::Deadline { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_turn_ends_in_time() {
    let session = Session::builder(Script::cloud())
        .http(Arc::new(Silent(Script::new())))
        .parallel_calls(1)
        .deadline(Duration::from_secs(3))
        .connect()
        .await
        .unwrap();
    let calls = (0..4).map(|_| session.send(ListStacks::new()));
    let started = tokio::time::Instant::now();
    let ended = futures::future::join_all(calls).await;
    assert!(
        ended
            .iter()
            .all(|r| matches!(r, Err(Error::Deadline { .. })))
    );
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_never_right_is_not_a_matter_of_time() {
    let session = Script::new().session().await.unwrap();
    let wrong = CreateStack::new("1 is no name", StackContent::default());
    let error = session
        .with_deadline(Duration::from_secs(1))
        .send(wrong)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}
