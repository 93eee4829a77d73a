//! Calls of one service to another, in-process.

use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;

use super::Cloud;

/// Why an in-process call has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// A fault dropped the connection.
    #[error("Unable to establish connection to {0}: Remote end closed connection without response")]
    Dropped(String),
    /// The request or the answer could not be built or read.
    #[error("{0}")]
    Broken(String),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Status code.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// The JSON body; `Null` without one, a string when it is not JSON.
    pub body: Value,
}

impl Cloud {
    /// Calls a service by its REST API: `path` begins with the service's prefix (`/compute/v2.1/servers`), `token` is
    /// sent as `X-Auth-Token`. Faults apply. The state is not journalled before this returns.
    ///
    /// # Errors
    /// When a fault drops the connection.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Reply, CallError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, "application/json");
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = match body {
            Some(body) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(body.to_string())),
            None => request.body(Body::empty()),
        };
        let mut request = request.map_err(|e| CallError::Broken(e.to_string()))?;
        request.extensions_mut().insert(InProcess);
        let Some(response) = self.dispatch(request).await else {
            return Err(CallError::Dropped(format!("{}{path}", self.base_url())));
        };
        let (parts, body) = response.into_parts();
        let bytes = body
            .collect()
            .await
            .map_err(|e| CallError::Broken(e.to_string()))?
            .to_bytes();
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into())
        };
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }
}

/// Marks a request that came by [`Cloud::call`].
#[derive(Debug, Clone, Copy)]
pub struct InProcess;
