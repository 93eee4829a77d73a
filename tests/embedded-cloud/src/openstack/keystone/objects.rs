//! Domains, projects and users.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State as Axum};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{Named, Secret, State, User};
use super::{Keystone, forbidden, not_found};
use crate::openstack::{ApiError, Caller, Cloud, ServiceKind, seed};

type Answer = Result<Json<Value>, ApiError>;

/// Filters of the lists.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Filter {
    name: Option<String>,
    domain_id: Option<String>,
}

impl Filter {
    pub(super) fn fits(&self, name: &str, domain: &str) -> bool {
        self.name.as_deref().is_none_or(|n| n == name)
            && self.domain_id.as_deref().is_none_or(|d| d == domain)
    }
}

fn text(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer)
        .and_then(Value::as_str)
        .map(ToOwned::to_owned)
}

fn admin(caller: &Caller, action: &str) -> Result<(), ApiError> {
    if caller.is_admin {
        Ok(())
    } else {
        Err(forbidden(action))
    }
}

fn links(cloud: &Cloud, path: &str) -> Value {
    json!({"next": null, "self": cloud.url(ServiceKind::Keystone, path), "previous": null})
}

fn required(body: &Value, pointer: &str) -> Result<String, ApiError> {
    text(body, pointer)
        .filter(|t| !t.is_empty())
        .ok_or_else(|| {
            let message = format!(
                "'{}' is a required property",
                pointer.rsplit('/').next().unwrap_or_default()
            );
            ApiError::new(ServiceKind::Keystone, StatusCode::BAD_REQUEST, "", message)
        })
}

fn conflict(kind: &str, name: &str) -> ApiError {
    let message = format!(
        "Conflict occurred attempting to store {kind} - Duplicate entry found with name {name}."
    );
    ApiError::new(ServiceKind::Keystone, StatusCode::CONFLICT, "", message)
}

fn project_json(cloud: &Cloud, project: &Named) -> Value {
    json!({
        "id": project.id,
        "name": project.name,
        "domain_id": project.domain_id,
        "description": project.description,
        "enabled": true,
        "parent_id": project.domain_id,
        "is_domain": false,
        "tags": [],
        "options": {},
        "links": {"self": cloud.url(ServiceKind::Keystone, &format!("/v3/projects/{}", project.id))},
    })
}

fn user_json(cloud: &Cloud, user: &User) -> Value {
    let mut out = json!({
        "id": user.id,
        "name": user.name,
        "domain_id": user.domain_id,
        "enabled": user.enabled,
        "password_expires_at": null,
        "options": {},
        "links": {"self": cloud.url(ServiceKind::Keystone, &format!("/v3/users/{}", user.id))},
    });
    if let Some(project) = &user.default_project_id {
        out["default_project_id"] = json!(project);
    }
    out
}

/// `GET /domains`.
pub(super) async fn domains(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(filter): Query<Filter>,
) -> Answer {
    admin(&caller, "identity:list_domains")?;
    let list = keystone.state.read(|s| {
        let found = s.domains.values().filter(|d| filter.fits(&d.name, ""));
        found
            .map(|d| json!({"id": d.id, "name": d.name, "enabled": true, "description": d.description, "tags": [], "options": {}}))
            .collect::<Vec<_>>()
    });
    Ok(Json(
        json!({"domains": list, "links": links(&cloud, "/v3/domains")}),
    ))
}

/// `GET /projects`.
pub(super) async fn projects(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(filter): Query<Filter>,
) -> Answer {
    admin(&caller, "identity:list_projects")?;
    let list = keystone.state.read(|s| {
        let found = s
            .projects
            .values()
            .filter(|p| filter.fits(&p.name, &p.domain_id));
        found.map(|p| project_json(&cloud, p)).collect::<Vec<_>>()
    });
    Ok(Json(
        json!({"projects": list, "links": links(&cloud, "/v3/projects")}),
    ))
}

/// `GET /auth/projects` and `GET /users/{id}/projects`: the caller's own.
pub(super) async fn own_projects(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
) -> Answer {
    let list = keystone.state.read(|s| {
        let found = s
            .projects
            .values()
            .filter(|p| !s.project_roles(&caller.user_id, &p.id).is_empty());
        found.map(|p| project_json(&cloud, p)).collect::<Vec<_>>()
    });
    Ok(Json(
        json!({"projects": list, "links": links(&cloud, "/v3/auth/projects")}),
    ))
}

/// `POST /projects`.
pub(super) async fn create_project(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Json(body): Json<Value>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    admin(&caller, "identity:create_project")?;
    let name = required(&body, "/project/name")?;
    let domain_id = text(&body, "/project/domain_id").unwrap_or_else(|| seed::DOMAIN_ID.to_owned());
    let project = Named {
        id: cloud.hex(),
        name,
        domain_id,
        description: text(&body, "/project/description").unwrap_or_default(),
    };
    let answer = Json(json!({"project": project_json(&cloud, &project)}));
    keystone.state.write(|s| {
        if s.projects
            .values()
            .any(|p| p.name == project.name && p.domain_id == project.domain_id)
        {
            return Err(conflict("project", &project.name));
        }
        s.projects.insert(project.id.clone(), project);
        Ok((StatusCode::CREATED, answer))
    })
}

/// `GET /projects/{id}`.
pub(super) async fn project(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
) -> Answer {
    if caller.project_id != id {
        admin(&caller, "identity:get_project")?;
    }
    let found = keystone
        .state
        .read(|s| s.projects.get(&id).map(|p| project_json(&cloud, p)));
    found
        .map(|p| Json(json!({"project": p})))
        .ok_or_else(|| not_found("project", &id))
}

/// `DELETE /projects/{id}`.
pub(super) async fn delete_project(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    admin(&caller, "identity:delete_project")?;
    keystone.state.write(|s| {
        s.projects
            .shift_remove(&id)
            .ok_or_else(|| not_found("project", &id))?;
        s.assignments
            .retain(|a| a.project_id.as_deref() != Some(id.as_str()));
        s.tokens
            .retain(|_, t| t.project_id.as_deref() != Some(id.as_str()));
        s.app_credentials.retain(|_, c| c.project_id != id);
        s.trusts.retain(|_, t| t.project_id != id);
        Ok(StatusCode::NO_CONTENT)
    })
}

/// `GET /users`.
pub(super) async fn users(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(filter): Query<Filter>,
) -> Answer {
    admin(&caller, "identity:list_users")?;
    let list = keystone.state.read(|s| {
        let found = s
            .users
            .values()
            .filter(|u| filter.fits(&u.name, &u.domain_id));
        found.map(|u| user_json(&cloud, u)).collect::<Vec<_>>()
    });
    Ok(Json(
        json!({"users": list, "links": links(&cloud, "/v3/users")}),
    ))
}

/// `POST /users`.
pub(super) async fn create_user(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Json(body): Json<Value>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    admin(&caller, "identity:create_user")?;
    let user = User {
        id: cloud.hex(),
        name: required(&body, "/user/name")?,
        domain_id: text(&body, "/user/domain_id").unwrap_or_else(|| seed::DOMAIN_ID.to_owned()),
        password: Secret(text(&body, "/user/password").unwrap_or_else(|| cloud.hex())),
        default_project_id: text(&body, "/user/default_project_id"),
        enabled: true,
    };
    let answer = Json(json!({"user": user_json(&cloud, &user)}));
    keystone.state.write(|s| {
        if s.users
            .values()
            .any(|u| u.name == user.name && u.domain_id == user.domain_id)
        {
            return Err(conflict("user", &user.name));
        }
        s.users.insert(user.id.clone(), user);
        Ok((StatusCode::CREATED, answer))
    })
}

/// `GET /users/{id}`.
pub(super) async fn user(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
) -> Answer {
    if caller.user_id != id {
        admin(&caller, "identity:get_user")?;
    }
    let found = keystone
        .state
        .read(|s| s.users.get(&id).map(|u| user_json(&cloud, u)));
    found
        .map(|u| Json(json!({"user": u})))
        .ok_or_else(|| not_found("user", &id))
}

/// `PATCH /users/{id}`: password and the enabled flag.
pub(super) async fn update_user(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
    Json(body): Json<Value>,
) -> Answer {
    admin(&caller, "identity:update_user")?;
    keystone.state.write(|s| {
        let user = s.users.get_mut(&id).ok_or_else(|| not_found("user", &id))?;
        if let Some(password) = text(&body, "/user/password") {
            user.password = Secret(password);
        }
        if let Some(enabled) = body.pointer("/user/enabled").and_then(Value::as_bool) {
            user.enabled = enabled;
        }
        let answer = user_json(&cloud, user);
        s.tokens.retain(|_, t| t.user_id != id);
        Ok(Json(json!({"user": answer})))
    })
}

/// `DELETE /users/{id}`.
pub(super) async fn delete_user(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    admin(&caller, "identity:delete_user")?;
    keystone.state.write(|s: &mut State| {
        s.users
            .shift_remove(&id)
            .ok_or_else(|| not_found("user", &id))?;
        s.assignments.retain(|a| a.user_id != id);
        s.tokens.retain(|_, t| t.user_id != id);
        s.app_credentials.retain(|_, c| c.user_id != id);
        s.trusts
            .retain(|_, t| t.trustor_user_id != id && t.trustee_user_id != id);
        Ok(StatusCode::NO_CONTENT)
    })
}
