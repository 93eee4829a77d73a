//! A logged-in connection to one cloud: [`Session`].

mod builder;
mod catalog;
mod login;
mod measure;
mod microversion;
mod retry;
mod send;
mod token;

pub use builder::SessionBuilder;
pub use catalog::{Catalog, CatalogService, Endpoint};
pub use retry::RetryPolicy;
pub use token::{NamedRef, TokenInfo};

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use url::Url;

use crate::{
    CloudConfig, Error, Result,
    auth::{Auth, AuthMethod, Scope},
    clock::Clock,
    error::Retry,
    http::HttpService,
    request::ServiceType,
};

/// A logged-in connection to one cloud. Cheap to clone; clones share token and connections.
///
/// The token is renewed when four fifths of its life are over and once when a service answers 401; however many calls
/// wait, one login is made. Calls that may be repeated are retried by [`RetryPolicy`].
///
/// Cancel safety: dropping a call's future abandons the call; a login under way is then made again by the next one.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<Inner>,
    /// Longest time of one call, repeats included.
    deadline: Option<Duration>,
}

#[derive(Debug)]
struct Inner {
    http: Arc<dyn HttpService>,
    clock: Arc<dyn Clock>,
    cloud: CloudConfig,
    method: Arc<dyn AuthMethod>,
    retry: RetryPolicy,
    pauses: retry::Pauses,
    tokens: login::Tokens,
    parallel: usize,
    gates: std::sync::Mutex<HashMap<ServiceType, Arc<Semaphore>>>,
    microversions: microversion::Offers,
}

impl Session {
    /// Begins a session of this cloud.
    pub fn builder(cloud: CloudConfig) -> SessionBuilder {
        SessionBuilder::new(cloud)
    }

    /// Logs in to this cloud with default settings.
    ///
    /// # Errors
    /// As [`SessionBuilder::connect`].
    pub async fn connect(cloud: CloudConfig) -> Result<Self> {
        Self::builder(cloud).connect().await
    }

    /// Who we are and what the token is for, from the present token.
    ///
    /// # Errors
    /// A failed renewal.
    pub async fn token_info(&self) -> Result<Arc<TokenInfo>> {
        Ok(Arc::clone(&self.token(None).await?.info))
    }

    /// Id of the project that the token is for.
    ///
    /// # Errors
    /// A failed renewal, or [`Error::Invalid`] when the token is for no project.
    pub async fn project_id(&self) -> Result<String> {
        let info = self.token_info().await?;
        let project = info.project.as_ref();
        project
            .map(|p| p.id.clone())
            .ok_or_else(|| Error::invalid("find project", "the token is not scoped to a project"))
    }

    /// Id of the user who is logged in.
    ///
    /// # Errors
    /// A failed renewal.
    pub async fn user_id(&self) -> Result<String> {
        Ok(self.token_info().await?.user.id.clone())
    }

    /// Whether the catalog has such a service.
    ///
    /// # Errors
    /// A failed renewal.
    pub async fn has_service(&self, service: ServiceType) -> Result<bool> {
        let overridden = self.endpoint_override(service).is_some();
        Ok(overridden
            || self
                .token(None)
                .await?
                .info
                .catalog
                .service(service)
                .is_some())
    }

    /// The endpoint that calls of this service go to, version included.
    ///
    /// # Errors
    /// [`Error::NoService`], [`Error::NoEndpoint`], [`Error::AmbiguousRegion`], or a failed renewal.
    pub async fn endpoint(&self, service: ServiceType) -> Result<Url> {
        let token = self.token(None).await?;
        self.endpoint_of(&token.info, service)
    }

    /// The region in use: the configured one, else the only one of the catalog.
    ///
    /// # Errors
    /// [`Error::AmbiguousRegion`] when the catalog has several and none is configured, or a failed renewal.
    pub async fn region(&self) -> Result<Option<String>> {
        if let Some(region) = &self.inner.cloud.region {
            return Ok(Some(region.clone()));
        }
        let info = self.token_info().await?;
        let mut regions = info.catalog.regions();
        match regions.len() {
            0 | 1 => Ok(regions.pop()),
            _ => Err(Error::AmbiguousRegion {
                service: ServiceType::Identity,
                regions,
            }),
        }
    }

    /// Drops the present token; the next call logs in again. For tests, and after credentials were changed.
    pub fn forget_token(&self) {
        self.inner.tokens.forget();
    }

    /// The same session, each of whose calls ends within `limit`, waiting and repeats included; afterwards it is
    /// [`Error::Deadline`]. A call that is cut off so may have taken effect.
    ///
    /// Without it a call lasts as long as [`RetryPolicy::budget`] and the HTTP client's own time limits let it.
    #[must_use]
    pub fn with_deadline(&self, limit: Duration) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            deadline: Some(limit),
        }
    }

    /// The settings this session was made of.
    pub fn cloud(&self) -> &CloudConfig {
        &self.inner.cloud
    }

    /// The HTTP client in use.
    pub fn http(&self) -> Arc<dyn HttpService> {
        Arc::clone(&self.inner.http)
    }

    /// A second session on the same connections with another scope, logged in with the same credential (`AU-06`).
    ///
    /// # Errors
    /// A refused login.
    pub async fn rescoped(&self, scope: Scope) -> Result<Self> {
        let mut cloud = self.inner.cloud.clone();
        cloud.scope = scope;
        self.sibling(cloud).connect().await
    }

    /// A second session on the same connections with another credential and scope; trust or node logins, for example.
    ///
    /// # Errors
    /// A refused login.
    pub async fn reauthenticated(&self, auth: Auth, scope: Scope) -> Result<Self> {
        self.sibling(self.inner.cloud.clone().with_auth(auth, scope))
            .connect()
            .await
    }

    fn sibling(&self, cloud: CloudConfig) -> SessionBuilder {
        let builder = Self::builder(cloud)
            .http(self.http())
            .clock(Arc::clone(&self.inner.clock))
            .retry(self.inner.retry.clone())
            .parallel_calls(self.inner.parallel);
        match self.deadline {
            Some(limit) => builder.deadline(limit),
            None => builder,
        }
    }

    fn endpoint_override(&self, service: ServiceType) -> Option<&Url> {
        let overrides = &self.inner.cloud.endpoint_overrides;
        std::iter::once(service.name())
            .chain(service.names().iter().copied())
            .find_map(|name| overrides.get(name))
    }

    fn endpoint_of(&self, info: &TokenInfo, service: ServiceType) -> Result<Url> {
        if let Some(url) = self.endpoint_override(service) {
            return Ok(catalog::with_version(url.clone(), service));
        }
        if service == ServiceType::Identity && info.catalog.is_empty() {
            return Ok(self.inner.cloud.auth_url.as_url().clone());
        }
        let cloud = &self.inner.cloud;
        info.catalog
            .endpoint(service, cloud.interface, cloud.region.as_deref())
    }

    fn gate(&self, service: ServiceType) -> Arc<Semaphore> {
        let mut gates = self
            .inner
            .gates
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(
            gates
                .entry(service)
                .or_insert_with(|| Arc::new(Semaphore::new(self.inner.parallel))),
        )
    }
}

impl Session {
    /// Does `once` until it succeeds, ends in an error that repeating does not mend, or the policy's end is reached.
    /// Only for what may be repeated.
    pub(crate) async fn repeated<T, F>(&self, once: impl Fn() -> F + Send + Sync) -> Result<T>
    where
        T: Send,
        F: Future<Output = Result<T>> + Send,
    {
        let started = tokio::time::Instant::now();
        let mut failed = 0;
        loop {
            let error = match once().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            failed += 1;
            let asked = match error.retry() {
                Retry::Never => return Err(error),
                Retry::Backoff => None,
                Retry::After(pause) => Some(pause),
            };
            let policy = &self.inner.retry;
            match policy.next(failed, started.elapsed(), asked, &self.inner.pauses) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    pub(crate) fn now(&self) -> chrono::DateTime<chrono::Utc> {
        self.inner.clock.now()
    }

    /// The policy by which calls are repeated.
    pub fn retry_policy(&self) -> RetryPolicy {
        self.inner.retry.clone()
    }

    /// The pause before another try of an operation made of several calls; `None` when it should end.
    pub(crate) fn next_pause(
        &self,
        policy: &RetryPolicy,
        failed: u32,
        spent: Duration,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        policy.next(failed, spent, asked, &self.inner.pauses)
    }
}
