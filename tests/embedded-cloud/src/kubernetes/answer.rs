//! Bodies of answers.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

use super::error::ApiError;

/// The body of every answer.
pub(crate) type Body = BoxBody<Bytes, Infallible>;

fn build(status: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

/// Bytes of JSON.
pub(crate) fn raw(status: u16, json: Vec<u8>) -> Response<Body> {
    build(
        status,
        "application/json",
        Full::new(Bytes::from(json)).boxed(),
    )
}

/// A JSON value.
pub(crate) fn json(status: u16, value: &Value) -> Response<Body> {
    raw(status, serde_json::to_vec(value).unwrap_or_default())
}

/// Plain text, as the health endpoints give.
pub(crate) fn text(status: u16, text: &str) -> Response<Body> {
    build(
        status,
        "text/plain; charset=utf-8",
        Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed(),
    )
}

/// A stream of JSON lines.
pub(crate) fn stream(body: Body) -> Response<Body> {
    build(200, "application/json", body)
}

/// A refusal.
pub(crate) fn error(error: &ApiError) -> Response<Body> {
    let mut response = json(error.code, &error.body());
    if error.code == 429 {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, http::HeaderValue::from_static("1"));
    }
    response
}

/// A list object around the items, without copying them.
pub(crate) fn list_bytes(head: &Value, items: &[Arc<Value>]) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(head).unwrap_or_default();
    bytes.pop();
    bytes.extend_from_slice(b",\"items\":[");
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            bytes.push(b',');
        }
        let _ = serde_json::to_writer(&mut bytes, item.as_ref());
    }
    bytes.extend_from_slice(b"]}");
    bytes
}

/// The current time as Kubernetes writes it.
pub(crate) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}
