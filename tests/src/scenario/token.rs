//! Tokens that have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use magnum_heat::http::{HttpError, HttpService};
use magnum_heat::stack::ListStacks;
use magnum_heat::{Clock, Session};

use crate::{Bench, Failure};

/// A clock that can be put forward.
#[derive(Debug, Default)]
struct Forward(AtomicI64);

impl Clock for Forward {
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + TimeDelta::seconds(self.0.load(Ordering::SeqCst))
    }
}

/// Counts logins, and requests without a token.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn HttpService>,
    logins: AtomicUsize,
    without_token: AtomicUsize,
}

#[async_trait]
impl HttpService for Counting {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        if request.uri().path().ends_with("/auth/tokens") {
            self.logins.fetch_add(1, Ordering::SeqCst);
        } else if request
            .headers()
            .get("x-auth-token")
            .is_none_or(|token| token.is_empty())
        {
            self.without_token.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.call(request).await
    }
}

/// Fifty calls at once after the token has ended make one login (`AU-01`).
///
/// # Errors
/// Whatever does not hold.
pub async fn one_login_for_fifty_calls(bench: Bench) -> Result<(), Failure> {
    let direct = &bench.project.session;
    let counting = Arc::new(Counting {
        inner: direct.http(),
        logins: AtomicUsize::new(0),
        without_token: AtomicUsize::new(0),
    });
    let clock = Arc::new(Forward::default());
    let session = Session::builder(direct.cloud().clone())
        .http(counting.clone())
        .clock(clock.clone())
        .connect()
        .await?;
    for day in 1..=3 {
        clock.0.store(day * 24 * 3600, Ordering::SeqCst);
        let calls = (0..50).map(|_| session.send(ListStacks::new()));
        for result in futures::future::join_all(calls).await {
            result?;
        }
        let logins = counting.logins.load(Ordering::SeqCst);
        assert_eq!(i64::try_from(logins)?, 1 + day, "one login each time");
    }
    assert_eq!(counting.without_token.load(Ordering::SeqCst), 0);
    bench.end().await
}
