//! Making a session.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::{Inner, RetryPolicy, Session, login::Tokens, microversion::Offers, retry::Pauses};
use crate::{
    CloudConfig, Error, Result,
    auth::AuthMethod,
    clock::{Clock, SystemClock},
    http::{HttpService, ReqwestService},
};

/// Settings of a session to be made; see [`Session::builder`].
#[derive(Debug)]
#[must_use = "nothing happens until connect"]
pub struct SessionBuilder {
    cloud: CloudConfig,
    http: Option<Arc<dyn HttpService>>,
    clock: Arc<dyn Clock>,
    retry: RetryPolicy,
    seed: Option<u64>,
    parallel: usize,
    deadline: Option<Duration>,
}

impl SessionBuilder {
    pub(super) fn new(cloud: CloudConfig) -> Self {
        Self {
            cloud,
            http: None,
            clock: Arc::new(SystemClock),
            retry: RetryPolicy::default(),
            seed: None,
            parallel: 32,
            deadline: None,
        }
    }

    /// HTTP client. Default: [`ReqwestService`] with the cloud's TLS settings.
    pub fn http(mut self, http: Arc<dyn HttpService>) -> Self {
        self.http = Some(http);
        self
    }

    /// Clock for token lifetimes. Default: the system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// When and how long calls are repeated.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Seed of the random part of pauses. Default: from the system.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Longest number of calls of one service at a time; more wait. Default 32, at least 1.
    pub fn parallel_calls(mut self, parallel: usize) -> Self {
        self.parallel = parallel.max(1);
        self
    }

    /// Longest time of one call, waiting and repeats included; see [`Session::with_deadline`]. Default none.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = Some(limit);
        self
    }

    /// The session, without a login; the first call makes it.
    ///
    /// # Errors
    /// [`Error::Http`] when the HTTP client cannot be built from the TLS settings.
    pub fn build(self) -> Result<Session> {
        let http = match self.http {
            Some(http) => http,
            None => Arc::new(
                ReqwestService::new(self.cloud.http_config()).map_err(|source| Error::Http {
                    operation: "set up the HTTP client",
                    source,
                })?,
            ),
        };
        let method: Arc<dyn AuthMethod> = Arc::new(self.cloud.auth.clone());
        let inner = Inner {
            http,
            clock: self.clock,
            method,
            cloud: self.cloud,
            retry: self.retry,
            pauses: Pauses::new(self.seed),
            tokens: Tokens::default(),
            parallel: self.parallel,
            gates: std::sync::Mutex::new(HashMap::new()),
            microversions: Offers::default(),
        };
        Ok(Session {
            inner: Arc::new(inner),
            deadline: self.deadline,
        })
    }

    /// Logs in.
    ///
    /// # Errors
    /// [`Error::Login`] when Keystone refuses, [`Error::Http`] when it cannot be reached.
    pub async fn connect(self) -> Result<Session> {
        let session = self.build()?;
        session.token(None).await?;
        Ok(session)
    }
}
