//! Identity v3: logins, projects, users, roles, application credentials and trusts.

mod auth;
mod delegation;
mod model;
mod objects;
mod roles;
mod token;

use std::sync::Arc;

use axum::routing::{get, put};
use axum::{Json, Router};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use self::model::State;
use super::{ApiError, Caller, Cloud, Persist, Service, ServiceKind, Store};

/// The identity service.
#[derive(Debug)]
pub struct Keystone {
    state: Store<State>,
}

impl Default for Keystone {
    fn default() -> Self {
        Self::new()
    }
}

impl Keystone {
    /// With the seeded projects and users.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Store::new(State::seeded()),
        }
    }

    /// The owner of a token that is valid now.
    #[must_use]
    pub fn caller(&self, cloud: &Cloud, token: &str) -> Option<Caller> {
        self.state.read(|state| {
            let found = state
                .tokens
                .get(token)
                .filter(|t| t.expires_at > cloud.now())?;
            let user = state.users.get(&found.user_id)?;
            let roles: Vec<_> = found
                .roles
                .iter()
                .filter_map(|r| Some(state.roles.get(r)?.name.clone()))
                .collect();
            let project = match &found.project_id {
                Some(id) => Some(state.projects.get(id)?),
                None => None,
            };
            Some(Caller {
                user_id: user.id.clone(),
                user_name: user.name.clone(),
                project_id: project.map(|p| p.id.clone()).unwrap_or_default(),
                project_name: project.map(|p| p.name.clone()).unwrap_or_default(),
                domain_id: user.domain_id.clone(),
                is_admin: roles.iter().any(|r| r == "admin"),
                roles,
                token: token.to_owned(),
            })
        })
    }
}

fn forbidden(action: &str) -> ApiError {
    let message = format!("You are not authorized to perform the requested action: {action}.");
    ApiError::new(ServiceKind::Keystone, StatusCode::FORBIDDEN, "", message)
}

fn not_found(kind: &str, id: &str) -> ApiError {
    let message = format!("Could not find {kind}: {id}.");
    ApiError::new(ServiceKind::Keystone, StatusCode::NOT_FOUND, "", message)
}

impl Service for Keystone {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Keystone
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        Router::new()
            .route("/", get(versions))
            .route("/v3", get(version))
            .route(
                "/v3/auth/tokens",
                get(auth::show).post(auth::login).delete(auth::revoke),
            )
            .route("/v3/auth/catalog", get(auth::catalog))
            .route("/v3/auth/projects", get(objects::own_projects))
            .route("/v3/domains", get(objects::domains))
            .route(
                "/v3/projects",
                get(objects::projects).post(objects::create_project),
            )
            .route(
                "/v3/projects/{id}",
                get(objects::project).delete(objects::delete_project),
            )
            .route("/v3/users", get(objects::users).post(objects::create_user))
            .route(
                "/v3/users/{id}",
                get(objects::user)
                    .patch(objects::update_user)
                    .delete(objects::delete_user),
            )
            .route("/v3/users/{id}/projects", get(objects::own_projects))
            .route("/v3/roles", get(roles::list))
            .route("/v3/role_assignments", get(roles::assignments))
            .route(
                "/v3/{scope}/{id}/users/{user}/roles/{role}",
                put(roles::grant).head(roles::check).delete(roles::revoke),
            )
            .route(
                "/v3/users/{id}/application_credentials",
                get(delegation::credentials).post(delegation::create_credential),
            )
            .route(
                "/v3/users/{id}/application_credentials/{credential}",
                get(delegation::credential).delete(delegation::delete_credential),
            )
            .route(
                "/v3/OS-TRUST/trusts",
                get(delegation::trusts).post(delegation::create_trust),
            )
            .route(
                "/v3/OS-TRUST/trusts/{id}",
                get(delegation::trust).delete(delegation::delete_trust),
            )
            .with_state(self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        self.state.read(|state| {
            let own = |id: &str| project.is_none_or(|p| p == id);
            let projects = state.projects.values().filter(|p| own(&p.id));
            let users = state.users.values().filter(|u| project.is_none() || u.default_project_id.as_deref() == project);
            let trusts = state.trusts.values().filter(|t| own(&t.project_id));
            let credentials = state.app_credentials.values().filter(|c| own(&c.project_id));
            json!({
                "projects": projects.map(|p| json!({"id": p.id, "name": p.name, "project_id": p.id})).collect::<Vec<_>>(),
                "users": users.map(|u| json!({"id": u.id, "name": u.name, "project_id": u.default_project_id})).collect::<Vec<_>>(),
                "trusts": trusts.map(|t| json!({"id": t.id, "name": "", "project_id": t.project_id})).collect::<Vec<_>>(),
                "application_credentials": credentials
                    .map(|c| json!({"id": c.id, "name": c.name, "project_id": c.project_id})).collect::<Vec<_>>(),
            })
        })
    }
}

fn version_body(cloud: &Cloud) -> Value {
    json!({
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": cloud.url(ServiceKind::Keystone, "/v3/")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    })
}

async fn versions(
    cloud: Cloud,
) -> (
    StatusCode,
    [(http::HeaderName, HeaderValue); 1],
    Json<Value>,
) {
    let location = HeaderValue::from_str(&cloud.url(ServiceKind::Keystone, "/v3/"));
    let location = location.unwrap_or_else(|_| HeaderValue::from_static("/"));
    let body = json!({"versions": {"values": [version_body(&cloud)]}});
    (
        StatusCode::MULTIPLE_CHOICES,
        [(header::LOCATION, location)],
        Json(body),
    )
}

async fn version(cloud: Cloud) -> Json<Value> {
    Json(json!({"version": version_body(&cloud)}))
}
