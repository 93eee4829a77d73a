//! What all of Heat's handlers share: whom a request comes from, which stack it means.

use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::Heat;
use super::failure::Failure;
use super::model::Stack;
use super::view;
use crate::openstack::{ApiError, Caller, Cloud, ServiceKind};

pub(super) type Answer = Result<Json<Value>, ApiError>;

/// Bytes of a request body, at most.
const MAX_BODY: usize = 1_048_576;

/// Refuses foreign projects, and roles that may not do this. `action` is the policy's name (`stacks:create`).
pub(super) fn allow(caller: &Caller, project: &str, action: &str) -> Result<(), ApiError> {
    if caller.project_id != project {
        let message = "Access was denied to this resource.";
        return Err(ApiError::new(
            ServiceKind::Heat,
            StatusCode::FORBIDDEN,
            "HTTPForbidden",
            message,
        ));
    }
    let stack_user = caller.roles.iter().any(|r| r == "heat_stack_user");
    let reads = [
        "index",
        "show",
        "lookup",
        "template",
        "environment",
        "files",
        "list",
        "outputs",
        "resource",
        "validate",
    ];
    let writes = !reads.iter().any(|r| action.contains(r));
    let user_may = [
        "resource:show",
        "resource:signal",
        "resource:metadata",
        "build_info",
    ]
    .contains(&action);
    let may = if stack_user {
        user_may
    } else if writes {
        caller.can_write()
    } else {
        true
    };
    if may {
        return Ok(());
    }
    let message = format!("You are not authorized to use {action}.");
    Err(ApiError::new(
        ServiceKind::Heat,
        StatusCode::FORBIDDEN,
        "Forbidden",
        message,
    ))
}

/// The JSON body of a request, with Heat's limit.
pub(super) fn body(bytes: &Bytes) -> Result<Map<String, Value>, ApiError> {
    if bytes.len() > MAX_BODY {
        let message = format!(
            "Request limit exceeded: JSON body size ({} bytes) exceeds maximum allowed size ({MAX_BODY} bytes).",
            bytes.len()
        );
        return Err(Failure::new("RequestLimitExceeded", message).into());
    }
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Failure::new("HTTPBadRequest", "The server could not comply with the request since it is either malformed or otherwise incorrect.").into()),
    }
}

impl Heat {
    /// A copy of the stack that a URL names.
    pub(super) fn stack(&self, project: &str, name: &str, id: &str) -> Result<Stack, ApiError> {
        let found = self
            .state
            .read(|s| s.find(project, id).filter(|s| s.name == name).cloned());
        found.ok_or_else(|| Failure::not_found(name).into())
    }

    /// The 302 of a URL that names a stack without its id.
    pub(super) fn redirect(
        &self,
        cloud: &Cloud,
        project: &str,
        name: &str,
        rest: &str,
    ) -> Result<Response, ApiError> {
        let found = self.state.read(|s| {
            s.by_name(project, name)
                .or_else(|| s.find(project, name))
                .cloned()
        });
        let stack = found.ok_or_else(|| ApiError::from(Failure::not_found(name)))?;
        let url = view::url(cloud, &stack, rest);
        let message = format!(
            "The resource was found at <a href=\"{url}\">{url}</a>;\nyou should be redirected automatically.\n\n"
        );
        let body = json!({"message": message, "code": "302 Found", "title": "Found"});
        let mut response = (StatusCode::FOUND, Json(body)).into_response();
        if let Ok(value) = HeaderValue::from_str(&url) {
            response.headers_mut().insert(header::LOCATION, value);
        }
        Ok(response)
    }
}

/// The 202 of an accepted change.
pub(super) fn accepted() -> Response {
    let message = "The request is accepted for processing.<br /><br />\n\n\n";
    let body = json!({"message": message, "code": "202 Accepted", "title": "Accepted"});
    (StatusCode::ACCEPTED, Json(body)).into_response()
}
