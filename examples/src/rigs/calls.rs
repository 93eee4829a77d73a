//! Counting a driver's calls, and letting them go wrong.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use magnum_core::ClusterId;
use magnum_core::conformance::Fault;
use magnum_driver_kit::bootstrap::Endpoint;
use magnum_driver_kit::connector::EndpointConnector;
use magnum_heat::http::{HttpConfig, HttpError, HttpErrorKind, HttpService};
use url::Url;

/// The calls of one driver, to OpenStack and to clusters alike. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    made: u64,
    faults: Vec<(u64, Fault)>,
}

impl Calls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder of this lock panics")
    }

    /// How many there were.
    pub(super) fn made(&self) -> u64 {
        self.state().made
    }

    /// Lets the call number `after` from now go wrong.
    pub(super) fn inject(&self, after: u64, fault: Fault) {
        let mut state = self.state();
        let at = state.made + after;
        state.faults.push((at, fault));
    }

    /// Counts a call; gives what is to go wrong with it.
    fn next(&self) -> Option<Fault> {
        let mut state = self.state();
        let number = state.made;
        state.made += 1;
        let fault = state.faults.iter().find(|(at, _)| *at == number);
        fault.map(|(_, fault)| *fault)
    }
}

/// An HTTP client whose calls are counted and go wrong.
#[derive(Debug)]
pub(super) struct Counted<S> {
    pub(super) http: S,
    pub(super) calls: Calls,
}

#[async_trait]
impl<S: HttpService> HttpService for Counted<S> {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        match self.calls.next() {
            None => self.http.call(request).await,
            Some(Fault::Refused) => Err(HttpError::new(
                HttpErrorKind::Connect,
                "the connection was refused by a test",
            )),
            Some(Fault::AnswerLost) => {
                self.http.call(request).await?;
                Err(HttpError::new(
                    HttpErrorKind::Interrupted,
                    "the answer was lost by a test",
                ))
            }
        }
    }
}

/// A way to clusters whose calls are counted and go wrong.
#[derive(Debug)]
pub(super) struct CountedWay<C> {
    pub(super) way: C,
    pub(super) calls: Calls,
}

#[async_trait]
impl<C: EndpointConnector> EndpointConnector for CountedWay<C> {
    async fn connect(
        &self,
        cluster: ClusterId,
        endpoint: &Endpoint,
        config: HttpConfig,
    ) -> Result<Arc<dyn HttpService>, HttpError> {
        Ok(Arc::new(Counted {
            http: self.way.connect(cluster, endpoint, config).await?,
            calls: self.calls.clone(),
        }))
    }

    fn kubeconfig_proxy(&self, cluster: ClusterId, endpoint: &Endpoint) -> Option<Url> {
        self.way.kubeconfig_proxy(cluster, endpoint)
    }

    fn describe(&self, cluster: ClusterId, endpoint: &Endpoint) -> String {
        self.way.describe(cluster, endpoint)
    }
}
