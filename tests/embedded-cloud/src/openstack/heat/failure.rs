//! Why something in Heat did not work: the kind and the words that real Heat uses.

use http::StatusCode;

use crate::openstack::{ApiError, ServiceKind};

/// A failure of a request or of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The exception's name: `Forbidden`, `ResourceInError`, `StackValidationFailed`, ...
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) status: StatusCode,
}

impl Failure {
    pub(super) fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            status: StatusCode::BAD_REQUEST,
        }
    }

    pub(super) fn at(
        status: StatusCode,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            status,
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("StackValidationFailed", message)
    }

    /// Something that a real Heat does and this stand-in does not: loud, never a success.
    pub(super) fn unsupported(what: impl Into<String>) -> Self {
        let message = format!("THE EMBEDDED CLOUD DOES NOT KNOW {}", what.into());
        tracing::error!("{message}");
        Self::at(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }

    pub(super) fn not_found(name: &str) -> Self {
        Self::at(
            StatusCode::NOT_FOUND,
            "EntityNotFound",
            format!("The Stack ({name}) could not be found."),
        )
    }

    pub(super) fn resource_not_found(name: &str, stack: &str) -> Self {
        let message = format!("The Resource ({name}) could not be found in Stack {stack}.");
        Self::at(StatusCode::NOT_FOUND, "ResourceNotFound", message)
    }

    /// The reason of a resource: `Forbidden: resources.server: Quota exceeded ...`.
    pub(super) fn reason(&self, resource: &str) -> String {
        format!("{}: resources.{resource}: {}", self.kind, self.message)
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self::new(
            ServiceKind::Heat,
            failure.status,
            failure.kind,
            failure.message,
        )
    }
}
