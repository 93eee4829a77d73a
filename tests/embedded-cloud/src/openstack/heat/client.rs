//! Heat as a client of the other services, in the name of a stack's owner, with their errors in real Heat's words.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::failure::Failure;
use crate::openstack::{CallError, Cloud, Reply};

/// Calls with one token.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) cloud: Cloud,
    pub(super) token: String,
}

fn headers(path: &str) -> &'static [(&'static str, &'static str)] {
    if path.starts_with("/compute") {
        &[
            ("OpenStack-API-Version", "compute 2.90"),
            ("X-OpenStack-Nova-API-Version", "2.90"),
        ]
    } else if path.starts_with("/volume") {
        &[("OpenStack-API-Version", "volume 3.59")]
    } else {
        &[]
    }
}

impl Client {
    /// Sends a request; an answer of 400 and above is a failure.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Failure> {
        let sent = self
            .cloud
            .call(
                method,
                path,
                Some(&self.token),
                headers(path),
                body.as_ref(),
            )
            .await;
        match sent {
            Ok(reply) if reply.status.is_success() || reply.status.is_redirection() => {
                Ok(reply.body)
            }
            Ok(reply) => Err(failure(path, &reply)),
            Err(error @ CallError::Dropped(_)) => Err(Failure::at(
                StatusCode::BAD_GATEWAY,
                "ConnectFailure",
                error.to_string(),
            )),
            Err(error) => Err(Failure::at(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Error",
                error.to_string(),
            )),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.send(Method::POST, path, Some(body)).await
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.send(Method::PUT, path, Some(body)).await
    }

    /// Deletes; `true` when it was already gone.
    pub(super) async fn delete(&self, path: &str) -> Result<bool, Failure> {
        match self.send(Method::DELETE, path, None).await {
            Ok(_) => Ok(false),
            Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(true),
            Err(failure) => Err(failure),
        }
    }

    /// A token by password and scope, from Keystone.
    pub(super) async fn login(cloud: &Cloud, user: &str, scope: Value) -> Result<String, Failure> {
        let password = json!({"user": {"id": user, "password": "svcpw"}});
        let body = json!({"auth": {"identity": {"methods": ["password"], "password": password}, "scope": scope}});
        let path = "/identity/v3/auth/tokens?nocatalog";
        let reply = cloud.call(Method::POST, path, None, &[], Some(&body)).await;
        let reply = reply
            .map_err(|e| Failure::at(StatusCode::BAD_GATEWAY, "ConnectFailure", e.to_string()))?;
        let token = reply
            .headers
            .get("x-subject-token")
            .and_then(|v| v.to_str().ok());
        token.map(ToOwned::to_owned).ok_or_else(|| {
            let message = format!("ERROR: {}", message(&reply.body));
            Failure::at(reply.status, "AuthorizationFailure", message)
        })
    }
}

/// The message in an error body of any service.
fn message(body: &Value) -> String {
    if let Some(text) = body.as_str() {
        return text.to_owned();
    }
    let Some(map) = body.as_object() else {
        return body.to_string();
    };
    for key in ["faultstring", "message", "description"] {
        if let Some(text) = map.get(key).and_then(Value::as_str) {
            return text.to_owned();
        }
    }
    map.values()
        .find_map(|v| v.get("message").and_then(Value::as_str))
        .map_or_else(|| body.to_string(), ToOwned::to_owned)
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        413 => "OverLimit",
        429 => "RateLimit",
        _ => "ClientException",
    }
}

fn failure(path: &str, reply: &Reply) -> Failure {
    let id = reply
        .headers
        .get("x-openstack-request-id")
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let message = message(&reply.body);
    let (status, code) = (reply.status, reply.status.as_u16());
    if path.starts_with("/network") {
        let kind = reply
            .body
            .pointer("/NeutronError/type")
            .and_then(Value::as_str);
        let kind = match kind {
            Some(kind) if !kind.starts_with("HTTP") => format!("{kind}Client"),
            _ => class(status).to_owned(),
        };
        return Failure::at(
            status,
            kind,
            format!("{message}\nNeutron server returns request_ids: ['{id}']"),
        );
    }
    let text = format!("{message} (HTTP {code}) (Request-ID: {id})");
    let kind = if path.starts_with("/load-balancer") {
        "OctaviaClientException"
    } else {
        class(status)
    };
    Failure::at(status, kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_take_real_heats_words() {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-openstack-request-id", "req-1".parse().unwrap());
        let nova = Reply {
            status: StatusCode::FORBIDDEN,
            headers: headers.clone(),
            body: json!({"forbidden": {"code": 403, "message": "Quota exceeded"}}),
        };
        assert_eq!(
            failure("/compute/v2.1/servers", &nova).reason("server"),
            "Forbidden: resources.server: Quota exceeded (HTTP 403) (Request-ID: req-1)"
        );
        let octavia = Reply {
            status: StatusCode::NOT_IMPLEMENTED,
            headers,
            body: json!({"faultcode": "Client", "faultstring": "no", "debuginfo": null}),
        };
        assert_eq!(
            failure("/load-balancer/v2/lbaas/pools", &octavia).reason("pool"),
            "OctaviaClientException: resources.pool: no (HTTP 501) (Request-ID: req-1)"
        );
    }
}
