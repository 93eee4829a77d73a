//! Roles and who has them where.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State as Axum};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::Assignment;
use super::{Keystone, forbidden, not_found};
use crate::openstack::{ApiError, Caller, Cloud, ServiceKind};

/// `GET /roles`.
pub(super) async fn list(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(filter): Query<super::objects::Filter>,
) -> Result<Json<Value>, ApiError> {
    if !caller.is_admin {
        return Err(forbidden("identity:list_roles"));
    }
    let roles = keystone.state.read(|s| {
        let found = s.roles.values().filter(|r| filter.fits(&r.name, ""));
        found.map(|r| json!({"id": r.id, "name": r.name, "domain_id": null, "description": null, "options": {}})).collect::<Vec<_>>()
    });
    let links = json!({"next": null, "self": cloud.url(ServiceKind::Keystone, "/v3/roles"), "previous": null});
    Ok(Json(json!({"roles": roles, "links": links})))
}

#[derive(Debug, Deserialize)]
pub(super) struct AssignmentQuery {
    #[serde(rename = "user.id")]
    user: Option<String>,
    #[serde(rename = "scope.project.id")]
    project: Option<String>,
    #[serde(rename = "role.id")]
    role: Option<String>,
}

/// `GET /role_assignments`.
pub(super) async fn assignments(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(query): Query<AssignmentQuery>,
) -> Result<Json<Value>, ApiError> {
    if !caller.is_admin {
        return Err(forbidden("identity:list_role_assignments"));
    }
    let list = keystone.state.read(|s| {
        let found = s.assignments.iter().filter(|a| {
            query.user.as_deref().is_none_or(|id| id == a.user_id)
                && query.role.as_deref().is_none_or(|id| id == a.role_id)
                && query.project.is_none_or_eq(a.project_id.as_deref())
        });
        let json = |a: &Assignment| {
            let scope = match (&a.project_id, &a.domain_id) {
                (Some(id), _) => json!({"project": {"id": id}}),
                (None, id) => json!({"domain": {"id": id}}),
            };
            json!({"role": {"id": a.role_id}, "user": {"id": a.user_id}, "scope": scope, "links": {}})
        };
        found.map(json).collect::<Vec<_>>()
    });
    let links = json!({"next": null, "self": cloud.url(ServiceKind::Keystone, "/v3/role_assignments"), "previous": null});
    Ok(Json(json!({"role_assignments": list, "links": links})))
}

trait NoneOrEq {
    fn is_none_or_eq(&self, other: Option<&str>) -> bool;
}

impl NoneOrEq for Option<String> {
    fn is_none_or_eq(&self, other: Option<&str>) -> bool {
        self.is_none() || self.as_deref() == other
    }
}

fn assignment(
    scope: &str,
    target: String,
    user: String,
    role: String,
) -> Result<Assignment, ApiError> {
    let (project_id, domain_id) = match scope {
        "projects" => (Some(target), None),
        "domains" => (None, Some(target)),
        _ => return Err(not_found("scope", scope)),
    };
    Ok(Assignment {
        user_id: user,
        role_id: role,
        project_id,
        domain_id,
    })
}

type Grant = Path<(String, String, String, String)>;

/// `PUT /{projects|domains}/{id}/users/{user}/roles/{role}`.
pub(super) async fn grant(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path((scope, target, user, role)): Grant,
) -> Result<StatusCode, ApiError> {
    if !caller.is_admin {
        return Err(forbidden("identity:create_grant"));
    }
    let new = assignment(&scope, target, user, role)?;
    keystone.state.write(|s| {
        if !s.users.contains_key(&new.user_id) {
            return Err(not_found("user", &new.user_id));
        }
        if !s.roles.contains_key(&new.role_id) {
            return Err(not_found("role", &new.role_id));
        }
        if !s.assignments.contains(&new) {
            s.assignments.push(new);
        }
        Ok(StatusCode::NO_CONTENT)
    })
}

/// `HEAD` of the same path.
pub(super) async fn check(
    Axum(keystone): Axum<Arc<Keystone>>,
    _caller: Caller,
    Path((scope, target, user, role)): Grant,
) -> Result<StatusCode, ApiError> {
    let wanted = assignment(&scope, target, user, role)?;
    let found = keystone.state.read(|s| s.assignments.contains(&wanted));
    if found {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(not_found("role assignment", &wanted.role_id))
    }
}

/// `DELETE` of the same path.
pub(super) async fn revoke(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Path((scope, target, user, role)): Grant,
) -> Result<StatusCode, ApiError> {
    if !caller.is_admin {
        return Err(forbidden("identity:revoke_grant"));
    }
    let old = assignment(&scope, target, user, role)?;
    keystone.state.write(|s| {
        let before = s.assignments.len();
        s.assignments.retain(|a| *a != old);
        if s.assignments.len() == before {
            return Err(not_found("role assignment", &old.role_id));
        }
        Ok(StatusCode::NO_CONTENT)
    })
}
