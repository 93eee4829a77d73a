//! Requests to a cluster's API.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use magnum_heat::http::{HttpConfig, HttpService, TlsConfig};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::error::KubernetesError;
use super::resource::ResourceName;
use crate::bootstrap::Endpoint;

/// Settings of an HTTP client for one cluster: the cluster's authority is the only root, and we present a client
/// certificate of it.
///
/// A call that takes longer than 30 seconds counts as unanswered.
#[must_use]
pub fn client_config(
    ca: impl Into<String>,
    certificate: impl Into<String>,
    key: SecretString,
) -> HttpConfig {
    let mut config =
        HttpConfig::with_tls(TlsConfig::only_ca_bundle(ca).with_identity(certificate, key));
    config.request_timeout = Duration::from_secs(30);
    config
}

/// Media types of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// A plain object.
    Json,
    /// JSON merge patch.
    MergePatch,
    /// Server-side apply.
    Apply,
}

impl Media {
    const fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::MergePatch => "application/merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// A cluster's API. Cheap to clone; clones share what was learned of the cluster's kinds.
///
/// Cancel safety: dropping a future abandons its request, which the cluster may still carry out; every call may be
/// repeated.
#[derive(Clone)]
pub struct KubernetesClient {
    http: Arc<dyn HttpService>,
    endpoint: Endpoint,
    pub(super) learned: Arc<Mutex<BTreeMap<(String, String), ResourceName>>>,
}

impl fmt::Debug for KubernetesClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesClient")
            .field("endpoint", &self.endpoint.to_string())
            .finish_non_exhaustive()
    }
}

impl KubernetesClient {
    /// A client for the API at `endpoint`, reached by `http`, which presents our identity: see [`client_config`].
    #[must_use]
    pub fn new(http: Arc<dyn HttpService>, endpoint: Endpoint) -> Self {
        Self {
            http,
            endpoint,
            learned: Arc::default(),
        }
    }

    /// Where the API is.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends one request and gives back any answer.
    pub(crate) async fn send(
        &self,
        operation: &str,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<(Media, &Value)>,
    ) -> Result<Response<Bytes>, KubernetesError> {
        let request = self.request(method, path, query, body)?;
        self.http
            .call(request)
            .await
            .map_err(|source| KubernetesError::Unreachable {
                operation: operation.to_owned(),
                endpoint: self.endpoint.to_string(),
                source,
            })
    }

    /// Sends one request; `None` is 404, every other answer that is no success is an error.
    pub(crate) async fn optional<T: DeserializeOwned>(
        &self,
        operation: &str,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<(Media, &Value)>,
    ) -> Result<Option<T>, KubernetesError> {
        let response = self.send(operation, method, path, query, body).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        decode(operation, &response).map(Some)
    }

    /// Sends one request; every answer that is no success is an error.
    pub(crate) async fn required<T: DeserializeOwned>(
        &self,
        operation: &str,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<(Media, &Value)>,
    ) -> Result<T, KubernetesError> {
        decode(
            operation,
            &self.send(operation, method, path, query, body).await?,
        )
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<(Media, &Value)>,
    ) -> Result<Request<Bytes>, KubernetesError> {
        let invalid = |reason: String| KubernetesError::InvalidObject { reason };
        let mut url = Url::parse(&self.endpoint.url()).map_err(|error| {
            invalid(format!("endpoint {} is no address: {error}", self.endpoint))
        })?;
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(header::ACCEPT, "application/json");
        let bytes = match body {
            None => Bytes::new(),
            Some((media, value)) => {
                request = request.header(header::CONTENT_TYPE, media.name());
                Bytes::from(value.to_string())
            }
        };
        request
            .body(bytes)
            .map_err(|error| invalid(format!("{path}: {error}")))
    }
}

/// Checks the status of an answer.
pub(crate) fn check(operation: &str, response: &Response<Bytes>) -> Result<(), KubernetesError> {
    if response.status().is_success() {
        return Ok(());
    }
    let retry_after = response
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    Err(KubernetesError::from_answer(
        operation,
        response.status().as_u16(),
        retry_after,
        response.body(),
    ))
}

/// Checks the status of an answer and reads its body.
pub(crate) fn decode<T: DeserializeOwned>(
    operation: &str,
    response: &Response<Bytes>,
) -> Result<T, KubernetesError> {
    check(operation, response)?;
    serde_json::from_slice(response.body()).map_err(|error| KubernetesError::Unreadable {
        operation: operation.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    #[tokio::test]
    async fn requests_carry_media_type_and_encoded_query() {
        let script = Script::new([(200, "{}")]);
        let client = script.client();
        let body = serde_json::json!({"a": 1});
        let query = [("labelSelector", "a=b,c")];
        let _: Value = client
            .required(
                "patch x",
                Method::PATCH,
                "/api/v1/nodes/n",
                &query,
                Some((Media::MergePatch, &body)),
            )
            .await
            .unwrap();
        assert_eq!(
            script.requests(),
            [
                r#"PATCH https://10.0.0.5:6443/api/v1/nodes/n?labelSelector=a%3Db%2Cc application/merge-patch+json {"a":1}"#
            ]
        );
    }

    #[tokio::test]
    async fn a_missing_object_is_none_or_an_error() {
        let script = Script::new([
            (404, "{}"),
            (404, r#"{"message":"gone"}"#),
            (200, "no json"),
        ]);
        let client = script.client();
        assert_eq!(
            client
                .optional::<Value>("get x", Method::GET, "/x", &[], None)
                .await
                .unwrap(),
            None
        );
        let error = client
            .required::<Value>("get x", Method::GET, "/x", &[], None)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "get x: not found: gone");
        let error = client
            .required::<Value>("get x", Method::GET, "/x", &[], None)
            .await
            .unwrap_err();
        assert!(matches!(error, KubernetesError::Unreadable { .. }));
    }

    #[test]
    fn ms_04_debug_of_a_client_shows_the_endpoint_only() {
        let text = format!("{:?}", Script::new([]).client());
        assert_eq!(
            text,
            r#"KubernetesClient { endpoint: "10.0.0.5:6443", .. }"#
        );
    }
}
