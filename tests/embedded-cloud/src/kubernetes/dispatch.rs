//! From a request to its answer: authentication, authorization, and the right verb.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use serde_json::{Value, json};

use super::answer::{self, Body};
use super::core::Core;
use super::error::ApiError;
use super::identity::{Attributes, Identity, authorize};
use super::request::{self, Query, ResourcePath, Target};
use super::selector::Selector;
use super::subresources;
use super::verbs::Call;

/// Answers one request. `certificate` is the identity of the connection, if it has one.
pub(crate) fn respond(
    core: &Arc<Core>,
    certificate: Option<&Identity>,
    request: Request<Bytes>,
) -> Response<Body> {
    match answer_or_refuse(core, certificate, request) {
        Ok(response) => response,
        Err(refusal) => answer::error(&refusal),
    }
}

fn authenticate(
    core: &Core,
    certificate: Option<&Identity>,
    headers: &HeaderMap,
) -> Result<Identity, ApiError> {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.strip_prefix("Bearer "));
    match (certificate, bearer) {
        (Some(identity), _) => Ok(identity.clone()),
        (None, Some(token)) => core
            .token(token)
            .ok_or_else(|| ApiError::new(401, "Unauthorized", "Unauthorized")),
        (None, None) => Ok(Identity::anonymous()),
    }
}

fn answer_or_refuse(
    core: &Arc<Core>,
    certificate: Option<&Identity>,
    request: Request<Bytes>,
) -> Result<Response<Body>, ApiError> {
    let who = authenticate(core, certificate, request.headers())?;
    let anonymous = who == Identity::anonymous();
    match request::parse(request.uri().path()) {
        Ok(Target::Health) => Ok(answer::text(200, "ok")),
        Ok(Target::Version) => Ok(answer::json(200, &version(&core.version()))),
        Ok(Target::Discovery(_)) | Err(_) if anonymous => Err(ApiError::new(
            403,
            "Forbidden",
            format!(
                "forbidden: User \"system:anonymous\" cannot {} path \"{}\"",
                request.method().as_str().to_lowercase(),
                request.uri().path()
            ),
        )),
        Ok(Target::Discovery(path)) => discover(core, &path),
        Ok(Target::Resource(path)) => resource(core, who, path, request),
        Err(unknown) => Err(unknown),
    }
}

fn version(version: &str) -> Value {
    let mut numbers = version.trim_start_matches('v').split('.');
    json!({
        "major": numbers.next().unwrap_or_default(), "minor": numbers.next().unwrap_or_default(),
        "gitVersion": version, "gitCommit": "0000000000000000000000000000000000000000", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.25", "compiler": "gc", "platform": "linux/amd64",
    })
}

fn discover(core: &Core, path: &str) -> Result<Response<Body>, ApiError> {
    let parts: Vec<&str> = path.split('/').collect();
    let found = core.with_resources(|r| match parts.as_slice() {
        ["api"] => Some(json!({"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "kubernetes:6443"}]})),
        ["api", version] => r.resource_list("", version),
        ["apis"] => Some(r.group_list()),
        ["apis", group] => r.group(group),
        ["apis", group, version] => r.resource_list(group, version),
        ["openapi", "v3"] => Some(r.openapi_index()),
        ["openapi", "v3", "api", version] => r.openapi("", version),
        ["openapi", "v3", "apis", group, version] => r.openapi(group, version),
        _ => None,
    });
    Ok(answer::json(
        200,
        &found.ok_or_else(ApiError::no_such_path)?,
    ))
}

fn verb(method: &Method, path: &ResourcePath, query: &Query) -> Result<&'static str, ApiError> {
    let named = !path.name.is_empty();
    Ok(match (method, named) {
        (&Method::GET, _) if query.is_true("watch") => "watch",
        (&Method::GET, true) => "get",
        (&Method::GET, false) => "list",
        (&Method::POST, false) => "create",
        (&Method::POST, true) if !path.sub.is_empty() => "create",
        (&Method::PUT, true) => "update",
        (&Method::PATCH, true) => "patch",
        (&Method::DELETE, true) => "delete",
        (&Method::DELETE, false) => "deletecollection",
        _ => return Err(ApiError::method_not_allowed()),
    })
}

fn resource(
    core: &Arc<Core>,
    who: Identity,
    path: ResourcePath,
    request: Request<Bytes>,
) -> Result<Response<Body>, ApiError> {
    let (parts, body) = request.into_parts();
    if let Some(answer) = subresources::review(core, &who, &parts.method, &path, &body) {
        return Ok(answer);
    }
    let query = Query::parse(parts.uri.query());
    let verb = verb(&parts.method, &path, &query)?;
    let fields = Selector::parse(query.get("fieldSelector"))?;
    let selects = if path.plural == "nodes" {
        "metadata.name"
    } else {
        "spec.nodeName"
    };
    let attributes = Attributes {
        verb,
        group: &path.group,
        plural: &path.plural,
        subresource: &path.sub,
        namespace: if path.plural == "namespaces" {
            ""
        } else {
            &path.namespace
        },
        name: &path.name,
        selected: fields.demanded(selects).unwrap_or_default(),
    };
    authorize(&core.store, &who, &attributes)?;
    let known = core.with_resources(|r| r.find(&path.group, &path.version, &path.plural));
    let resource = known.ok_or_else(ApiError::no_such_path)?;
    let misplaced =
        resource.namespaced && path.namespace.is_empty() && !matches!(verb, "list" | "watch");
    if misplaced || (!resource.namespaced && !path.namespace.is_empty()) {
        return Err(ApiError::no_such_path());
    }
    let text = |name: header::HeaderName| {
        parts
            .headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let call = Call {
        core: core.clone(),
        who,
        method: parts.method.clone(),
        path,
        resource,
        query,
        content_type: text(header::CONTENT_TYPE),
        accept: text(header::ACCEPT),
        agent: text(header::USER_AGENT),
        body,
    };
    if !call.path.sub.is_empty() {
        return subresources::handle(&call);
    }
    match verb {
        "watch" => call.watch(),
        "get" => call.get(),
        "list" => call.list(),
        "create" => call.create(),
        "update" => call.update(),
        "patch" => call.patch(),
        "delete" => call.delete(),
        _ => call.delete_collection(),
    }
}
