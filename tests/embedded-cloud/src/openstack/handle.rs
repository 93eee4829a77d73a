//! The handle of a running cloud that every part holds.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use http::StatusCode;
use http::request::Parts;
use tokio::sync::{RwLock, RwLockReadGuard, watch};

use super::faults::Faults;
use super::ids::Ids;
use super::journal::Journal;
use super::keystone::Keystone;
use super::latency::{Build, Latency};
use super::ledger::Ledger;
use super::requests::Requests;
use super::{Service, ServiceKind};
use crate::cloud::Options;

/// The cloud: cheap to clone, an extractor in every handler.
#[derive(Clone)]
pub struct Cloud(Arc<Inner>);

pub(super) struct Inner {
    pub(super) options: Options,
    base_url: OnceLock<String>,
    ids: Ids,
    pub(super) services: Vec<Arc<dyn Service>>,
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    keystone: Arc<Keystone>,
    pub(super) routers: OnceLock<HashMap<ServiceKind, Router>>,
    pub(super) faults: Faults,
    ledger: Ledger,
    requests: Requests,
    pub(super) journal: Option<Journal>,
    pub(super) gate: RwLock<()>,
    shutdown: watch::Sender<bool>,
    last_request: AtomicI64,
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cloud")
            .field("base_url", &self.0.base_url)
            .finish_non_exhaustive()
    }
}

/// The services while a cloud is put together.
#[derive(Debug, Default)]
pub struct Services {
    pub(super) list: Vec<Arc<dyn Service>>,
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Services {
    /// Adds a service.
    pub fn add<S: Service>(&mut self, service: S) -> Arc<S> {
        let service = Arc::new(service);
        self.list.push(service.clone());
        self.by_type.insert(TypeId::of::<S>(), service.clone());
        service
    }
}

impl Cloud {
    pub(super) fn new(
        options: Options,
        services: Services,
        keystone: Arc<Keystone>,
        journal: Option<Journal>,
        ledger: Ledger,
    ) -> Self {
        let boots = journal.as_ref().map_or(0, Journal::boots);
        Self(Arc::new(Inner {
            ids: Ids::new(options.seed, boots),
            options,
            base_url: OnceLock::new(),
            services: services.list,
            by_type: services.by_type,
            keystone,
            routers: OnceLock::new(),
            faults: Faults::default(),
            ledger,
            requests: Requests::default(),
            journal,
            gate: RwLock::new(()),
            shutdown: watch::channel(false).0,
            last_request: AtomicI64::new(Utc::now().timestamp_millis()),
        }))
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(super) fn set_base_url(&self, url: String) {
        let _ = self.0.base_url.set(url);
    }

    /// `http://127.0.0.1:PORT`, without slash.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.0.base_url.get().cloned().unwrap_or_default()
    }

    /// A URL of a service: `path` begins with a slash and follows the service's prefix.
    #[must_use]
    pub fn url(&self, service: ServiceKind, path: &str) -> String {
        format!("{}/{}{path}", self.base_url(), service.prefix())
    }

    /// How the cloud was started.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// A new id with dashes.
    #[must_use]
    pub fn uuid(&self) -> String {
        self.0.ids.uuid()
    }

    /// A new id without dashes.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.ids.hex()
    }

    /// The id generator.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.0.ids
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    /// Now as `2026-12-01T03:02:12Z`, as Heat, Nova and Neutron print it.
    #[must_use]
    pub fn timestamp(&self) -> String {
        self.now().format("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Build times.
    #[must_use]
    pub fn latency(&self) -> &Latency {
        &self.0.options.latency
    }

    /// Waits as long as this kind of work takes: its build time, give or take a quarter.
    pub async fn build(&self, build: Build) {
        let time = self
            .latency()
            .of(build)
            .mul_f64(0.75 + 0.5 * self.0.ids.fraction());
        if time > Duration::ZERO {
            tokio::time::sleep(time).await;
        }
    }

    /// Runs background work; it ends with the cloud.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut stop = self.0.shutdown.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                _ = stop.wait_for(|stopped| *stopped) => {}
            }
        });
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// The log of requests from outside.
    #[must_use]
    pub fn requests(&self) -> &Requests {
        &self.0.requests
    }

    /// The identity service.
    #[must_use]
    pub fn keystone(&self) -> &Arc<Keystone> {
        &self.0.keystone
    }

    /// Another service by its type.
    ///
    /// # Panics
    /// When the cloud has no such service, which is a mistake in the registry.
    #[must_use]
    pub fn service<S: Service>(&self) -> Arc<S> {
        self.0
            .by_type
            .get(&TypeId::of::<S>())
            .and_then(|service| service.clone().downcast().ok())
            .expect("every service is registered at start")
    }

    /// Holds the journal back while two services change together (a call and what the caller remembers of its answer), so that
    /// a kill never separates them. Not for use inside a handler: a request has it already, and it does not nest.
    pub async fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.0.gate.read().await
    }

    /// Ends the cloud: the listener, connections and background work.
    pub fn stop(&self) {
        self.0.shutdown.send_replace(true);
    }

    /// Resolves when [`Self::stop`] was called.
    pub async fn stopped(&self) {
        let mut stop = self.0.shutdown.subscribe();
        let _ = stop.wait_for(|stopped| *stopped).await;
    }

    pub(super) fn touch(&self) {
        self.0
            .last_request
            .store(Utc::now().timestamp_millis(), Ordering::Relaxed);
    }

    /// Time since the last request from outside.
    #[must_use]
    pub fn idle(&self) -> Duration {
        let last = self.0.last_request.load(Ordering::Relaxed);
        Duration::from_millis(u64::try_from(Utc::now().timestamp_millis() - last).unwrap_or(0))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Cloud {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let missing = || {
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "request did not come through the cloud",
            )
                .into_response()
        };
        parts.extensions.get::<Self>().cloned().ok_or_else(missing)
    }
}
