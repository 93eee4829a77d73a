//! A layer that holds calls back.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use super::{HttpError, HttpService};

/// Lets so many calls a second pass to each host and port, and holds the others back in the order they came.
///
/// Put it in front of the HTTP client of a session, or of all sessions of a cloud: what shares the layer shares the
/// limit. Logins count too. A call that is dropped while it waits keeps its place in the row.
///
/// ```
/// # use std::sync::Arc;
/// # use magnum_heat::{CloudConfig, Session, http::{HttpService, RateLimit, ReqwestService}};
/// # async fn run(cloud: CloudConfig) -> Result<(), Box<dyn std::error::Error>> {
/// let http: Arc<dyn HttpService> = Arc::new(ReqwestService::new(cloud.http_config())?);
/// let gentle = Arc::new(RateLimit::new(http, 20.0, 40));
/// let session = Session::builder(cloud).http(gentle).connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RateLimit<S> {
    inner: S,
    interval: Duration,
    burst: u32,
    /// For each host and port, when its next call would be due if calls came evenly.
    due: Mutex<HashMap<String, Instant>>,
}

impl<S> RateLimit<S> {
    /// At most `per_second` calls a second in the long run, and `burst` (at least 1) at once after a rest. A rate that
    /// is not above zero counts as one call in 1000 s.
    pub fn new(inner: S, per_second: f64, burst: u32) -> Self {
        let rate = if per_second.is_finite() {
            per_second.max(0.001)
        } else {
            0.001
        };
        Self {
            inner,
            interval: Duration::from_secs_f64(1.0 / rate),
            burst: burst.max(1),
            due: Mutex::new(HashMap::new()),
        }
    }

    /// Takes the next place in the row of `host`; what is returned is when it may go.
    fn place(&self, host: &str, now: Instant) -> Instant {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = due.entry(host.to_owned()).or_insert(now);
        let mine = (*slot).max(now);
        *slot = mine + self.interval;
        let ahead = self.interval * (self.burst - 1);
        mine.checked_sub(ahead).map_or(now, |at| at.max(now))
    }
}

#[async_trait]
impl<S: HttpService> HttpService for RateLimit<S> {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let host = request.uri().authority().map_or("", |a| a.as_str());
        let now = Instant::now();
        let at = self.place(host, now);
        if at > now {
            tokio::time::sleep_until(at).await;
        }
        self.inner.call(request).await
    }
}
