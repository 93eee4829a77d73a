//! The listener and the way of a request through faults, the service and the journal.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use super::faults::{Drop, Fault};
use super::journal::Journal;
use super::reply::InProcess;
use super::requests::Asked;
use super::{ApiError, Cloud, ServiceKind, admin};

/// Puts the routers of all services in place and lets them resume.
pub(super) fn assemble(cloud: &Cloud) {
    let mut routers = HashMap::new();
    for service in &cloud.inner().services {
        let router = Arc::clone(service).router(cloud);
        routers.insert(
            service.kind(),
            router
                .fallback(unknown)
                .method_not_allowed_fallback(unknown),
        );
    }
    let _ = cloud.inner().routers.set(routers);
    for service in &cloud.inner().services {
        Arc::clone(service).resume(cloud);
    }
    if cloud.inner().journal.is_some() {
        cloud.spawn(Journal::run(cloud.clone()));
    }
}

/// Serves until the cloud is stopped.
pub(super) async fn serve(cloud: Cloud, listener: TcpListener) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = cloud.stopped() => return,
        };
        match accepted {
            Ok((stream, _)) => cloud.spawn(connection(cloud.clone(), stream)),
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}

async fn connection(cloud: Cloud, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let cloud = cloud.clone();
        async move {
            if !is_simulator(&request) {
                cloud.touch();
            }
            cloud.dispatch(request.map(Body::new)).await.ok_or(Dropped)
        }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The node simulator's look at the servers of all projects does not keep an idle cloud alive.
fn is_simulator(request: &Request<Incoming>) -> bool {
    let uri = request.uri();
    uri.path().ends_with("/servers/detail")
        && uri.query().is_some_and(|q| q.contains("all_tenants"))
}

/// Makes hyper close the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("dropped by a fault")]
struct Dropped;

impl Cloud {
    /// Takes one request through the cloud. `None` when a fault drops the connection.
    pub(super) async fn dispatch(&self, mut request: Request<Body>) -> Option<Response> {
        let (prefix, rest) = split(request.uri());
        request.extensions_mut().insert(self.clone());
        if prefix == "_embedded" {
            *request.uri_mut() = rest;
            return infallible(admin::router().fallback(unknown).oneshot(request).await);
        }
        let kind = ServiceKind::from_prefix(&prefix);
        let router = kind.and_then(|kind| self.inner().routers.get()?.get(&kind).cloned());
        let (Some(kind), Some(router)) = (kind, router) else {
            return Some(unknown(request).await);
        };
        let request_id = format!("req-{}", self.uuid());
        request.extensions_mut().insert(kind);
        *request.uri_mut() = rest;

        let outside = request.extensions().get::<InProcess>().is_none();
        let asked = outside.then(|| Asked::new(self, kind, &request));
        let mut lose_answer = false;
        if !self.inner().faults.is_empty() {
            let (faulted, fault) = self.fault(kind, request).await;
            request = faulted;
            if let Some(fault) = fault {
                tokio::time::sleep(fault.delay()).await;
                match fault.drop {
                    Some(Drop::Before) => return None,
                    Some(Drop::After) => lose_answer = true,
                    None => {}
                }
                if fault.status.is_some() {
                    return Some(with_request_id(
                        faulted_answer(kind, &fault),
                        kind,
                        &request_id,
                    ));
                }
            }
        }

        let mutating = !matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::OPTIONS
        );
        let gate = if outside {
            Some(self.hold().await)
        } else {
            None
        };
        let response = infallible(router.oneshot(request).await);
        drop(gate);
        if let (Some(asked), Some(response)) = (asked, &response) {
            asked.answered(self, response);
        }
        if outside && mutating {
            self.flush().await;
        }
        if lose_answer {
            None
        } else {
            response.map(|r| with_request_id(r, kind, &request_id))
        }
    }

    async fn fault(
        &self,
        kind: ServiceKind,
        request: Request<Body>,
    ) -> (Request<Body>, Option<Fault>) {
        let (parts, body) = request.into_parts();
        let bytes = body
            .collect()
            .await
            .map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
        let path = parts
            .uri
            .path_and_query()
            .map_or("/", |p| p.as_str())
            .to_owned();
        let fault = self
            .inner()
            .faults
            .meet(kind, parts.method.as_str(), &path, &bytes);
        (Request::from_parts(parts, Body::from(bytes)), fault)
    }
}

fn infallible(result: Result<Response, Infallible>) -> Option<Response> {
    result.ok()
}

/// The first path segment, and the rest as a URI without trailing slash.
fn split(uri: &Uri) -> (String, Uri) {
    let path = uri.path().trim_start_matches('/');
    let (prefix, rest) = path.split_once('/').unwrap_or((path, ""));
    let rest = rest.trim_end_matches('/');
    let query = uri.query().map(|q| format!("?{q}")).unwrap_or_default();
    let uri = format!("/{rest}{query}")
        .parse()
        .unwrap_or_else(|_| Uri::from_static("/"));
    (prefix.to_owned(), uri)
}

fn with_request_id(mut response: Response, kind: ServiceKind, id: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(id) {
        if matches!(kind, ServiceKind::Nova | ServiceKind::Cinder) {
            response
                .headers_mut()
                .insert("x-compute-request-id", value.clone());
        }
        response
            .headers_mut()
            .insert("x-openstack-request-id", value);
    }
    response
}

fn faulted_answer(kind: ServiceKind, fault: &Fault) -> Response {
    let status = fault
        .status
        .and_then(|s| StatusCode::from_u16(s).ok())
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match &fault.body {
        Some(serde_json::Value::String(text)) => (status, text.clone()).into_response(),
        Some(body) => (status, axum::Json(body.clone())).into_response(),
        None => {
            let message = status.canonical_reason().unwrap_or("fault");
            ApiError::new(kind, status, "computeFault", message).into_response()
        }
    };
    if let Some(seconds) = fault.retry_after {
        response
            .headers_mut()
            .insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Answers 501, loudly: a request that the stand-in does not know must never pass for a success.
async fn unknown(request: Request<Body>) -> Response {
    let kind = request
        .extensions()
        .get::<ServiceKind>()
        .map_or("no service", |kind| kind.name());
    let text = format!(
        "THE EMBEDDED CLOUD DOES NOT KNOW {} {} ({kind})",
        request.method(),
        request.uri()
    );
    tracing::error!("{text}");
    let body =
        serde_json::json!({"error": {"code": 501, "title": "Not Implemented", "message": text}});
    (StatusCode::NOT_IMPLEMENTED, axum::Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_into_prefix_and_rest() {
        for (path, prefix, rest) in [
            ("/compute/v2.1/servers/?a=b", "compute", "/v2.1/servers?a=b"),
            ("/compute", "compute", "/"),
            ("/", "", "/"),
        ] {
            let (p, r) = split(&path.parse().unwrap());
            assert_eq!((p.as_str(), r.to_string().as_str()), (prefix, rest));
        }
    }
}
