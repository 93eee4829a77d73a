//! The one seam through which every byte leaves: [`HttpService`].

mod config;
mod error;
mod rate_limit;
mod reqwest_service;

pub use config::{ClientIdentity, HttpConfig, TlsConfig};
pub use error::{HttpError, HttpErrorKind};
pub use rate_limit::RateLimit;
pub use reqwest_service::ReqwestService;

use async_trait::async_trait;
use bytes::Bytes;

/// Sends one HTTP request and reads the whole answer.
///
/// The session, the Kubernetes access of drivers and every test go through this trait, so a fake is one small type
/// (see [`crate::testing::Script`]). An implementation must
///
/// * not follow redirects (the session does, within one origin),
/// * answer every HTTP status as `Ok`; `Err` is for requests that got no full answer,
/// * not retry (the session does, knowing which calls are safe to repeat).
///
/// Cancel safety: dropping the future abandons the request; the server may still act on it.
#[async_trait]
pub trait HttpService: std::fmt::Debug + Send + Sync {
    /// Sends `request` to its absolute URI.
    ///
    /// # Errors
    /// [`HttpError`] when no complete answer was received.
    async fn call(&self, request: http::Request<Bytes>)
    -> Result<http::Response<Bytes>, HttpError>;
}

#[async_trait]
impl<S: HttpService + ?Sized> HttpService for std::sync::Arc<S> {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        (**self).call(request).await
    }
}
