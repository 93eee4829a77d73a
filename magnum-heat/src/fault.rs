//! Error answers: every shape that OpenStack services send, as one type.

use std::{fmt, time::Duration};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::{error::Retry, request::ServiceType};

/// The kind of fault, from Heat's `error.type`, other services' `type`, or the HTTP status.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// Another action of the stack is running.
    ActionInProgress,
    /// A stack of that name exists.
    StackExists,
    /// The named object does not exist.
    EntityNotFound,
    /// A limit of the service (template size, resources, stacks of a project); Heat answers 400 with it.
    RequestLimitExceeded,
    /// The template or its parameters are wrong.
    StackValidationFailed,
    /// The running action could not be stopped.
    StopActionFailed,
    /// A quota of the project is used up.
    QuotaExceeded,
    /// Refused by policy, or a foreign project.
    Forbidden,
    /// The token or credential is not accepted.
    Unauthorized,
    /// Conflict with the present state.
    Conflict,
    /// Too many requests.
    RateLimited,
    /// The service is overloaded, restarting or behind a failing proxy.
    Unavailable,
    /// Any other fault the service named.
    Other(String),
    /// The answer names none.
    Unnamed,
}

impl FaultKind {
    fn from_name(name: &str) -> Self {
        match name {
            "ActionInProgress" => Self::ActionInProgress,
            "StackExists" => Self::StackExists,
            "EntityNotFound" | "StackNotFound" | "ResourceNotFound" | "SnapshotNotFound" => {
                Self::EntityNotFound
            }
            "RequestLimitExceeded" | "StackResourceLimitExceeded" => Self::RequestLimitExceeded,
            "StackValidationFailed" => Self::StackValidationFailed,
            "StopActionFailed" => Self::StopActionFailed,
            "OverQuota" | "QuotaExceeded" => Self::QuotaExceeded,
            "Forbidden" | "HTTPForbidden" => Self::Forbidden,
            other => Self::Other(other.to_owned()),
        }
    }

    fn from_status(status: StatusCode, message: &str) -> Self {
        match status.as_u16() {
            401 => Self::Unauthorized,
            403 | 413
                if message.starts_with("Quota exceeded")
                    || message.contains("exceeded for quota") =>
            {
                Self::QuotaExceeded
            }
            403 => Self::Forbidden,
            404 | 410 => Self::EntityNotFound,
            409 => Self::Conflict,
            429 => Self::RateLimited,
            502..=504 => Self::Unavailable,
            _ => Self::Unnamed,
        }
    }
}

/// An error answer of a service.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApiError {
    /// What was being done.
    pub operation: &'static str,
    /// The service that answered.
    pub service: ServiceType,
    /// HTTP status.
    pub status: StatusCode,
    /// Kind of fault.
    pub kind: FaultKind,
    /// Short message of the service, without traceback; empty when it gave none.
    pub message: String,
    /// Request id, for the cloud's operator.
    pub request_id: Option<String>,
    /// Pause the service asked for.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} answered {}",
            self.operation,
            self.service,
            self.status.as_u16()
        )?;
        if let FaultKind::Other(name) = &self.kind {
            write!(f, " {name}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ApiError {}

impl ApiError {
    /// Decodes an error answer. Never fails: any body gives a typed error.
    pub fn decode(
        operation: &'static str,
        service: ServiceType,
        answer: &http::Response<Bytes>,
        now: DateTime<Utc>,
    ) -> Self {
        let status = answer.status();
        let (name, message) = read_body(answer.body());
        let message = clean(&message);
        let mut kind = name
            .as_deref()
            .map_or(FaultKind::Unnamed, FaultKind::from_name);
        let by_status = FaultKind::from_status(status, &message);
        let generic = matches!(&kind, FaultKind::Other(name) if name.starts_with("HTTP") || name == "Forbidden");
        if kind == FaultKind::Unnamed
            || (generic && by_status != FaultKind::Unnamed)
            || by_status == FaultKind::QuotaExceeded
        {
            kind = by_status;
        }
        Self {
            operation,
            service,
            status,
            kind,
            message,
            request_id: request_id(answer.headers()),
            retry_after: retry_after(answer.headers(), now),
        }
    }

    /// Whether and when to try again.
    pub fn retry(&self) -> Retry {
        if let (Some(pause), 429 | 503) = (self.retry_after, self.status.as_u16()) {
            return Retry::After(pause);
        }
        match self.status.as_u16() {
            408 | 429 | 500 | 502..=504 => Retry::Backoff,
            409 if self.kind == FaultKind::ActionInProgress => Retry::Backoff,
            _ => Retry::Never,
        }
    }
}

/// The request id of an answer.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["x-openstack-request-id", "x-compute-request-id"]
        .iter()
        .find_map(|name| headers.get(*name))
        .and_then(|value| value.to_str().ok())
        .map(|id| id.chars().take(80).collect())
}

/// `Retry-After` as seconds or as an HTTP date.
pub(crate) fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = headers
        .get(http::header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds.min(24 * 3600)));
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    Some((at.with_timezone(&Utc) - now).to_std().unwrap_or_default())
}

fn read_body(body: &Bytes) -> (Option<String>, String) {
    if body.is_empty() {
        return (None, String::new());
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => from_json(&value),
        Err(_) => (
            None,
            from_text(&String::from_utf8_lossy(&body[..body.len().min(16 * 1024)])),
        ),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
}

fn from_json(value: &Value) -> (Option<String>, String) {
    // Heat, Keystone: {"error": {"message", "type"|"title"}}; some proxies: {"error": "text"}.
    if let Some(error) = value.get("error") {
        if let Some(message) = error.as_str() {
            return (None, message.to_owned());
        }
        let message = text(error, "message")
            .or_else(|| text(value, "explanation"))
            .or_else(|| text(value, "title"));
        return (text(error, "type"), message.unwrap_or_default());
    }
    // Magnum, JSON API: {"errors": [{"detail", "title"}]}; Placement: {"errors": [{"detail", "code"}]}.
    if let Some(first) = value
        .get("errors")
        .and_then(Value::as_array)
        .and_then(|all| all.first())
    {
        return (
            None,
            text(first, "detail")
                .or_else(|| text(first, "title"))
                .unwrap_or_default(),
        );
    }
    // Octavia, older Ironic: {"faultstring"}; Ironic also nests that as JSON text in "error_message".
    if let Some(message) = text(value, "faultstring") {
        return (None, message);
    }
    match value.get("error_message") {
        Some(Value::String(inner)) => {
            let nested = serde_json::from_str::<Value>(inner)
                .ok()
                .and_then(|v| text(&v, "faultstring"));
            return (None, nested.unwrap_or_else(|| inner.clone()));
        }
        Some(inner @ Value::Object(_)) => {
            return (None, text(inner, "faultstring").unwrap_or_default());
        }
        _ => {}
    }
    // Neutron: {"NeutronError": {"type", "message", "detail"}} or a plain string.
    if let Some(error) = value.get("NeutronError") {
        return match error {
            Value::String(message) => (None, message.clone()),
            error => (
                text(error, "type"),
                text(error, "message").unwrap_or_default(),
            ),
        };
    }
    // Barbican: {"title", "description"}.
    if let Some(message) = text(value, "description") {
        return (None, message);
    }
    // Nova, Cinder: {"forbidden": {"message", "code"}}.
    if let Some(map) = value.as_object()
        && let Some(message) = map.values().find_map(|inner| text(inner, "message"))
    {
        return (None, message);
    }
    let plain = text(value, "message")
        .or_else(|| text(value, "detail"))
        .or_else(|| text(value, "title"));
    (
        None,
        plain
            .or_else(|| value.as_str().map(str::to_owned))
            .unwrap_or_default(),
    )
}

/// The readable part of an HTML page or of plain text.
fn from_text(raw: &str) -> String {
    let mut out = String::new();
    let mut in_tag = false;
    for c in raw.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                out.push(' ');
            }
            c if !in_tag => out.push(c),
            _ => {}
        }
    }
    out
}

/// One line, without traceback, at most 600 characters.
fn clean(message: &str) -> String {
    let end = message
        .find("Traceback (most recent call last)")
        .unwrap_or(message.len());
    let mut out = String::new();
    for word in message[..end].split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > 600 {
            let cut = (0..=600)
                .rev()
                .find(|i| out.is_char_boundary(*i))
                .unwrap_or_default();
            out.truncate(cut);
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(status: u16, body: &str) -> ApiError {
        let answer = http::Response::builder()
            .status(status)
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .unwrap();
        ApiError::decode("test", ServiceType::Orchestration, &answer, Utc::now())
    }

    #[test]
    fn hc_04_unexpected_shapes_become_typed_errors() {
        let cases = [
            (400, r#"{"errors":[{"detail":"d"}]}"#, "d"),
            (
                409,
                r#"{"error":{"message":"m","type":"ActionInProgress"}}"#,
                "m",
            ),
            (500, r#"{"faultstring":"f"}"#, "f"),
            (
                502,
                "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
                "502 Bad Gateway nginx",
            ),
            (503, "", ""),
            (400, "\"bare\"", "bare"),
            (400, "[1,2]", ""),
            (404, r#"{"NeutronError":"gone"}"#, "gone"),
            (
                403,
                r#"{"code":403,"title":"Forbidden","description":"no creator role"}"#,
                "no creator role",
            ),
            (
                409,
                r#"{"error_message":"{\"faultstring\":\"node is locked\"}"}"#,
                "node is locked",
            ),
        ];
        for (status, body, message) in cases {
            let error = decode(status, body);
            assert_eq!(
                (error.status.as_u16(), error.message.as_str()),
                (status, message),
                "{body}"
            );
        }
        assert_eq!(
            decode(
                409,
                r#"{"error":{"message":"m","type":"ActionInProgress"}}"#
            )
            .kind,
            FaultKind::ActionInProgress
        );
        assert_eq!(
            decode(400, &"[".repeat(5000)).status,
            StatusCode::BAD_REQUEST
        );
    }

    #[test]
    fn hc_05_fault_type_without_traceback() {
        let body = r#"{"code":409,"title":"Conflict","explanation":"..","error":{"type":"ActionInProgress",
            "message":"Stack s1 already has an action (UPDATE) in progress.",
            "traceback":"Traceback (most recent call last): File \"/opt/x.py\""}}"#;
        let error = decode(409, body);
        assert_eq!(error.kind, FaultKind::ActionInProgress);
        let text = error.to_string();
        assert!(
            text.contains("already has an action (UPDATE) in progress"),
            "{text}"
        );
        assert!(
            !text.contains("Traceback") && !text.contains("/opt/"),
            "{text}"
        );
        let inline = decode(
            500,
            r#"{"error":{"message":"boom Traceback (most recent call last): /opt/y.py","type":"X"}}"#,
        );
        assert_eq!(inline.message, "boom");
        for (name, kind) in [
            ("StackExists", FaultKind::StackExists),
            ("EntityNotFound", FaultKind::EntityNotFound),
            ("RequestLimitExceeded", FaultKind::RequestLimitExceeded),
            ("StackValidationFailed", FaultKind::StackValidationFailed),
            ("StopActionFailed", FaultKind::StopActionFailed),
        ] {
            assert_eq!(
                decode(
                    400,
                    &format!(r#"{{"error":{{"type":"{name}","message":"m"}}}}"#)
                )
                .kind,
                kind
            );
        }
    }

    #[test]
    fn sp_05_retry_after_seconds_and_date() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "7".parse().unwrap());
        assert_eq!(
            retry_after(&headers, Utc::now()),
            Some(Duration::from_secs(7))
        );
        let now = DateTime::parse_from_rfc3339("2026-12-01T05:00:00Z")
            .unwrap()
            .with_timezone(&Utc);
        headers.insert(
            "retry-after",
            "Tue, 01 Dec 2026 05:00:09 GMT".parse().unwrap(),
        );
        assert_eq!(retry_after(&headers, now), Some(Duration::from_secs(9)));
        headers.insert("retry-after", "soon".parse().unwrap());
        assert_eq!(retry_after(&headers, now), None);
    }
}
