//! Stacks: create, list, show, update, delete.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query as AxumQuery, State as Axum};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::api::{self, Answer, allow};
use super::client::Client;
use super::failure::Failure;
use super::functions::evaluate;
use super::model::{Action, Stack, Status};
use super::request::{self, Wanted};
use super::template::{self, section};
use super::view::{self, Query};
use super::{Heat, events, validate};
use crate::openstack::{ApiError, Caller, Cloud, seed};

/// Stacks of a project, at most.
const MAX_STACKS: usize = 512;

fn client(cloud: &Cloud, caller: &Caller) -> Client {
    Client {
        cloud: cloud.clone(),
        token: caller.token.clone(),
    }
}

/// `POST /stacks`.
pub(super) async fn create(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path(project): Path<String>,
    bytes: Bytes,
) -> Result<Response, ApiError> {
    allow(&caller, &project, "stacks:create")?;
    let body = api::body(&bytes)?;
    let name = body
        .get("stack_name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if name.is_empty() {
        return Err(Failure::new("HTTPBadRequest", "No stack name specified").into());
    }
    let wanted = request::read(&body)?;
    let template = request::template_of(&wanted)?;
    template::check_name(&name)?;
    heat.vacant(&project, &name)?;
    validate::check(
        &client(&cloud, &caller),
        &template,
        &wanted.files,
        &wanted.parameters,
    )
    .await?;
    let (trust_id, user_project_id) = owner_objects(&cloud, &caller, &name).await?;
    let id = cloud.uuid();
    let stack = new_stack(
        &cloud,
        &caller,
        (&id, &name),
        wanted,
        template,
        (trust_id, user_project_id),
    );
    let location = view::url(&cloud, &stack, "");
    // Another request may have taken the name while this one was looking things up.
    let taken = heat.state.write(|s| {
        if s.by_name(&project, &name).is_some() {
            return true;
        }
        s.stacks.insert(id.clone(), stack);
        false
    });
    if taken {
        return Err(exists(&name).into());
    }
    cloud
        .ledger()
        .record(&cloud, "stack", "create", &id, &name, &project);
    heat.start(&cloud, &id);
    let link = json!({"href": location, "rel": "self"});
    let mut response = (
        StatusCode::CREATED,
        Json(json!({"stack": {"id": id, "links": [link]}})),
    )
        .into_response();
    if let Ok(value) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    Ok(response)
}

fn exists(name: &str) -> Failure {
    Failure::at(
        StatusCode::CONFLICT,
        "StackExists",
        format!("The Stack ({name}) already exists."),
    )
}

impl Heat {
    fn vacant(&self, project: &str, name: &str) -> Result<(), Failure> {
        self.state.read(|s| {
            if s.by_name(project, name).is_some() {
                return Err(exists(name));
            }
            let own = s.stacks.values().filter(|s| s.project_id == project && !s.is_deleted()).count();
            if own >= MAX_STACKS {
                let message = "Request limit exceeded: You have reached the maximum stacks per tenant, 512. Please delete some stacks.";
                return Err(Failure::new("RequestLimitExceeded", message));
            }
            Ok(())
        })
    }
}

/// The trust of the owner for Heat, and the project of the stack's users.
async fn owner_objects(
    cloud: &Cloud,
    caller: &Caller,
    name: &str,
) -> Result<(String, String), Failure> {
    let roles: Vec<_> = caller.roles.iter().map(|r| json!({"name": r})).collect();
    let trust = json!({
        "trustor_user_id": caller.user_id,
        "trustee_user_id": seed::HEAT_USER,
        "project_id": caller.project_id,
        "impersonation": true,
        "roles": roles,
    });
    let trust = client(cloud, caller)
        .post("/identity/v3/OS-TRUST/trusts", json!({"trust": trust}))
        .await?;
    let scope = json!({"domain": {"id": seed::HEAT_DOMAIN}});
    let token = Client::login(cloud, seed::HEAT_DOMAIN_ADMIN, scope).await?;
    let admin = Client {
        cloud: cloud.clone(),
        token,
    };
    let name = format!("{}-{name}-{}", caller.project_id, &cloud.hex()[..8]);
    let project = json!({"name": name, "domain_id": seed::HEAT_DOMAIN, "description": "Heat stack user project"});
    let project = admin
        .post("/identity/v3/projects", json!({"project": project}))
        .await?;
    let id = |value: &Value, key: &str| value[key]["id"].as_str().unwrap_or_default().to_owned();
    Ok((id(&trust, "trust"), id(&project, "project")))
}

fn new_stack(
    cloud: &Cloud,
    caller: &Caller,
    (id, name): (&str, &str),
    wanted: Wanted,
    template: Value,
    (trust_id, user_project_id): (String, String),
) -> Stack {
    let now = cloud.now();
    let mut stack = Stack {
        id: id.to_owned(),
        name: name.to_owned(),
        project_id: caller.project_id.clone(),
        owner_id: caller.user_id.clone(),
        owner_name: caller.user_name.clone(),
        trust_id,
        user_project_id,
        created: now,
        updated: None,
        deleted: None,
        action: Action::Create,
        status: Status::InProgress,
        reason: String::new(),
        template,
        files: wanted.files,
        environment: wanted.environment,
        parameters: wanted.parameters,
        tags: wanted.tags.unwrap_or_default(),
        timeout_mins: wanted.timeout_mins,
        disable_rollback: wanted.disable_rollback.unwrap_or(true),
        traversal: 1,
        started: now,
        next_rid: 1,
        resources: IndexMap::new(),
        events: Vec::new(),
    };
    events::stack(
        cloud,
        &mut stack,
        Action::Create,
        Status::InProgress,
        "Stack CREATE started",
    );
    stack
}

/// A stack that does not exist, for a preview.
pub(super) fn blank(
    cloud: &Cloud,
    caller: &Caller,
    name: &str,
    wanted: Wanted,
    template: Value,
) -> Stack {
    let mut stack = new_stack(
        cloud,
        caller,
        ("None", name),
        wanted,
        template,
        (String::new(), String::new()),
    );
    stack.events.clear();
    stack
}

fn fits(stack: &Stack, query: &Query) -> bool {
    let tags = |key: &str| -> Option<Vec<&str>> {
        query
            .get(key)
            .map(|t| t.split(',').map(str::trim).collect())
    };
    let has = |tag: &&str| stack.tags.iter().any(|t| t == tag);
    query.get("name").is_none_or(|n| *n == stack.name)
        && query.get("id").is_none_or(|i| *i == stack.id)
        && query
            .get("action")
            .is_none_or(|a| *a == stack.action.to_string())
        && query
            .get("status")
            .is_none_or(|s| *s == stack.status.to_string() || *s == stack.stack_status())
        && tags("tags").is_none_or(|t| t.iter().all(has))
        && tags("tags_any").is_none_or(|t| t.iter().any(has))
        && tags("not_tags").is_none_or(|t| !t.iter().all(has))
        && tags("not_tags_any").is_none_or(|t| !t.iter().any(has))
}

fn flag(query: &Query, key: &str) -> bool {
    query
        .get(key)
        .is_some_and(|v| v.eq_ignore_ascii_case("true") || v == "1")
}

/// `GET /stacks`.
pub(super) async fn list(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path(project): Path<String>,
    AxumQuery(query): AxumQuery<Query>,
) -> Answer {
    allow(&caller, &project, "stacks:index")?;
    let global = flag(&query, "global_tenant");
    if global && !caller.is_admin {
        let message = "You are not authorized to use stacks:global_index.";
        return Err(Failure::at(StatusCode::FORBIDDEN, "Forbidden", message).into());
    }
    let deleted = flag(&query, "show_deleted");
    let (page, total) = heat.state.read(|s| {
        let own = s
            .stacks
            .values()
            .rev()
            .filter(|s| global || s.project_id == project);
        let found: Vec<&Stack> = own
            .filter(|s| deleted || !s.is_deleted())
            .filter(|s| fits(s, &query))
            .collect();
        let total = found.len();
        let page = view::page(found, &query, |s| &s.id)?;
        Ok::<_, Failure>((
            page.into_iter()
                .map(|s| view::listed(&cloud, s))
                .collect::<Vec<_>>(),
            total,
        ))
    })?;
    let mut out = json!({"stacks": page});
    let limit = view::limit(&query)?;
    if page.len() == limit && limit > 0 {
        let last = page
            .last()
            .and_then(|s| s["id"].as_str())
            .unwrap_or_default();
        let kept = query
            .iter()
            .filter(|(k, _)| *k != "marker")
            .map(|(k, v)| format!("{k}={v}"));
        let text = kept
            .chain([format!("marker={last}")])
            .collect::<Vec<_>>()
            .join("&");
        let href = cloud.url(
            crate::openstack::ServiceKind::Heat,
            &format!("/v1/{project}/stacks?{text}"),
        );
        out["links"] = json!([{"rel": "next", "href": href}]);
    }
    if flag(&query, "with_count") {
        out["count"] = json!(total);
    }
    Ok(Json(out))
}

/// Any method on `/stacks/{name}`.
pub(super) async fn by_name(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    allow(&caller, &project, "stacks:lookup")?;
    heat.redirect(&cloud, &project, &name, "")
}

/// `GET /stacks/{name}/{resources|events|template|outputs}`.
pub(super) async fn by_name_part(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name)): Path<(String, String)>,
    uri: http::Uri,
) -> Result<Response, ApiError> {
    allow(&caller, &project, "stacks:lookup")?;
    let part = uri.path().rsplit('/').next().unwrap_or_default();
    let query = uri.query().map(|q| format!("?{q}")).unwrap_or_default();
    heat.redirect(&cloud, &project, &name, &format!("/{part}{query}"))
}

type StackPath = Path<(String, String, String)>;

impl Heat {
    /// One output with its value.
    pub(super) async fn output(
        &self,
        cloud: &Cloud,
        stack: &Stack,
        key: &str,
        definition: &Value,
    ) -> Value {
        let mut out = output_head(key, definition);
        let value = definition.get("value").unwrap_or(&Value::Null);
        let evaluated = match self.scope(cloud, &stack.id, value).await {
            Ok(scope) => evaluate(value, &scope),
            Err(failure) => Err(failure),
        };
        match evaluated {
            Ok(value) => out["output_value"] = value,
            Err(failure) => {
                out["output_value"] = Value::Null;
                out["output_error"] = json!(failure.message);
            }
        }
        out
    }
}

pub(super) fn output_head(key: &str, definition: &Value) -> Value {
    let description = definition
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or("No description given");
    json!({"output_key": key, "description": description})
}

/// `GET /stacks/{name}/{id}`.
pub(super) async fn show(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
    AxumQuery(query): AxumQuery<Query>,
) -> Answer {
    allow(&caller, &project, "stacks:show")?;
    let stack = heat.stack(&project, &name, &id)?;
    let mut out = view::shown(&cloud, &stack);
    let resolve = query
        .get("resolve_outputs")
        .is_none_or(|v| !v.eq_ignore_ascii_case("false") && v != "0");
    if resolve {
        let mut outputs = Vec::new();
        for (key, definition) in section(&stack.template, "outputs").into_iter().flatten() {
            outputs.push(heat.output(&cloud, &stack, key, definition).await);
        }
        out["outputs"] = json!(outputs);
    }
    Ok(Json(json!({"stack": out})))
}

/// `PUT` and `PATCH /stacks/{name}/{id}`.
pub(super) async fn update(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
    method: http::Method,
    bytes: Bytes,
) -> Result<Response, ApiError> {
    let existing = method == http::Method::PATCH;
    allow(
        &caller,
        &project,
        if existing {
            "stacks:update_patch"
        } else {
            "stacks:update"
        },
    )?;
    let stack = heat.stack(&project, &name, &id)?;
    if stack.is_deleted() {
        return Err(Failure::not_found(&name).into());
    }
    let wanted = request::read(&api::body(&bytes)?)?;
    if stack.action == Action::Delete || stack.action == Action::Suspend {
        let message = format!(
            "Updating a stack when it is {} is not supported.",
            stack.action
        );
        return Err(Failure::new("NotSupported", message).into());
    }
    let template = match (existing, &wanted.template) {
        (true, None) => stack.template.clone(),
        _ => request::template_of(&wanted)?,
    };
    let (mut parameters, mut files, mut environment) = Default::default();
    if existing {
        (parameters, files, environment) = (
            stack.parameters.clone(),
            stack.files.clone(),
            stack.environment.clone(),
        );
        parameters.retain(|key, _| !wanted.clear_parameters.contains(key));
        let known = section(&template, "parameters");
        parameters.retain(|key, _| known.is_some_and(|k| k.contains_key(key)));
    }
    parameters.extend(wanted.parameters);
    files.extend(wanted.files);
    environment.extend(wanted.environment);
    validate::check(&client(&cloud, &caller), &template, &files, &parameters).await?;
    heat.state.write(|s| {
        let Some(stack) = s.stacks.get_mut(&id) else {
            return;
        };
        stack.template = template;
        stack.parameters = parameters;
        stack.files = files;
        stack.environment = environment;
        match (wanted.tags, existing) {
            (Some(tags), _) => stack.tags = tags,
            (None, true) => {}
            (None, false) => stack.tags.clear(),
        }
        if wanted.timeout_mins.is_some() || !existing {
            stack.timeout_mins = wanted.timeout_mins;
        }
        stack.traversal += 1;
        stack.started = cloud.now();
        stack.updated = Some(cloud.now());
        events::stack(
            &cloud,
            stack,
            Action::Update,
            Status::InProgress,
            "Stack UPDATE started",
        );
    });
    cloud
        .ledger()
        .record(&cloud, "stack", "update", &id, &name, &project);
    heat.start(&cloud, &id);
    Ok(api::accepted())
}

/// `DELETE /stacks/{name}/{id}`.
pub(super) async fn delete(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
) -> Result<StatusCode, ApiError> {
    allow(&caller, &project, "stacks:delete")?;
    let stack = heat.stack(&project, &name, &id)?;
    if stack.is_deleted() {
        return Err(Failure::not_found(&name).into());
    }
    if stack.action == Action::Delete && stack.status == Status::InProgress {
        return Ok(StatusCode::NO_CONTENT);
    }
    heat.state.write(|s| {
        let Some(stack) = s.stacks.get_mut(&id) else {
            return;
        };
        stack.traversal += 1;
        stack.started = cloud.now();
        events::stack(
            &cloud,
            stack,
            Action::Delete,
            Status::InProgress,
            "Stack DELETE started",
        );
    });
    cloud
        .ledger()
        .record(&cloud, "stack", "delete", &id, &name, &project);
    heat.start(&cloud, &id);
    Ok(StatusCode::NO_CONTENT)
}
