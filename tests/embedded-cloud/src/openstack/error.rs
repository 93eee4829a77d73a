//! Errors in the shape of each service.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::ServiceKind;

/// An error answer.
#[derive(Debug, Clone)]
pub struct ApiError {
    service: ServiceKind,
    status: StatusCode,
    kind: String,
    message: String,
    explanation: Option<String>,
    authenticate: Option<String>,
}

impl ApiError {
    /// An error of a service. `kind` is what the service calls it: Nova and Cinder the body's key (`itemNotFound`, `badRequest`,
    /// `forbidden`, `conflictingRequest`, `computeFault`), Neutron the exception (`NetworkNotFound`), Heat the error type
    /// (`StackValidationFailed`), Octavia `Client` or `Server`; the others do not use it.
    pub fn new(
        service: ServiceKind,
        status: StatusCode,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            service,
            status,
            kind: kind.into(),
            message: message.into(),
            explanation: None,
            authenticate: None,
        }
    }

    /// 401 as the common middleware of all services gives it.
    #[must_use]
    pub fn unauthorized(service: ServiceKind, base_url: &str) -> Self {
        let message = "The request you have made requires authentication.";
        let mut error = Self::new(service, StatusCode::UNAUTHORIZED, "Unauthorized", message);
        error.authenticate = Some(format!("Keystone uri=\"{base_url}/identity/v3\""));
        error
    }

    /// Sets the text that Heat puts beside the error.
    #[must_use]
    pub fn with_explanation(mut self, text: impl Into<String>) -> Self {
        self.explanation = Some(text.into());
        self
    }

    /// The status code.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    fn title(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Error")
    }

    /// The JSON body.
    #[must_use]
    pub fn body(&self) -> Value {
        let (code, title, message) = (self.status.as_u16(), self.title(), &self.message);
        if self.authenticate.is_some() {
            return json!({"error": {"code": code, "title": title, "message": message}});
        }
        match self.service {
            ServiceKind::Keystone => {
                json!({"error": {"code": code, "message": message, "title": title}})
            }
            ServiceKind::Nova | ServiceKind::Cinder => {
                json!({self.kind.as_str(): {"code": code, "message": message}})
            }
            ServiceKind::Neutron => {
                json!({"NeutronError": {"type": self.kind, "message": message, "detail": ""}})
            }
            ServiceKind::Octavia => {
                json!({"faultcode": self.kind, "faultstring": message, "debuginfo": null})
            }
            ServiceKind::Barbican => json!({"code": code, "title": title, "description": message}),
            ServiceKind::Ironic => {
                json!({"error_message": {"faultcode": "Client", "faultstring": message, "debuginfo": null}})
            }
            ServiceKind::Placement => {
                json!({"errors": [{"status": code, "title": title, "detail": message}]})
            }
            ServiceKind::Glance => {
                json!({"message": format!("{message}<br /><br />\n\n\n"), "code": format!("{code} {title}"), "title": title})
            }
            ServiceKind::Heat => json!({
                "code": code,
                "title": title,
                "explanation": self.explanation.clone().unwrap_or_else(|| heat_explanation(self.status).to_owned()),
                "error": {"type": self.kind, "traceback": null, "message": message},
            }),
        }
    }
}

fn heat_explanation(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => {
            "The server could not comply with the request since it is either malformed or otherwise incorrect."
        }
        403 => "Access was denied to this resource.",
        404 => "The resource could not be found.",
        405 => "The method specified is not allowed for this resource.",
        409 => "There was a conflict when trying to complete your request.",
        _ => "The server has either erred or is incapable of performing the requested operation.",
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(value) = self
            .authenticate
            .as_deref()
            .and_then(|v| HeaderValue::from_str(v).ok())
        {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}
