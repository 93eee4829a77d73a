//! Application credentials and trusts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Axum};
use chrono::{DateTime, NaiveDateTime, Utc};
use http::StatusCode;
use serde_json::{Value, json};

use super::model::{AppCredential, Secret, State, Trust};
use super::{Keystone, forbidden, not_found, token};
use crate::openstack::{ApiError, Caller, Cloud, ServiceKind};

type Answer = Result<Json<Value>, ApiError>;
type Created = Result<(StatusCode, Json<Value>), ApiError>;

fn bad_request(message: impl Into<String>) -> ApiError {
    ApiError::new(ServiceKind::Keystone, StatusCode::BAD_REQUEST, "", message)
}

fn time(value: Option<&Value>) -> Result<Option<DateTime<Utc>>, ApiError> {
    let Some(text) = value.and_then(Value::as_str) else {
        return Ok(None);
    };
    let naive = NaiveDateTime::parse_from_str(text.trim_end_matches('Z'), "%Y-%m-%dT%H:%M:%S%.f");
    naive
        .map(|t| Some(t.and_utc()))
        .map_err(|_| bad_request(format!("'{text}' is not a 'date-time'")))
}

/// Ids of the roles in `wanted` (by id or name), all of which must be in `held`; `held` when nothing is wanted.
fn chosen(state: &State, wanted: Option<&Value>, held: &[String]) -> Result<Vec<String>, ApiError> {
    let Some(list) = wanted.and_then(Value::as_array).filter(|l| !l.is_empty()) else {
        return Ok(held.to_vec());
    };
    list.iter()
        .map(|role| {
            let id = role
                .get("id")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned);
            let name = role.get("name").and_then(Value::as_str).unwrap_or_default();
            let id = id
                .or_else(|| state.role_by_name(name))
                .ok_or_else(|| not_found("role", name))?;
            if held.contains(&id) {
                Ok(id)
            } else {
                Err(not_found("role", &id))
            }
        })
        .collect()
}

/// A token from a restricted application credential or a trust may not delegate.
fn may_delegate(state: &State, caller: &Caller, action: &str) -> Result<(), ApiError> {
    let token = state.tokens.get(&caller.token);
    let restricted = token
        .and_then(|t| t.app_credential_id.as_ref())
        .is_some_and(|id| {
            state
                .app_credentials
                .get(id)
                .is_none_or(|c| !c.unrestricted)
        });
    let trusted = token.is_some_and(|t| t.trust_id.is_some());
    if restricted || trusted {
        Err(forbidden(action))
    } else {
        Ok(())
    }
}

fn roles_json(state: &State, ids: &[String]) -> Vec<Value> {
    let roles = ids.iter().filter_map(|id| state.roles.get(id));
    roles
        .map(|r| json!({"id": r.id, "name": r.name, "domain_id": null, "description": null, "options": {}}))
        .collect()
}

fn credential_json(cloud: &Cloud, state: &State, c: &AppCredential) -> Value {
    let path = format!("/v3/application_credentials/{}", c.id);
    json!({
        "id": c.id,
        "name": c.name,
        "description": c.description,
        "user_id": c.user_id,
        "project_id": c.project_id,
        "system": null,
        "expires_at": c.expires_at.map(token::time),
        "unrestricted": c.unrestricted,
        "roles": roles_json(state, &c.roles),
        "links": {"self": cloud.url(ServiceKind::Keystone, &path)},
    })
}

fn own(caller: &Caller, user: &str, action: &str) -> Result<(), ApiError> {
    if caller.user_id == user || caller.is_admin {
        Ok(())
    } else {
        Err(forbidden(action))
    }
}

/// `GET /users/{user}/application_credentials`.
pub(super) async fn credentials(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(user): Path<String>,
) -> Answer {
    own(&caller, &user, "identity:list_application_credentials")?;
    let list = keystone.state.read(|s| {
        let found = s.app_credentials.values().filter(|c| c.user_id == user);
        found
            .map(|c| credential_json(&cloud, s, c))
            .collect::<Vec<_>>()
    });
    let path = format!("/v3/users/{user}/application_credentials");
    let links =
        json!({"next": null, "self": cloud.url(ServiceKind::Keystone, &path), "previous": null});
    Ok(Json(
        json!({"application_credentials": list, "links": links}),
    ))
}

/// `POST /users/{user}/application_credentials`.
pub(super) async fn create_credential(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(user): Path<String>,
    Json(body): Json<Value>,
) -> Created {
    let action = "identity:create_application_credential";
    if caller.user_id != user {
        return Err(forbidden(action));
    }
    let given = body
        .get("application_credential")
        .cloned()
        .unwrap_or_default();
    let name = given
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if name.is_empty() {
        return Err(bad_request("'name' is a required property"));
    }
    let expires_at = time(given.get("expires_at"))?;
    keystone.state.write(|s| {
        may_delegate(s, &caller, action)?;
        if s.app_credentials.values().any(|c| c.user_id == user && c.name == name) {
            let message = "Conflict occurred attempting to store application_credential - Duplicate entry found with name.";
            return Err(ApiError::new(ServiceKind::Keystone, StatusCode::CONFLICT, "", message));
        }
        let held = s.project_roles(&user, &caller.project_id);
        let secret = given.get("secret").and_then(Value::as_str).map(ToOwned::to_owned);
        let credential = AppCredential {
            id: cloud.hex(),
            name,
            description: given.get("description").and_then(Value::as_str).map(ToOwned::to_owned),
            user_id: user,
            project_id: caller.project_id.clone(),
            roles: chosen(s, given.get("roles"), &held)?,
            secret: Secret(secret.unwrap_or_else(|| format!("{}{}", cloud.hex(), cloud.hex()))),
            unrestricted: given.get("unrestricted").and_then(Value::as_bool).unwrap_or(false),
            expires_at,
        };
        let mut json = credential_json(&cloud, s, &credential);
        json["secret"] = json!(credential.secret.0);
        s.app_credentials.insert(credential.id.clone(), credential);
        Ok((StatusCode::CREATED, Json(json!({"application_credential": json}))))
    })
}

/// `GET /users/{user}/application_credentials/{id}`.
pub(super) async fn credential(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path((user, id)): Path<(String, String)>,
) -> Answer {
    own(&caller, &user, "identity:get_application_credential")?;
    let found = keystone.state.read(|s| {
        s.app_credentials
            .get(&id)
            .map(|c| credential_json(&cloud, s, c))
    });
    found
        .map(|c| Json(json!({"application_credential": c})))
        .ok_or_else(|| not_found("application credential", &id))
}

/// `DELETE /users/{user}/application_credentials/{id}`.
pub(super) async fn delete_credential(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path((user, id)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let action = "identity:delete_application_credential";
    own(&caller, &user, action)?;
    keystone.state.write(|s| {
        may_delegate(s, &caller, action)?;
        s.app_credentials
            .shift_remove(&id)
            .ok_or_else(|| not_found("application credential", &id))?;
        s.tokens
            .retain(|_, t| t.app_credential_id.as_deref() != Some(id.as_str()));
        Ok(StatusCode::NO_CONTENT)
    })
}

fn trust_json(cloud: &Cloud, state: &State, t: &Trust) -> Value {
    let path = format!("/v3/OS-TRUST/trusts/{}", t.id);
    json!({
        "id": t.id,
        "trustor_user_id": t.trustor_user_id,
        "trustee_user_id": t.trustee_user_id,
        "project_id": t.project_id,
        "impersonation": t.impersonation,
        "expires_at": t.expires_at.map(token::time),
        "deleted_at": null,
        "remaining_uses": t.remaining_uses,
        "redelegation_count": 0,
        "roles": roles_json(state, &t.roles),
        "roles_links": {"next": null, "self": cloud.url(ServiceKind::Keystone, &format!("{path}/roles")), "previous": null},
        "links": {"self": cloud.url(ServiceKind::Keystone, &path)},
    })
}

/// `GET /OS-TRUST/trusts`.
pub(super) async fn trusts(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
) -> Answer {
    let list = keystone.state.read(|s| {
        let found = s.trusts.values().filter(|t| {
            caller.is_admin
                || t.trustor_user_id == caller.user_id
                || t.trustee_user_id == caller.user_id
        });
        found.map(|t| trust_json(&cloud, s, t)).collect::<Vec<_>>()
    });
    let links = json!({"next": null, "self": cloud.url(ServiceKind::Keystone, "/v3/OS-TRUST/trusts"), "previous": null});
    Ok(Json(json!({"trusts": list, "links": links})))
}

/// `POST /OS-TRUST/trusts`.
pub(super) async fn create_trust(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Json(body): Json<Value>,
) -> Created {
    let given = body.get("trust").cloned().unwrap_or_default();
    let text = |key: &str| {
        given
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (trustor, trustee, project_id) = (
        text("trustor_user_id"),
        text("trustee_user_id"),
        text("project_id"),
    );
    if trustor != caller.user_id {
        return Err(forbidden("identity:create_trust"));
    }
    let expires_at = time(given.get("expires_at"))?;
    keystone.state.write(|s| {
        may_delegate(s, &caller, "identity:create_trust")?;
        if !s.users.contains_key(&trustee) {
            return Err(not_found("user", &trustee));
        }
        let held = s.project_roles(&trustor, &project_id);
        let trust = Trust {
            id: cloud.hex(),
            trustor_user_id: trustor,
            trustee_user_id: trustee,
            roles: chosen(s, given.get("roles"), &held)?,
            project_id,
            impersonation: given
                .get("impersonation")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            expires_at,
            remaining_uses: given.get("remaining_uses").and_then(Value::as_i64),
        };
        let json = trust_json(&cloud, s, &trust);
        s.trusts.insert(trust.id.clone(), trust);
        Ok((StatusCode::CREATED, Json(json!({"trust": json}))))
    })
}

/// `GET /OS-TRUST/trusts/{id}`.
pub(super) async fn trust(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
) -> Answer {
    keystone.state.read(|s| {
        let trust = s.trusts.get(&id).ok_or_else(|| not_found("trust", &id))?;
        let party = [&trust.trustor_user_id, &trust.trustee_user_id].contains(&&caller.user_id);
        if !party && !caller.is_admin {
            return Err(forbidden("identity:get_trust"));
        }
        Ok(Json(json!({"trust": trust_json(&cloud, s, trust)})))
    })
}

/// `DELETE /OS-TRUST/trusts/{id}`.
pub(super) async fn delete_trust(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    keystone.state.write(|s| {
        let trust = s.trusts.get(&id).ok_or_else(|| not_found("trust", &id))?;
        if trust.trustor_user_id != caller.user_id && !caller.is_admin {
            return Err(forbidden("identity:delete_trust"));
        }
        s.trusts.shift_remove(&id);
        s.tokens
            .retain(|_, t| t.trust_id.as_deref() != Some(id.as_str()));
        Ok(StatusCode::NO_CONTENT)
    })
}
