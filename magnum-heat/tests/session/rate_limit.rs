//! The layer that holds calls back.

use std::{sync::Arc, time::Duration};

use magnum_heat::{
    Session,
    http::{HttpService, RateLimit},
    stack::ListStacks,
    testing::{Reply, Script},
};
use serde_json::json;

fn script() -> Script {
    Script::new().rule(|seen| {
        seen.path
            .starts_with("/heat")
            .then(|| Reply::json(200, &json!({"stacks": []})))
    })
}

#[tokio::test(start_paused = true)]
async fn calls_pass_at_the_rate_after_the_burst() {
    let limited = Arc::new(RateLimit::new(script(), 4.0, 3));
    let started = tokio::time::Instant::now();
    // The login is the first call of the burst.
    let builder = Session::builder(Script::cloud()).http(limited.clone());
    let session = builder.connect().await.unwrap();
    let results = futures::future::join_all((0..10).map(|_| session.send(ListStacks::new()))).await;
    assert!(results.iter().all(Result::is_ok));
    // 11 calls, 3 at once, 8 a quarter of a second apart.
    let took = started.elapsed();
    assert!(
        (Duration::from_secs(2)..Duration::from_millis(2010)).contains(&took),
        "{took:?}"
    );

    // After a rest the burst is there again, and no more.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let started = tokio::time::Instant::now();
    let results = futures::future::join_all((0..3).map(|_| session.send(ListStacks::new()))).await;
    assert!(results.iter().all(Result::is_ok));
    assert!(started.elapsed() < Duration::from_millis(10));
    session.send(ListStacks::new()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(240));
}

#[tokio::test(start_paused = true)]
async fn hosts_do_not_wait_for_each_other() {
    let limited = RateLimit::new(script(), 0.1, 1);
    let started = tokio::time::Instant::now();
    for host in ["a.test", "b.test:1", "b.test:2"] {
        let request = http::Request::get(format!("http://{host}/heat/x"));
        let answer = limited
            .call(request.body(bytes::Bytes::new()).unwrap())
            .await;
        assert_eq!(answer.unwrap().status(), 200);
    }
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_makes_no_sense_is_slow_and_not_a_panic() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let limited = RateLimit::new(script(), rate, 0);
        let call = || {
            let request = http::Request::get("http://a.test/heat/x");
            limited.call(request.body(bytes::Bytes::new()).unwrap())
        };
        call().await.unwrap();
        let started = tokio::time::Instant::now();
        call().await.unwrap();
        assert!(started.elapsed() >= Duration::from_secs(999));
    }
}
