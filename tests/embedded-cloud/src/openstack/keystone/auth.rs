//! `/auth/tokens`: logging in, and what a token is worth.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State as Axum};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{State, Token, User};
use super::{Keystone, token};
use crate::openstack::{ApiError, Caller, Cloud, ServiceKind};

const SUBJECT: HeaderName = HeaderName::from_static("x-subject-token");

/// What a login has proved.
struct Proof {
    user_id: String,
    methods: Vec<String>,
    app_credential_id: Option<String>,
    /// The token that was used to log in, which bounds the new one.
    old: Option<Token>,
}

struct Scope {
    project_id: Option<String>,
    domain_id: Option<String>,
    roles: Vec<String>,
    trust_id: Option<String>,
    impersonated: Option<String>,
}

fn unauthorized(cloud: &Cloud) -> ApiError {
    ApiError::unauthorized(ServiceKind::Keystone, &cloud.base_url())
}

fn bad_request(message: impl Into<String>) -> ApiError {
    ApiError::new(ServiceKind::Keystone, StatusCode::BAD_REQUEST, "", message)
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn find_user<'a>(state: &'a State, user: &Value) -> Option<&'a User> {
    if let Some(id) = text(user, "/id") {
        return state.users.get(id);
    }
    let domain = state.domain(text(user, "/domain/id"), text(user, "/domain/name"))?;
    let name = text(user, "/name")?;
    state
        .users
        .values()
        .find(|u| u.name == name && u.domain_id == domain.id)
}

fn by_password(state: &State, identity: &Value) -> Option<Proof> {
    let user = find_user(state, identity.pointer("/password/user")?)?;
    let password = text(identity, "/password/user/password")?;
    (user.enabled && user.password.0 == password).then(|| Proof {
        user_id: user.id.clone(),
        methods: vec!["password".to_owned()],
        app_credential_id: None,
        old: None,
    })
}

fn by_token(cloud: &Cloud, state: &State, identity: &Value) -> Option<Proof> {
    let old = state.tokens.get(text(identity, "/token/id")?)?;
    if old.expires_at <= cloud.now() || old.trust_id.is_some() {
        return None;
    }
    let mut methods = vec!["token".to_owned()];
    methods.extend(old.methods.iter().filter(|m| *m != "token").cloned());
    Some(Proof {
        user_id: old.user_id.clone(),
        methods,
        app_credential_id: None,
        old: Some(old.clone()),
    })
}

fn by_app_credential(cloud: &Cloud, state: &State, identity: &Value) -> Option<Proof> {
    let given = identity.get("application_credential")?;
    let credential = if let Some(id) = text(given, "/id") {
        state.app_credentials.get(id)?
    } else {
        let user = find_user(state, given.get("user")?)?;
        let name = text(given, "/name")?;
        state
            .app_credentials
            .values()
            .find(|c| c.user_id == user.id && c.name == name)?
    };
    let alive = credential.expires_at.is_none_or(|at| at > cloud.now());
    (alive && text(given, "/secret")? == credential.secret.0).then(|| Proof {
        user_id: credential.user_id.clone(),
        methods: vec!["application_credential".to_owned()],
        app_credential_id: Some(credential.id.clone()),
        old: None,
    })
}

fn project_scope(state: &State, user: &str, project: &Value) -> Option<Scope> {
    let found = if let Some(id) = text(project, "/id") {
        state.projects.get(id)?
    } else {
        let domain = state.domain(text(project, "/domain/id"), text(project, "/domain/name"))?;
        let name = text(project, "/name")?;
        state
            .projects
            .values()
            .find(|p| p.name == name && p.domain_id == domain.id)?
    };
    let roles = state.project_roles(user, &found.id);
    (!roles.is_empty()).then(|| Scope {
        project_id: Some(found.id.clone()),
        domain_id: None,
        roles,
        trust_id: None,
        impersonated: None,
    })
}

fn domain_scope(state: &State, user: &str, domain: &Value) -> Option<Scope> {
    let found = state.domain(text(domain, "/id"), text(domain, "/name"))?;
    let roles = state.domain_roles(user, &found.id);
    (!roles.is_empty()).then(|| Scope {
        project_id: None,
        domain_id: Some(found.id.clone()),
        roles,
        trust_id: None,
        impersonated: None,
    })
}

fn trust_scope(cloud: &Cloud, state: &State, user: &str, trust: &Value) -> Option<Scope> {
    let trust = state.trusts.get(text(trust, "/id")?)?;
    let alive = trust.expires_at.is_none_or(|at| at > cloud.now());
    let held = state.project_roles(&trust.trustor_user_id, &trust.project_id);
    let whole = trust.roles.iter().all(|role| held.contains(role));
    (alive && whole && trust.trustee_user_id == user).then(|| Scope {
        project_id: Some(trust.project_id.clone()),
        domain_id: None,
        roles: trust.roles.clone(),
        trust_id: Some(trust.id.clone()),
        impersonated: trust.impersonation.then(|| trust.trustor_user_id.clone()),
    })
}

fn unscoped() -> Scope {
    Scope {
        project_id: None,
        domain_id: None,
        roles: Vec::new(),
        trust_id: None,
        impersonated: None,
    }
}

fn prove(cloud: &Cloud, state: &State, identity: &Value) -> Result<Proof, ApiError> {
    let methods = identity.get("methods").and_then(Value::as_array);
    let methods = methods.ok_or_else(|| bad_request("'methods' is a required property"))?;
    let mut proof: Option<Proof> = None;
    for method in methods {
        let found = match method.as_str() {
            Some("password") => by_password(state, identity),
            Some("token") => by_token(cloud, state, identity),
            Some("application_credential") => by_app_credential(cloud, state, identity),
            _ => None,
        };
        let found = found.ok_or_else(|| unauthorized(cloud))?;
        if proof.as_ref().is_some_and(|p| p.user_id != found.user_id) {
            return Err(unauthorized(cloud));
        }
        proof.get_or_insert(found);
    }
    proof.ok_or_else(|| unauthorized(cloud))
}

fn scope(
    cloud: &Cloud,
    state: &State,
    proof: &Proof,
    wanted: Option<&Value>,
) -> Result<Scope, ApiError> {
    if let Some(id) = &proof.app_credential_id {
        if wanted.is_some() {
            return Err(unauthorized(cloud));
        }
        let credential = state
            .app_credentials
            .get(id)
            .ok_or_else(|| unauthorized(cloud))?;
        return Ok(Scope {
            project_id: Some(credential.project_id.clone()),
            roles: credential.roles.clone(),
            ..unscoped()
        });
    }
    let user = &proof.user_id;
    let found = match wanted {
        Some(Value::Object(scope)) => {
            if let Some(project) = scope.get("project") {
                project_scope(state, user, project)
            } else if let Some(domain) = scope.get("domain") {
                domain_scope(state, user, domain)
            } else if let Some(trust) = scope.get("OS-TRUST:trust") {
                trust_scope(cloud, state, user, trust)
            } else {
                None
            }
        }
        Some(_) => Some(unscoped()),
        None => {
            let default = state
                .users
                .get(user)
                .and_then(|u| u.default_project_id.clone());
            let scoped = default.and_then(|id| project_scope(state, user, &json!({"id": id})));
            Some(scoped.unwrap_or_else(unscoped))
        }
    };
    found.ok_or_else(|| unauthorized(cloud))
}

#[derive(Debug, Deserialize)]
pub(super) struct CatalogQuery {
    nocatalog: Option<String>,
}

fn answer(status: StatusCode, id: &str, body: Value) -> Response {
    let mut response = (status, Json(body)).into_response();
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(SUBJECT, value);
    }
    response
        .headers_mut()
        .insert(http::header::VARY, HeaderValue::from_static("X-Auth-Token"));
    response
}

/// `POST /auth/tokens`.
pub(super) async fn login(
    cloud: Cloud,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(query): Query<CatalogQuery>,
    body: Result<Json<Value>, axum::extract::rejection::JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(body) = body.map_err(|_| bad_request("Malformed JSON in request body"))?;
    let auth = body
        .get("auth")
        .ok_or_else(|| bad_request("'auth' is a required property"))?;
    let identity = auth
        .get("identity")
        .ok_or_else(|| bad_request("'identity' is a required property"))?;
    keystone.state.write(|state| {
        let proof = prove(&cloud, state, identity)?;
        let scope = scope(&cloud, state, &proof, auth.get("scope"))?;
        let lifetime = chrono::Duration::from_std(cloud.options().token_lifetime);
        let mut expires_at = cloud.now() + lifetime.unwrap_or_else(|_| chrono::Duration::hours(4));
        if let Some(old) = &proof.old {
            expires_at = expires_at.min(old.expires_at);
        }
        let id = format!("gAAAAAB{}{}", cloud.hex(), cloud.hex());
        let token = Token {
            id: super::model::Secret(id.clone()),
            user_id: scope.impersonated.unwrap_or(proof.user_id),
            methods: proof.methods,
            project_id: scope.project_id,
            domain_id: scope.domain_id,
            roles: scope.roles,
            issued_at: cloud.now(),
            expires_at,
            audit_id: cloud.hex()[..22].to_owned(),
            trust_id: scope.trust_id,
            app_credential_id: proof.app_credential_id,
        };
        let body = token::body(&cloud, state, &token, query.nocatalog.is_none());
        let now = cloud.now();
        state.tokens.retain(|_, token| token.expires_at > now);
        state.tokens.insert(id.clone(), token);
        Ok(answer(StatusCode::CREATED, &id, body))
    })
}

fn subject(headers: &HeaderMap) -> String {
    headers
        .get(SUBJECT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

fn not_found(id: &str) -> ApiError {
    let message = format!(
        "Could not find token: {}.",
        if id.is_empty() { "" } else { "***" }
    );
    ApiError::new(ServiceKind::Keystone, StatusCode::NOT_FOUND, "", message)
}

/// `GET` and `HEAD /auth/tokens`.
pub(super) async fn show(
    cloud: Cloud,
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    Query(query): Query<CatalogQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = subject(&headers);
    keystone.state.read(|state| {
        let token = state
            .tokens
            .get(&id)
            .filter(|t| t.expires_at > cloud.now())
            .ok_or_else(|| not_found(&id))?;
        if token.user_id != caller.user_id && !caller.has_role("service") {
            return Err(super::forbidden("identity:validate_token"));
        }
        Ok(answer(
            StatusCode::OK,
            &id,
            token::body(&cloud, state, token, query.nocatalog.is_none()),
        ))
    })
}

/// `DELETE /auth/tokens`.
pub(super) async fn revoke(
    caller: Caller,
    Axum(keystone): Axum<Arc<Keystone>>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let id = subject(&headers);
    keystone.state.write(|state| {
        let token = state.tokens.get(&id).ok_or_else(|| not_found(&id))?;
        if token.user_id != caller.user_id && !caller.is_admin {
            return Err(super::forbidden("identity:revoke_token"));
        }
        state.tokens.shift_remove(&id);
        Ok(StatusCode::NO_CONTENT)
    })
}

/// `GET /auth/catalog`.
pub(super) async fn catalog(cloud: Cloud, caller: Caller) -> Json<Value> {
    let project = (!caller.project_id.is_empty()).then_some(caller.project_id.as_str());
    let links = json!({"next": null, "self": cloud.url(ServiceKind::Keystone, "/v3/auth/catalog"), "previous": null});
    Json(json!({"catalog": token::catalog(&cloud, project), "links": links}))
}
