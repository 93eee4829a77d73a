//! A request as the simpler services see it, and their answer: everything read, nothing awaited.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use serde_json::Value;

use super::{ApiError, Caller, Cloud, Microversion, Service, ServiceKind};

/// One request, authenticated.
#[derive(Debug)]
pub struct Ask {
    /// The cloud.
    pub cloud: Cloud,
    /// Who asks.
    pub caller: Caller,
    /// The asked microversion.
    pub version: Microversion,
    /// The method.
    pub method: Method,
    /// The decoded segments of the path below the service's prefix.
    pub path: Vec<String>,
    /// The decoded query, in order.
    pub query: Vec<(String, String)>,
    /// Headers.
    pub headers: HeaderMap,
    /// The JSON body; `Null` when there is none or it is not JSON.
    pub body: Value,
    /// The body as it came.
    pub raw: Bytes,
    /// The service's own URL without a slash at the end.
    pub base: String,
    /// The service.
    pub kind: ServiceKind,
}

impl Ask {
    /// The path's segments as string slices, to match on.
    #[must_use]
    pub fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// The first value of a query parameter.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The JSON object under a key of the body.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<&serde_json::Map<String, Value>> {
        self.body.get(key).and_then(Value::as_object)
    }

    /// The loud answer to a request that this cloud does not know.
    #[must_use]
    pub fn unknown(&self) -> ApiError {
        let text = format!(
            "the embedded cloud does not implement {} /{}/{} of {}",
            self.method,
            self.kind.prefix(),
            self.path.join("/"),
            self.kind
        );
        tracing::error!("{text}");
        ApiError::new(
            self.kind,
            StatusCode::NOT_IMPLEMENTED,
            "NotImplemented",
            text,
        )
    }

    /// An error of this service.
    #[must_use]
    pub fn error(&self, status: u16, kind: &str, message: impl Into<String>) -> ApiError {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        ApiError::new(self.kind, status, kind, message)
    }
}

/// What is sent back.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Headers beyond the content type.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: AnswerBody,
}

/// A body.
#[derive(Debug)]
pub enum AnswerBody {
    /// None.
    Empty,
    /// JSON.
    Json(Value),
    /// Bytes with their content type.
    Raw(String, Bytes),
}

impl Answer {
    /// JSON with a status.
    #[must_use]
    pub fn json(status: u16, body: Value) -> Self {
        Self {
            body: AnswerBody::Json(body),
            ..Self::empty(status)
        }
    }

    /// No body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self {
            status,
            headers: Vec::new(),
            body: AnswerBody::Empty,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let (content_type, body) = match self.body {
            AnswerBody::Empty => (None, Body::empty()),
            AnswerBody::Json(value) => (
                Some("application/json".to_owned()),
                Body::from(value.to_string()),
            ),
            AnswerBody::Raw(kind, bytes) => (Some(kind), Body::from(bytes)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        if let Some(value) = content_type.and_then(|v| HeaderValue::from_str(&v).ok()) {
            response.headers_mut().insert(header::CONTENT_TYPE, value);
        }
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response
                    .headers_mut()
                    .append(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// A service that answers a whole request at once.
pub trait Answers: Service {
    /// Answers an authenticated request.
    ///
    /// # Errors
    /// Everything that is not a success.
    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError>;

    /// Answers what needs no token (version discovery), or nothing.
    fn open(&self, _base: &str, _method: &Method, _path: &[&str]) -> Option<Answer> {
        None
    }

    /// Headers that stand on every answer, errors included.
    fn decorate(&self, _version: Microversion, _response: &mut HeaderMap) {}
}

/// The router of such a service.
pub fn router<S: Answers>(service: &Arc<S>) -> Router {
    let service = Arc::clone(service);
    let handler = move |cloud: Cloud,
                        caller: Result<Caller, ApiError>,
                        version: Microversion,
                        method: Method,
                        uri: Uri,
                        headers: HeaderMap,
                        raw: Bytes| {
        let service = Arc::clone(&service);
        async move {
            let mut response =
                respond(&service, cloud, caller, version, method, &uri, headers, raw);
            service.decorate(version, response.headers_mut());
            response
        }
    };
    Router::new()
        .route("/", any(handler.clone()))
        .route("/{*rest}", any(handler))
}

#[allow(clippy::too_many_arguments)]
fn respond<S: Answers>(
    service: &Arc<S>,
    cloud: Cloud,
    caller: Result<Caller, ApiError>,
    version: Microversion,
    method: Method,
    uri: &Uri,
    headers: HeaderMap,
    raw: Bytes,
) -> Response {
    let kind = service.kind();
    let base = format!("{}/{}", cloud.base_url(), kind.prefix());
    let path: Vec<String> = uri
        .path()
        .split('/')
        .filter(|s| !s.is_empty())
        .map(decode)
        .collect();
    let segments: Vec<&str> = path.iter().map(String::as_str).collect();
    if let Some(answer) = service.open(&base, &method, &segments) {
        return answer.into_response();
    }
    let caller = match caller {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        .into_owned()
        .collect();
    let body = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let ask = Ask {
        cloud,
        caller,
        version,
        method,
        path,
        query,
        headers,
        body,
        raw,
        base,
        kind,
    };
    match service.answer(&ask) {
        Ok(answer) => answer.into_response(),
        Err(error) => error.into_response(),
    }
}

fn decode(segment: &str) -> String {
    let plus_kept = segment.replace('+', "%2B");
    let pair = format!("k={plus_kept}");
    let decoded = url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned());
    decoded.unwrap_or_else(|| segment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded() {
        assert_eq!(decode("a%2Fb%20c+d"), "a/b c+d");
    }
}
