//! Wait condition handles with a login of their own, and wait conditions.

use serde_json::{Map, Value, json};

use super::{Context, Created, physical_name, simple};
use crate::openstack::heat::client::Client;
use crate::openstack::heat::failure::Failure;
use crate::openstack::heat::functions::python_json;
use crate::openstack::heat::model::Resource;
use crate::openstack::{ServiceKind, seed};

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#%^&*";

pub(super) fn validate(properties: &Map<String, Value>) -> Result<(), Failure> {
    match properties.get("signal_transport").and_then(Value::as_str) {
        Some("HEAT_SIGNAL" | "TOKEN_SIGNAL" | "NO_SIGNAL") | None => Ok(()),
        Some(other) => Err(Failure::unsupported(format!("signal_transport {other}"))),
    }
}

/// Makes the user in the domain of the stacks' users.
pub(super) async fn create_handle(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let scope = json!({"domain": {"id": seed::HEAT_DOMAIN}});
    let token = Client::login(cx.cloud, seed::HEAT_DOMAIN_ADMIN, scope).await?;
    let admin = Client {
        cloud: cx.cloud.clone(),
        token,
    };
    let password = simple::pick(cx, ALPHABET, 32);
    let user = json!({
        "name": physical_name(&cx.resource),
        "password": password,
        "domain_id": seed::HEAT_DOMAIN,
        "default_project_id": cx.home.user_project_id,
    });
    let body = admin
        .post("/identity/v3/users", json!({"user": user}))
        .await?;
    let id = body
        .pointer("/user/id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let roles = admin.get("/identity/v3/roles?name=heat_stack_user").await?;
    let role = roles
        .pointer("/roles/0/id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let grant = format!(
        "/identity/v3/projects/{}/users/{id}/roles/{role}",
        cx.home.user_project_id
    );
    admin.put(&grant, Value::Null).await?;
    let mut data = Map::new();
    data.insert("password".to_owned(), json!(password));
    if cx.text("signal_transport") == "TOKEN_SIGNAL" {
        data.insert(
            "token".to_owned(),
            json!(handle_token(cx, &id, &password).await?),
        );
    }
    Ok(Some(Created { id, data }))
}

async fn handle_token(cx: &Context<'_>, user: &str, password: &str) -> Result<String, Failure> {
    let login = json!({"user": {"id": user, "password": password}});
    let scope = json!({"project": {"id": cx.home.user_project_id}});
    let body =
        json!({"auth": {"identity": {"methods": ["password"], "password": login}, "scope": scope}});
    let path = "/identity/v3/auth/tokens?nocatalog";
    let reply = cx
        .cloud
        .call(http::Method::POST, path, None, &[], Some(&body))
        .await;
    let reply = reply.map_err(|e| Failure::new("AuthorizationFailure", e.to_string()))?;
    let token = reply
        .headers
        .get("x-subject-token")
        .and_then(|v| v.to_str().ok());
    token
        .map(ToOwned::to_owned)
        .ok_or_else(|| Failure::new("AuthorizationFailure", "no token for the signal's user"))
}

pub(super) async fn delete_handle(cx: &Context<'_>) -> Result<bool, Failure> {
    let scope = json!({"domain": {"id": seed::HEAT_DOMAIN}});
    let token = Client::login(cx.cloud, seed::HEAT_DOMAIN_ADMIN, scope).await?;
    let admin = Client {
        cloud: cx.cloud.clone(),
        token,
    };
    admin
        .delete(&format!("/identity/v3/users/{}", cx.id()))
        .await?;
    Ok(true)
}

fn signal_url(cx: &Context<'_>, handle: &str) -> String {
    let home = &cx.home;
    let path = format!(
        "/v1/{}/stacks/{}/{}/resources/{handle}/signal",
        home.user_project_id, home.name, home.id
    );
    cx.cloud.url(ServiceKind::Heat, &path)
}

/// The entry that a signal adds to the handle's metadata: its id and the rest.
pub(in crate::openstack::heat) fn new_entry(
    details: &Value,
    count: usize,
) -> Result<(String, Value), Failure> {
    let number = count + 1;
    let mut entry = match details {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    entry
        .entry("reason")
        .or_insert_with(|| json!(format!("Signal {number} received")));
    entry.entry("data").or_insert(Value::Null);
    entry.entry("status").or_insert_with(|| json!("SUCCESS"));
    let id = entry.shift_remove("id").unwrap_or_else(|| json!(number));
    let id = id
        .as_str()
        .map_or_else(|| id.to_string(), ToOwned::to_owned);
    let known = entry
        .keys()
        .all(|k| ["reason", "data", "status"].contains(&k.as_str()));
    let status = entry.get("status").and_then(Value::as_str);
    if !known || !matches!(status, Some("SUCCESS" | "FAILURE")) {
        return Err(Failure::new("ValueError", "Metadata format invalid"));
    }
    Ok((id, Value::Object(entry)))
}

fn handle_of<'a>(cx: &'a Context<'_>) -> (&'a str, i64) {
    let count = cx.get("count").and_then(Value::as_i64).unwrap_or(1);
    (cx.text("handle"), count)
}

fn handle_metadata(cx: &Context<'_>) -> Map<String, Value> {
    let (handle, _) = handle_of(cx);
    let fits = |r: &&Resource| {
        r.kind == "OS::Heat::WaitConditionHandle" && r.physical_id.as_deref() == Some(handle)
    };
    cx.heat
        .state
        .read(|s| {
            let stack = s.stacks.get(&cx.home.id)?;
            stack
                .resources
                .values()
                .find(fits)
                .map(|r| r.metadata.clone())
        })
        .unwrap_or_default()
}

pub(super) fn create_condition(cx: &Context<'_>) -> Option<Created> {
    let mut created = Created::default();
    created
        .data
        .insert("began".to_owned(), json!(cx.cloud.now().timestamp_millis()));
    Some(created)
}

/// Whether all signals have come.
pub(super) fn received(cx: &Context<'_>) -> Result<bool, Failure> {
    let metadata = handle_metadata(cx);
    let (_, count) = handle_of(cx);
    let of = |status: &str| -> Vec<String> {
        let found = metadata.values().filter(|v| v["status"] == status);
        found
            .map(|v| v["reason"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let failures = of("FAILURE");
    if !failures.is_empty() {
        return Err(Failure::new("WaitConditionFailure", failures.join(";")));
    }
    let successes = of("SUCCESS");
    let enough = i64::try_from(successes.len()).is_ok_and(|n| n >= count);
    if enough {
        return Ok(true);
    }
    let began = cx
        .resource
        .data
        .get("began")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let began = began.max(cx.resource.updated.timestamp_millis());
    let timeout = cx.get("timeout").and_then(Value::as_f64).unwrap_or(0.0) * 1000.0;
    #[allow(clippy::cast_precision_loss, reason = "milliseconds")]
    let passed = (cx.cloud.now().timestamp_millis() - began) as f64;
    if passed < timeout {
        return Ok(false);
    }
    let mut message = format!("{} of {count} received", successes.len());
    if !successes.is_empty() {
        message = format!("{message} - {}", successes.join(";"));
    }
    Err(Failure::new("WaitConditionTimeout", message))
}

#[allow(clippy::unused_async, reason = "all plugins look alike")]
pub(super) async fn live(cx: &Context<'_>) -> Result<Value, Failure> {
    if cx.resource.kind == "OS::Heat::WaitCondition" {
        let data = handle_metadata(cx)
            .into_iter()
            .map(|(id, v)| (id, v["data"].clone()))
            .collect();
        return Ok(json!({"data": python_json(&Value::Object(data))}));
    }
    let url = signal_url(cx, &cx.resource.name);
    let data = &cx.resource.data;
    let mut out = json!({"endpoint": null, "curl_cli": null, "signal": null, "token": null});
    match cx.text("signal_transport") {
        "HEAT_SIGNAL" => {
            let map = json!({
                "auth_url": cx.cloud.url(ServiceKind::Keystone, "/v3"),
                "username": physical_name(&cx.resource),
                "user_id": cx.id(),
                "password": data.get("password"),
                "project_id": cx.home.user_project_id,
                "domain_id": seed::HEAT_DOMAIN,
                "region_name": seed::REGION,
                "alarm_url": url,
            });
            out["signal"] = json!(python_json(&map));
        }
        "TOKEN_SIGNAL" => {
            let token = data
                .get("token")
                .and_then(Value::as_str)
                .unwrap_or_default();
            out["curl_cli"] = json!(format!(
                "curl -i -X POST -H 'X-Auth-Token: {token}' -H 'Content-Type: application/json' -H 'Accept: application/json' {url}"
            ));
            out["endpoint"] = json!(url);
            out["token"] = json!(token);
            out["signal"] = json!(python_json(&json!({"alarm_url": url, "token": token})));
        }
        _ => out["signal"] = json!("{}"),
    }
    Ok(out)
}
