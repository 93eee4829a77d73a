//! Why a call to a cluster's API failed.

use std::time::Duration;

use magnum_core::Retry;
use magnum_heat::http::{HttpError, HttpErrorKind};
use serde::Deserialize;
use thiserror::Error;

/// A call to a cluster's API failed.
///
/// `operation` says what was wanted (`get node demo-w-7f2kq`); texts never hold bodies, tokens or keys.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum KubernetesError {
    /// No complete answer came: the endpoint is not reached, TLS failed, or time ran out.
    #[error("{operation}: {endpoint} is not reached: {source}")]
    Unreachable {
        /// What was wanted.
        operation: String,
        /// `host:port` of the API.
        endpoint: String,
        /// What happened below HTTP.
        source: HttpError,
    },
    /// 401: the client certificate is not accepted, for instance because it expired.
    #[error("{operation}: the cluster does not accept our identity: {message}")]
    Unauthorized {
        /// What was wanted.
        operation: String,
        /// The cluster's words.
        message: String,
    },
    /// 403: our identity may not do this.
    #[error("{operation}: forbidden: {message}")]
    Forbidden {
        /// What was wanted.
        operation: String,
        /// The cluster's words.
        message: String,
    },
    /// 404 where the object had to be there.
    #[error("{operation}: not found: {message}")]
    NotFound {
        /// What was wanted.
        operation: String,
        /// The cluster's words.
        message: String,
    },
    /// 409: somebody else changed or owns it.
    #[error("{operation}: conflict: {message}")]
    Conflict {
        /// What was wanted.
        operation: String,
        /// The cluster's words.
        message: String,
    },
    /// 429, or 503 with a pause asked for.
    #[error("{operation}: the cluster asks for a pause: {message}")]
    Busy {
        /// What was wanted.
        operation: String,
        /// The cluster's words.
        message: String,
        /// The pause asked for.
        retry_after: Option<Duration>,
    },
    /// 400 or 422: the object was not accepted.
    #[error("{operation}: refused: {message}")]
    Refused {
        /// What was wanted.
        operation: String,
        /// HTTP status.
        status: u16,
        /// The cluster's words.
        message: String,
    },
    /// Any other answer that is no success, 5xx included.
    #[error("{operation}: answer {status}: {message}")]
    Answered {
        /// What was wanted.
        operation: String,
        /// HTTP status.
        status: u16,
        /// The cluster's words.
        message: String,
    },
    /// A success whose body was not what the API promises.
    #[error("{operation}: unreadable answer: {reason}")]
    Unreadable {
        /// What was wanted.
        operation: String,
        /// Why it could not be read.
        reason: String,
    },
    /// The cluster has no such kind.
    #[error("the cluster has no kind {kind} in {api_version}")]
    UnknownKind {
        /// Group and version.
        api_version: String,
        /// Kind.
        kind: String,
    },
    /// An object of ours lacks what every object has, or a name does not fit into an address.
    #[error("invalid object: {reason}")]
    InvalidObject {
        /// What is missing or wrong.
        reason: String,
    },
}

impl KubernetesError {
    /// Whether the same call can succeed later.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unreachable { source, .. } if source.kind() == HttpErrorKind::Invalid => {
                Retry::Never
            }
            Self::Unreachable { .. } | Self::Conflict { .. } => Retry::Later,
            Self::Busy { retry_after, .. } => retry_after.map_or(Retry::Later, Retry::After),
            Self::Answered { status, .. } if *status >= 500 => Retry::Later,
            // RBAC objects of a fresh control plane appear a moment after its first answer.
            Self::Forbidden { .. } => Retry::After(Duration::from_secs(5)),
            _ => Retry::Never,
        }
    }

    /// Whether no answer came at all.
    #[must_use]
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// The error of an answer that is no success.
    pub(crate) fn from_answer(
        operation: &str,
        status: u16,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Self {
        let answer: StatusBody = serde_json::from_slice(body).unwrap_or_default();
        let message = if answer.message.is_empty() {
            plain_text(body)
        } else {
            answer.message
        };
        let operation = operation.to_owned();
        let pause =
            retry_after.or_else(|| answer.details?.retry_after_seconds.map(Duration::from_secs));
        match status {
            401 => Self::Unauthorized { operation, message },
            403 => Self::Forbidden { operation, message },
            404 => Self::NotFound { operation, message },
            409 => Self::Conflict { operation, message },
            429 => Self::Busy {
                operation,
                message,
                retry_after: pause,
            },
            503 if pause.is_some() => Self::Busy {
                operation,
                message,
                retry_after: pause,
            },
            400 | 422 => Self::Refused {
                operation,
                status,
                message,
            },
            _ => Self::Answered {
                operation,
                status,
                message,
            },
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StatusBody {
    message: String,
    details: Option<StatusDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct StatusDetails {
    retry_after_seconds: Option<u64>,
}

/// The beginning of a body that is no Status, in one line.
fn plain_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        "no text".to_owned()
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> KubernetesError {
        KubernetesError::from_answer("get node n", status, None, body.as_bytes())
    }

    #[test]
    fn statuses_become_what_a_caller_can_act_on() {
        let body = r#"{"kind":"Status","message":"nodes \"n\" not found","details":{"retryAfterSeconds":7}}"#;
        assert!(matches!(error(404, body), KubernetesError::NotFound { .. }));
        assert_eq!(
            error(429, body).retry(),
            Retry::After(Duration::from_secs(7))
        );
        assert_eq!(error(503, "later").retry(), Retry::Later);
        assert_eq!(error(422, body).retry(), Retry::Never);
        assert_eq!(
            error(404, body).to_string(),
            "get node n: not found: nodes \"n\" not found"
        );
        assert_eq!(
            error(502, "<html>\n bad  gateway").to_string(),
            "get node n: answer 502: <html> bad gateway"
        );
    }

    #[test]
    fn an_unusable_configuration_is_not_tried_again() {
        let of = |kind| KubernetesError::Unreachable {
            operation: "get /version".into(),
            endpoint: "10.0.0.5:6443".into(),
            source: HttpError::new(kind, "x"),
        };
        assert_eq!(of(HttpErrorKind::Invalid).retry(), Retry::Never);
        assert_eq!(of(HttpErrorKind::Connect).retry(), Retry::Later);
        assert!(of(HttpErrorKind::Timeout).is_unreachable());
    }
}
