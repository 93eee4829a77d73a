//! What lies below objects, and the virtual resources that are only asked.

use http::{Method, Response};
use serde_json::{Value, json};

use super::answer::{self, Body, now};
use super::error::ApiError;
use super::eviction::evict;
use super::identity::{Attributes, Identity, authorize};
use super::request::ResourcePath;
use super::store::Key;
use super::verbs::Call;

/// Answers a request for a subresource.
pub(crate) fn handle(call: &Call) -> Result<Response<Body>, ApiError> {
    let path = &call.path;
    match (path.plural.as_str(), path.sub.as_str(), &call.method) {
        ("pods", "eviction", &Method::POST) => {
            let body = call.object()?;
            let options = &body["deleteOptions"];
            Ok(answer::json(
                201,
                &evict(&call.core, &path.namespace, &path.name, options)?,
            ))
        }
        ("pods", "binding", &Method::POST) => bind(call),
        ("pods", "log", &Method::GET) => Ok(answer::text(200, "")),
        ("serviceaccounts", "token", &Method::POST) => token(call),
        ("namespaces", "finalize", &Method::PUT) => call.update(),
        ("deployments" | "statefulsets" | "replicasets", "scale", _) => scale(call),
        (_, "status", _) if !call.resource.keeps_status() => Err(ApiError::no_such_path()),
        (_, "status", &Method::GET) | ("certificatesigningrequests", "approval", &Method::GET) => {
            call.get()
        }
        (_, "status", &Method::PUT) | ("certificatesigningrequests", "approval", &Method::PUT) => {
            call.update()
        }
        (_, "status", &Method::PATCH)
        | ("certificatesigningrequests", "approval", &Method::PATCH) => call.patch(),
        _ => Err(ApiError::no_such_path()),
    }
}

fn bind(call: &Call) -> Result<Response<Body>, ApiError> {
    let body = call.object()?;
    let path = &call.path;
    call.core
        .store
        .edit(&Key::new("pods", &path.namespace, &path.name), |old| {
            let mut pod = old
                .ok_or_else(|| ApiError::not_found("", "pods", &path.name))?
                .clone();
            pod["spec"]["nodeName"] = body["target"]["name"].clone();
            Ok(Some(pod))
        })?;
    Ok(answer::json(
        201,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
    ))
}

fn token(call: &Call) -> Result<Response<Body>, ApiError> {
    let path = &call.path;
    let account = call
        .core
        .store
        .get(&Key::new("serviceaccounts", &path.namespace, &path.name));
    account.ok_or_else(|| ApiError::not_found("", "serviceaccounts", &path.name))?;
    let mut review = call.object()?;
    let identity = Identity::new(
        &format!("system:serviceaccount:{}:{}", path.namespace, path.name),
        &[
            "system:serviceaccounts",
            &format!("system:serviceaccounts:{}", path.namespace),
        ],
    );
    let seconds = review["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
    let expires = chrono::Utc::now() + chrono::Duration::seconds(seconds);
    review["kind"] = "TokenRequest".into();
    review["apiVersion"] = "authentication.k8s.io/v1".into();
    review["status"] = json!({
        "token": call.core.new_token(identity),
        "expirationTimestamp": expires.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
    });
    Ok(answer::json(201, &review))
}

fn scale(call: &Call) -> Result<Response<Body>, ApiError> {
    let path = &call.path;
    let key = Key::new(&call.resource.table(), &path.namespace, &path.name);
    let missing = || ApiError::not_found(&call.resource.group, &call.resource.plural, &path.name);
    let shown = |o: &Value| {
        json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {"name": path.name, "namespace": path.namespace, "uid": o["metadata"]["uid"],
                         "resourceVersion": o["metadata"]["resourceVersion"]},
            "spec": {"replicas": o["spec"]["replicas"]}, "status": {"replicas": o["status"]["replicas"].as_u64().unwrap_or(0)},
        })
    };
    if call.method == Method::GET {
        return Ok(answer::json(
            200,
            &shown(&*call.core.store.get(&key).ok_or_else(missing)?),
        ));
    }
    let wanted = call.object()?["spec"]["replicas"].clone();
    if !wanted.is_u64() {
        return Err(ApiError::invalid(
            "Scale",
            &path.name,
            "spec.replicas",
            "must be a number of 0 or more",
        ));
    }
    let stored = call.core.store.edit(&key, |old| {
        let mut object = old.ok_or_else(missing)?.clone();
        if object["spec"]["replicas"] != wanted {
            object["spec"]["replicas"] = wanted;
            let generation = object["metadata"]["generation"].as_u64().unwrap_or(0);
            object["metadata"]["generation"] = (generation + 1).into();
        }
        Ok(Some(object))
    })?;
    Ok(answer::json(200, &shown(&stored.unwrap_or_default())))
}

/// Reviews: who am I, may I. `None` when the path is no review.
pub(crate) fn review(
    core: &super::core::Core,
    who: &Identity,
    method: &Method,
    path: &ResourcePath,
    body: &[u8],
) -> Option<Response<Body>> {
    if method != Method::POST {
        return None;
    }
    let kind = match (path.group.as_str(), path.plural.as_str()) {
        ("authentication.k8s.io", "selfsubjectreviews") => {
            return Some(answer::json(
                201,
                &json!({
                    "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {"creationTimestamp": now()},
                    "status": {"userInfo": {"username": who.user, "groups": who.groups}},
                }),
            ));
        }
        ("authorization.k8s.io", "selfsubjectaccessreviews") => "SelfSubjectAccessReview",
        ("authorization.k8s.io", "subjectaccessreviews") if who.is_in("system:masters") => {
            "SubjectAccessReview"
        }
        _ => return None,
    };
    let mut sent: Value = serde_json::from_slice(body).unwrap_or_default();
    let spec = &sent["spec"];
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let subject = if kind == "SelfSubjectAccessReview" {
        who.clone()
    } else {
        let groups: Vec<&str> = spec["groups"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        Identity::new(&text(&spec["user"]), &groups)
    };
    let asked = &spec["resourceAttributes"];
    let (verb, group, plural, sub, namespace, name) = (
        text(&asked["verb"]),
        text(&asked["group"]),
        text(&asked["resource"]),
        text(&asked["subresource"]),
        text(&asked["namespace"]),
        text(&asked["name"]),
    );
    let attributes = Attributes {
        verb: &verb,
        group: &group,
        plural: &plural,
        subresource: &sub,
        namespace: &namespace,
        name: &name,
        selected: "",
    };
    let allowed = asked.is_null() || authorize(&core.store, &subject, &attributes).is_ok();
    sent["kind"] = kind.into();
    sent["apiVersion"] = "authorization.k8s.io/v1".into();
    sent["status"] = json!({"allowed": allowed});
    Some(answer::json(201, &sent))
}
