//! The paths of the API.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, AnswerBody, Answers, Ask};
use super::super::{ApiError, Microversion, ServiceKind};
use super::Barbican;
use super::model::{Acl, Container, Payload, Secret};

const TYPES: [&str; 6] = [
    "symmetric",
    "passphrase",
    "private",
    "public",
    "certificate",
    "opaque",
];
const CERTIFICATE: [&str; 4] = [
    "private_key",
    "certificate",
    "private_key_passphrase",
    "intermediates",
];

fn fault(status: u16, message: impl Into<String>) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ApiError::new(ServiceKind::Barbican, status, "", message)
}

fn refused(what: &str) -> ApiError {
    fault(
        403,
        format!("{what} attempt not allowed - please review your user/project privileges"),
    )
}

fn invalid(schema: &str, why: &str, property: &str) -> ApiError {
    fault(
        400,
        format!(
            "Provided object does not match schema '{schema}': {why}. Invalid property: '{property}'"
        ),
    )
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S").to_string()
}

impl Answers for Barbican {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        (method == Method::GET && path.is_empty()).then(|| {
            let links = json!([
                {"rel": "self", "href": format!("{base}/v1/")},
                {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
            ]);
            let media = json!([{"base": "application/json", "type": "application/vnd.openstack.key-manager-v1+json"}]);
            let version = json!({"id": "v1", "status": "stable", "links": links, "media-types": media});
            Answer::json(300, json!({"versions": {"values": [version]}}))
        })
    }

    fn decorate(&self, _version: Microversion, headers: &mut HeaderMap) {
        headers.insert(
            "openstack-api-version",
            HeaderValue::from_static("key-manager 1.0"),
        );
        headers.insert("vary", HeaderValue::from_static("openstack-api-version"));
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let segments = ask.segments();
        let ["v1", rest @ ..] = segments.as_slice() else {
            return Err(ask.unknown());
        };
        let creator = ask.caller.has_role("creator");
        match (&ask.method, rest) {
            (&Method::GET, ["secrets"]) if creator => Ok(self.list_secrets(ask)),
            (&Method::GET, ["secrets"]) => Err(refused("Secret(s) retrieval")),
            (&Method::POST, ["secrets"]) if creator => self.create_secret(ask),
            (&Method::POST, ["secrets"]) => Err(refused("Secret creation")),
            (_, ["secrets", id, rest @ ..]) => self.secret(ask, id, rest),
            (&Method::GET, ["containers"]) if creator => Ok(self.list_containers(ask)),
            (&Method::GET, ["containers"]) => Err(refused("Containers(s) retrieval")),
            (&Method::POST, ["containers"]) if creator => self.create_container(ask),
            (&Method::POST, ["containers"]) => Err(refused("Container creation")),
            (&Method::GET | &Method::DELETE, ["containers", id]) => self.container(ask, id),
            (&Method::POST, ["containers", id, "secrets"]) => self.add_to_container(ask, id),
            (&Method::GET, ["quotas"]) => {
                let limits = json!({"secrets": -1, "orders": -1, "containers": -1, "consumers": -1, "cas": -1});
                Ok(Answer::json(200, json!({"quotas": limits})))
            }
            _ => Err(ask.unknown()),
        }
    }
}

fn secret_ref(ask: &Ask, id: &str) -> String {
    format!("{}/v1/secrets/{id}", ask.base)
}

fn secret_view(ask: &Ask, secret: &Secret) -> Value {
    let mut view = json!({
        "created": time(secret.created), "updated": time(secret.updated), "status": "ACTIVE",
        "name": secret.name.as_ref().unwrap_or(&secret.id), "secret_type": secret.secret_type, "expiration": secret.expiration,
        "algorithm": secret.algorithm, "bit_length": secret.bit_length, "mode": secret.mode, "creator_id": secret.creator_id,
        "secret_ref": secret_ref(ask, &secret.id),
    });
    if let Some(kind) = &secret.content_type {
        view["content_types"] = json!({"default": kind});
    }
    view
}

fn container_view(ask: &Ask, container: &Container) -> Value {
    json!({
        "created": time(container.created), "updated": time(container.updated), "status": "ACTIVE",
        "name": container.name, "type": container.kind, "creator_id": container.creator_id,
        "secret_refs": container.secret_refs, "consumers": [],
        "container_ref": format!("{}/v1/containers/{}", ask.base, container.id),
    })
}

/// Cuts by `limit` (10 by default, as Barbican does) and `offset`.
fn cut(ask: &Ask, key: &str, views: &[Value]) -> Answer {
    let number = |key: &str| ask.param(key).and_then(|t| t.parse::<usize>().ok());
    let (limit, offset) = (
        number("limit").unwrap_or(10).min(100),
        number("offset").unwrap_or(0),
    );
    let total = views.len();
    let shown: Vec<Value> = views.iter().skip(offset).take(limit).cloned().collect();
    let mut body = json!({key: shown, "total": total});
    if offset + limit < total {
        body["next"] = format!(
            "{}/v1/{key}?limit={limit}&offset={}",
            ask.base,
            offset + limit
        )
        .into();
    }
    if offset > 0 {
        body["previous"] = format!(
            "{}/v1/{key}?limit={limit}&offset={}",
            ask.base,
            offset.saturating_sub(limit)
        )
        .into();
    }
    Answer::json(200, body)
}

impl Barbican {
    fn list_secrets(&self, ask: &Ask) -> Answer {
        let wanted =
            |key: &str, value: Option<&str>| ask.param(key).is_none_or(|w| value == Some(w));
        let views: Vec<Value> = self.state.read(|s| {
            let own = s
                .secrets
                .values()
                .filter(|x| x.project_id == ask.caller.project_id);
            own.filter(|x| {
                wanted("name", x.name.as_deref()) && wanted("secret_type", Some(&x.secret_type))
            })
            .map(|x| secret_view(ask, x))
            .collect()
        });
        cut(ask, "secrets", &views)
    }

    fn create_secret(&self, ask: &Ask) -> Result<Answer, ApiError> {
        let empty = Map::new();
        let body = ask.body.as_object().unwrap_or(&empty);
        let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = text("secret_type").unwrap_or_else(|| "opaque".to_owned());
        if !TYPES.contains(&kind.as_str()) {
            let known = TYPES.map(|t| format!("'{t}'")).join(", ");
            return Err(invalid(
                "Secret",
                &format!("'{kind}' is not one of [{known}]"),
                "secret_type",
            ));
        }
        let content_type = text("payload_content_type");
        let payload = match body.get("payload").and_then(Value::as_str) {
            None => None,
            Some("") => {
                return Err(invalid(
                    "Secret",
                    "If 'payload' specified, must be non empty.",
                    "payload",
                ));
            }
            Some(payload) => {
                if content_type.is_none() {
                    let why =
                        "If 'payload' is supplied, 'payload_content_type' must also be supplied.";
                    return Err(invalid("Secret", why, "payload_content_type"));
                }
                Some(encoded(
                    payload,
                    content_type.as_deref(),
                    text("payload_content_encoding").as_deref(),
                )?)
            }
        };
        let now = ask.cloud.now();
        let id = ask.cloud.uuid();
        let secret = Secret {
            id: id.clone(),
            name: text("name"),
            project_id: ask.caller.project_id.clone(),
            creator_id: ask.caller.user_id.clone(),
            secret_type: kind,
            content_type: content_type
                .filter(|_| payload.is_some())
                .map(|t| t.split(';').next().unwrap_or_default().to_owned()),
            payload,
            algorithm: text("algorithm"),
            bit_length: body.get("bit_length").and_then(Value::as_u64),
            mode: text("mode"),
            expiration: text("expiration"),
            acl: None,
            created: now,
            updated: now,
        };
        self.state.write(|s| s.secrets.insert(id.clone(), secret));
        let reference = secret_ref(ask, &id);
        Ok(Answer::json(201, json!({"secret_ref": reference})).header("location", reference))
    }

    fn secret(&self, ask: &Ask, id: &str, rest: &[&str]) -> Result<Answer, ApiError> {
        let lost = || fault(404, "Secret not found.");
        let secret = self
            .state
            .read(|s| s.secrets.get(id).cloned())
            .ok_or_else(lost)?;
        let caller = &ask.caller;
        let own = caller.project_id == secret.project_id && caller.has_role("creator");
        let listed = secret
            .acl
            .as_ref()
            .is_some_and(|acl| acl.users.contains(&caller.user_id));
        let open = secret.acl.as_ref().is_none_or(|acl| acl.project_access)
            || caller.user_id == secret.creator_id;
        let reads = listed || (own && (open || caller.is_admin));
        match (&ask.method, rest) {
            (&Method::GET, []) if reads => Ok(Answer::json(200, secret_view(ask, &secret))),
            (&Method::GET, ["payload"]) if reads => payload_answer(ask, &secret),
            (&Method::GET, [] | ["payload"]) => Err(refused("Secret retrieval")),
            (&Method::PUT, []) if own => {
                if secret.payload.is_some() {
                    return Err(fault(409, "Secret already has data, cannot modify it."));
                }
                let kind = ask
                    .headers
                    .get(header::CONTENT_TYPE)
                    .and_then(|v| v.to_str().ok())
                    .unwrap_or("text/plain");
                let kind = kind.split(';').next().unwrap_or_default().to_owned();
                let encoding = ask
                    .headers
                    .get(header::CONTENT_ENCODING)
                    .and_then(|v| v.to_str().ok());
                let stored = match encoding {
                    Some("base64") => Payload(String::from_utf8_lossy(&ask.raw).trim().to_owned()),
                    _ => Payload(STANDARD.encode(&ask.raw)),
                };
                let now = ask.cloud.now();
                self.state.write(|s| {
                    if let Some(secret) = s.secrets.get_mut(id) {
                        (secret.payload, secret.content_type, secret.updated) =
                            (Some(stored), Some(kind), now);
                    }
                });
                Ok(Answer::empty(204))
            }
            (&Method::PUT, []) => Err(refused("Secret update")),
            (&Method::DELETE, []) if own => {
                self.state.write(|s| {
                    s.secrets.shift_remove(id);
                    for container in s.containers.values_mut() {
                        container.secret_refs.retain(|r| referred(r) != id);
                    }
                });
                Ok(Answer::empty(204))
            }
            (&Method::DELETE, []) => Err(refused("Secret deletion")),
            (&Method::GET, ["acl"]) if own => Ok(Answer::json(
                200,
                json!({"read": acl_view(secret.acl.as_ref())}),
            )),
            (&(Method::PUT | Method::PATCH), ["acl"]) if own => {
                let wanted = &ask.body["read"];
                let now = ask.cloud.now();
                let old = secret.acl.as_ref().filter(|_| ask.method == Method::PATCH);
                let users = match wanted["users"].as_array() {
                    Some(users) => users
                        .iter()
                        .filter_map(|u| u.as_str().map(str::to_owned))
                        .collect(),
                    None => old.map(|acl| acl.users.clone()).unwrap_or_default(),
                };
                let project_access = wanted["project-access"]
                    .as_bool()
                    .unwrap_or_else(|| old.is_none_or(|acl| acl.project_access));
                let created = secret.acl.as_ref().map_or(now, |acl| acl.created);
                self.state.write(|s| {
                    if let Some(secret) = s.secrets.get_mut(id) {
                        secret.acl = Some(Acl {
                            users,
                            project_access,
                            created,
                            updated: now,
                        });
                    }
                });
                Ok(Answer::json(
                    200,
                    json!({"acl_ref": format!("{}/acl", secret_ref(ask, id))}),
                ))
            }
            (&Method::DELETE, ["acl"]) if own => {
                self.state
                    .write(|s| s.secrets.get_mut(id).map(|secret| secret.acl = None));
                Ok(Answer::empty(200))
            }
            (_, ["acl"]) => Err(refused("SecretACL(s) retrieval")),
            _ => Err(ask.unknown()),
        }
    }

    fn list_containers(&self, ask: &Ask) -> Answer {
        let views: Vec<Value> = self.state.read(|s| {
            let own = s
                .containers
                .values()
                .filter(|x| x.project_id == ask.caller.project_id);
            own.filter(|x| {
                ask.param("name")
                    .is_none_or(|name| x.name.as_deref() == Some(name))
            })
            .map(|x| container_view(ask, x))
            .collect()
        });
        cut(ask, "containers", &views)
    }

    fn create_container(&self, ask: &Ask) -> Result<Answer, ApiError> {
        let kind = ask.body["type"].as_str().unwrap_or_default().to_owned();
        if !matches!(kind.as_str(), "generic" | "certificate" | "rsa") {
            let why = format!("'{kind}' is not one of ['generic', 'rsa', 'certificate']");
            return Err(invalid("Container", &why, "type"));
        }
        let refs = ask.body["secret_refs"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let names: Vec<&str> = refs.iter().filter_map(|r| r["name"].as_str()).collect();
        if kind == "certificate" && names.iter().any(|name| !CERTIFICATE.contains(name)) {
            let why = "only 'private_key', 'certificate' , 'private_key_passphrase',  or 'intermediates' reference names are \
                       allowed for Certificate type";
            return Err(invalid("Container", why, "secret_refs"));
        }
        for reference in &refs {
            if !self
                .state
                .read(|s| s.secrets.contains_key(referred(reference)))
            {
                return Err(fault(
                    404,
                    "Secret provided for 'secret_refs' doesn't exist.",
                ));
            }
        }
        let now = ask.cloud.now();
        let container = Container {
            id: ask.cloud.uuid(),
            name: ask.body["name"].as_str().map(str::to_owned),
            kind,
            project_id: ask.caller.project_id.clone(),
            creator_id: ask.caller.user_id.clone(),
            secret_refs: refs,
            created: now,
            updated: now,
        };
        let reference = format!("{}/v1/containers/{}", ask.base, container.id);
        self.state
            .write(|s| s.containers.insert(container.id.clone(), container));
        Ok(Answer::json(201, json!({"container_ref": reference})).header("location", reference))
    }

    fn container(&self, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let found = self.state.read(|s| s.containers.get(id).cloned());
        let found = found.ok_or_else(|| fault(404, "Secrets container not found."))?;
        let own = found.project_id == ask.caller.project_id && ask.caller.has_role("creator");
        if ask.method == Method::GET {
            return if own {
                Ok(Answer::json(200, container_view(ask, &found)))
            } else {
                Err(refused("Container retrieval"))
            };
        }
        if !own {
            return Err(refused("Container deletion"));
        }
        self.state.write(|s| s.containers.shift_remove(id));
        Ok(Answer::empty(204))
    }

    fn add_to_container(&self, ask: &Ask, id: &str) -> Result<Answer, ApiError> {
        let found = self.state.read(|s| s.containers.get(id).cloned());
        let found = found.ok_or_else(|| fault(404, "Secrets container not found."))?;
        if found.project_id != ask.caller.project_id || !ask.caller.has_role("creator") {
            return Err(refused("Container Secret creation"));
        }
        if found.kind != "generic" {
            return Err(fault(400, "Only 'generic' containers can be modified."));
        }
        let (name, secret) = (&ask.body["name"], referred(&ask.body));
        if !self.state.read(|s| s.secrets.contains_key(secret)) {
            return Err(fault(404, "Secret provided doesn't exist."));
        }
        let same = |entry: &&Value| entry["name"] == *name && referred(entry) == secret;
        if found.secret_refs.iter().any(|entry| same(&entry)) {
            let why = "Conflict. A secret with that name and ID is already stored in this container. The same secret can exist in \
                       a container as long as the name is unique.";
            return Err(fault(409, why));
        }
        let entry = json!({"name": name, "secret_ref": secret_ref(ask, secret)});
        let now = ask.cloud.now();
        self.state.write(|s| {
            if let Some(container) = s.containers.get_mut(id) {
                container.secret_refs.push(entry);
                container.updated = now;
            }
        });
        let reference = format!("{}/v1/containers/{id}", ask.base);
        Ok(Answer::json(201, json!({"container_ref": reference})).header("location", reference))
    }
}

/// The id of the secret that an entry of a container refers to.
fn referred(entry: &Value) -> &str {
    let reference = entry["secret_ref"].as_str().unwrap_or_default();
    reference.rsplit('/').next().unwrap_or_default()
}

fn encoded(
    payload: &str,
    content_type: Option<&str>,
    encoding: Option<&str>,
) -> Result<Payload, ApiError> {
    let binary = content_type == Some("application/octet-stream");
    match encoding {
        Some("base64") => {
            let compact: String = payload.split_whitespace().collect();
            match STANDARD.decode(&compact) {
                Ok(_) => Ok(Payload(compact)),
                Err(_) => Err(invalid(
                    "Secret",
                    "Invalid payload for payload_content_encoding",
                    "payload",
                )),
            }
        }
        Some(other) => Err(invalid(
            "Secret",
            &format!("'{other}' is not one of ['base64']"),
            "payload_content_encoding",
        )),
        None if binary => {
            let why = "payload_content_encoding must be specified when payload_content_type is application/octet-stream.";
            Err(invalid("Secret", why, "payload_content_encoding"))
        }
        None => Ok(Payload(STANDARD.encode(payload))),
    }
}

fn payload_answer(ask: &Ask, secret: &Secret) -> Result<Answer, ApiError> {
    let Some(payload) = &secret.payload else {
        return Err(fault(
            404,
            "Not Found. Sorry but your secret has no payload.",
        ));
    };
    let bytes = STANDARD.decode(&payload.0).unwrap_or_default();
    let asked = ask
        .headers
        .get(header::ACCEPT)
        .and_then(|v| v.to_str().ok())
        .filter(|a| !a.contains("json") && *a != "*/*");
    let kind = asked
        .or(secret.content_type.as_deref())
        .unwrap_or("application/octet-stream");
    let kind = if kind == "text/plain" {
        "text/plain; charset=UTF-8"
    } else {
        kind
    };
    Ok(Answer {
        body: AnswerBody::Raw(kind.to_owned(), Bytes::from(bytes)),
        ..Answer::empty(200)
    })
}

fn acl_view(acl: Option<&Acl>) -> Value {
    match acl {
        None => json!({"project-access": true}),
        Some(acl) => json!({
            "project-access": acl.project_access, "users": acl.users, "created": time(acl.created), "updated": time(acl.updated),
        }),
    }
}
