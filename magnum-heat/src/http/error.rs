//! Failures below HTTP: no answer, or not all of it.

use std::sync::Arc;

/// What kind of transport failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// No connection was made: name not resolved, refused, or the TLS handshake failed. The request was not sent.
    Connect,
    /// Time ran out; the server may or may not have acted.
    Timeout,
    /// The connection broke while sending or waiting; the server may or may not have acted.
    Interrupted,
    /// The answer began but its body could not be read to the end, or was larger than allowed.
    Body,
    /// The answer was larger than the client accepts.
    TooLarge,
    /// The request or the client's configuration was unusable. The request was not sent.
    Invalid,
}

/// A request got no complete answer.
///
/// The text never holds headers or bodies, so it cannot show a token.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct HttpError {
    kind: HttpErrorKind,
    message: String,
    #[source]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl HttpError {
    /// An error of `kind` with a text for people.
    pub fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What happened.
    pub fn kind(&self) -> HttpErrorKind {
        self.kind
    }

    /// Whether it is certain that the server never saw the request.
    pub fn never_sent(&self) -> bool {
        matches!(self.kind, HttpErrorKind::Connect | HttpErrorKind::Invalid)
    }

    /// Whether sending the same request again can help.
    pub fn is_transient(&self) -> bool {
        !matches!(self.kind, HttpErrorKind::Invalid | HttpErrorKind::TooLarge)
    }
}
