//! The rest of Heat's API: template, files, environment, outputs, actions, validation, preview, types.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State as Axum};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::api::{self, Answer, allow};
use super::client::Client;
use super::failure::Failure;
use super::functions::as_text;
use super::model::{Action, Status};
use super::template::{self, section};
use super::{Heat, events, request, schema, stacks, validate, view};
use crate::openstack::{ApiError, Caller, Cloud, ServiceKind};

type StackPath = Path<(String, String, String)>;

/// `GET .../template`.
pub(super) async fn template(
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
) -> Answer {
    allow(&caller, &project, "stacks:template")?;
    Ok(Json(heat.stack(&project, &name, &id)?.template))
}

/// `GET .../files`.
pub(super) async fn files(
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
) -> Answer {
    allow(&caller, &project, "stacks:files")?;
    Ok(Json(Value::Object(heat.stack(&project, &name, &id)?.files)))
}

/// `GET .../environment`.
pub(super) async fn environment(
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
) -> Answer {
    allow(&caller, &project, "stacks:environment")?;
    let stack = heat.stack(&project, &name, &id)?;
    let defaults = stack
        .environment
        .get("parameter_defaults")
        .cloned()
        .unwrap_or_else(|| json!({}));
    Ok(Json(json!({
        "resource_registry": {"resources": {}},
        "parameters": stack.parameters,
        "parameter_defaults": defaults,
        "event_sinks": [],
        "encrypted_param_names": [],
    })))
}

/// `GET .../outputs`.
pub(super) async fn outputs(
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
) -> Answer {
    allow(&caller, &project, "stacks:list_outputs")?;
    let stack = heat.stack(&project, &name, &id)?;
    let all = section(&stack.template, "outputs").into_iter().flatten();
    let list: Vec<_> = all
        .map(|(key, definition)| stacks::output_head(key, definition))
        .collect();
    Ok(Json(json!({"outputs": list})))
}

/// `GET .../outputs/{key}`.
pub(super) async fn output(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id, key)): Path<(String, String, String, String)>,
) -> Answer {
    allow(&caller, &project, "stacks:show_output")?;
    let stack = heat.stack(&project, &name, &id)?;
    let definition = section(&stack.template, "outputs")
        .and_then(|o| o.get(&key))
        .ok_or_else(|| {
            let message = format!("Specified output key {key} not found.");
            ApiError::from(Failure::at(StatusCode::NOT_FOUND, "NotFound", message))
        })?;
    let output = heat.output(&cloud, &stack, &key, definition).await;
    Ok(Json(json!({"output": output})))
}

/// `POST .../actions`.
pub(super) async fn action(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
    bytes: Bytes,
) -> Result<Response, ApiError> {
    allow(&caller, &project, "actions:action")?;
    let stack = heat.stack(&project, &name, &id)?;
    let body = api::body(&bytes)?;
    let Some(wanted) = body.keys().next() else {
        return Err(Failure::new("HTTPBadRequest", "No action specified").into());
    };
    let action = match wanted.as_str() {
        "check" => Action::Check,
        "suspend" => Action::Suspend,
        "resume" => Action::Resume,
        "cancel_update" => {
            return Err(cancel(&heat, &cloud, &id, true)
                .err()
                .unwrap_or_else(|| Failure::unsupported("cancel_update, which rolls back"))
                .into());
        }
        "cancel_without_rollback" => {
            cancel(&heat, &cloud, &id, false)?;
            return Ok(api::accepted());
        }
        other => {
            return Err(Failure::new(
                "HTTPBadRequest",
                format!("Invalid action {other} specified"),
            )
            .into());
        }
    };
    if stack.status == Status::InProgress {
        let message = format!(
            "Stack {name} already has an action ({}) in progress.",
            stack.action
        );
        return Err(Failure::at(StatusCode::CONFLICT, "ActionInProgress", message).into());
    }
    // The parts of a stack are not stopped or looked at: states and events only.
    heat.state.write(|s| {
        let Some(stack) = s.stacks.get_mut(&id) else {
            return;
        };
        events::stack(
            &cloud,
            stack,
            action,
            Status::InProgress,
            &format!("Stack {action} started"),
        );
        let rows: Vec<u64> = stack
            .resources
            .values()
            .filter(|r| r.replaced_by.is_none())
            .map(|r| r.rid)
            .collect();
        for rid in rows {
            if let Some(row) = stack.resources.get_mut(&rid) {
                row.action = action;
                row.status = Status::Complete;
                "state changed".clone_into(&mut row.reason);
                let row = row.clone();
                events::resource(&cloud, stack, &row);
            }
        }
        events::stack(
            &cloud,
            stack,
            action,
            Status::Complete,
            &format!("Stack {action} completed successfully"),
        );
    });
    Ok(Json(Value::Null).into_response())
}

fn cancel(heat: &Heat, cloud: &Cloud, id: &str, rollback: bool) -> Result<(), Failure> {
    heat.state.write(|s| {
        let stack = s.stacks.get_mut(id).ok_or_else(|| Failure::not_found(id))?;
        let updating = stack.action == Action::Update && stack.status == Status::InProgress;
        let creating =
            stack.action == Action::Create && stack.status == Status::InProgress && !rollback;
        if !updating && !creating {
            let message = format!(
                "Cancelling update when stack is {} is not supported.",
                stack.stack_status()
            );
            return Err(Failure::new("NotSupported", message));
        }
        if !rollback {
            let action = stack.action;
            let reason = format!("Stack {action} cancelled by user");
            events::stack(cloud, stack, action, Status::Failed, &reason);
        }
        Ok(())
    })
}

/// `POST /validate`.
pub(super) async fn validate(
    cloud: Cloud,
    caller: Caller,
    Path(project): Path<String>,
    bytes: Bytes,
) -> Answer {
    allow(&caller, &project, "stacks:validate_template")?;
    let wanted = request::read(&api::body(&bytes)?)?;
    let template = request::template_of(&wanted)?;
    let empty = Map::new();
    let schemas = section(&template, "parameters").unwrap_or(&empty);
    // Parameters without a value are no error here.
    let mut given = wanted.parameters.clone();
    for (name, schema) in schemas {
        if !given.contains_key(name) && schema.get("default").is_none() {
            let blank = match schema.get("type").and_then(Value::as_str) {
                Some("number") => json!(1),
                Some("boolean") => json!(false),
                Some("json") => json!({}),
                _ => json!(super::functions::UNKNOWN),
            };
            given.insert(name.clone(), blank);
        }
    }
    let client = Client {
        cloud,
        token: caller.token,
    };
    validate::check(&client, &template, &wanted.files, &given).await?;
    let parameters: Map<_, _> = schemas
        .iter()
        .map(|(n, s)| (n.clone(), parameter(n, s)))
        .collect();
    Ok(Json(json!({
        "Description": template.get("description").map_or_else(|| "No description".to_owned(), as_text),
        "Parameters": parameters,
        "Environment": {
            "resource_registry": {"resources": {}},
            "parameters": wanted.parameters,
            "parameter_defaults": {},
            "event_sinks": [],
        },
    })))
}

fn parameter(name: &str, schema: &Value) -> Value {
    let kind = match schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("string")
    {
        "number" => "Number",
        "boolean" => "Boolean",
        "json" => "Json",
        "comma_delimited_list" => "CommaDelimitedList",
        _ => "String",
    };
    let hidden = schema
        .get("hidden")
        .is_some_and(|h| as_text(h).eq_ignore_ascii_case("true"));
    let mut out = json!({
        "Type": kind,
        "Description": schema.get("description").cloned().unwrap_or_else(|| json!("")),
        "NoEcho": if hidden { "true" } else { "false" },
        "Label": schema.get("label").cloned().unwrap_or_else(|| json!(name)),
    });
    if let Some(default) = schema.get("default") {
        out["Default"] = default.clone();
    }
    out
}

/// `POST /stacks/preview`.
pub(super) async fn preview(
    cloud: Cloud,
    caller: Caller,
    Path(project): Path<String>,
    bytes: Bytes,
) -> Answer {
    allow(&caller, &project, "stacks:preview")?;
    let body = api::body(&bytes)?;
    let name = body
        .get("stack_name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    template::check_name(&name)?;
    let wanted = request::read(&body)?;
    let template = request::template_of(&wanted)?;
    let client = Client {
        cloud: cloud.clone(),
        token: caller.token.clone(),
    };
    validate::check(&client, &template, &wanted.files, &wanted.parameters).await?;
    let resources = preview_resources(&template, &project, &name);
    let mut stack = stacks::blank(&cloud, &caller, &name, wanted, template);
    stack.action = Action::Init;
    let mut out = view::shown(&cloud, &stack);
    out["stack_user_project_id"] = Value::Null;
    if let Some(map) = out.as_object_mut() {
        map.shift_remove("stack_status");
        map.shift_remove("stack_status_reason");
    }
    let outputs = section(&stack.template, "outputs")
        .into_iter()
        .flatten()
        .map(|(key, definition)| {
            let mut out = stacks::output_head(key, definition);
            out["output_value"] = Value::Null;
            out
        });
    out["outputs"] = outputs.collect();
    out["resources"] = json!(resources);
    Ok(Json(json!({"stack": out})))
}

fn preview_resources(template: &Value, project: &str, name: &str) -> Vec<Value> {
    let all = section(template, "resources").into_iter().flatten();
    all.map(|(resource, definition)| {
        json!({
            "updated_time": null,
            "creation_time": null,
            "resource_name": resource,
            "physical_resource_id": "",
            "resource_action": "INIT",
            "resource_status": "COMPLETE",
            "resource_status_reason": "",
            "resource_type": definition["type"],
            "resource_identity": {"tenant": project, "stack_name": name, "stack_id": "None", "path": format!("/resources/{resource}")},
            "stack_identity": {"tenant": project, "stack_name": name, "stack_id": "None", "path": ""},
            "stack_name": name,
            "required_by": [],
            "description": definition.get("description").cloned().unwrap_or_else(|| json!("")),
            "metadata": {},
            "attributes": {},
            "properties": definition.get("properties").cloned().unwrap_or_else(|| json!({})),
        })
    })
    .collect()
}

/// `GET /build_info`.
pub(super) async fn build_info(caller: Caller, Path(project): Path<String>) -> Answer {
    allow(&caller, &project, "build_info")?;
    Ok(Json(
        json!({"api": {"revision": "unknown"}, "engine": {"revision": "unknown"}}),
    ))
}

/// `GET /resource_types`.
pub(super) async fn resource_types(caller: Caller, Path(project): Path<String>) -> Answer {
    allow(&caller, &project, "stacks:list_resource_types")?;
    Ok(Json(json!({"resource_types": schema::names()})))
}

/// `GET /resource_types/{type}`.
pub(super) async fn resource_type(
    caller: Caller,
    Path((project, kind)): Path<(String, String)>,
) -> Answer {
    allow(&caller, &project, "stacks:resource_schema")?;
    let found = schema::resource_type(&kind).ok_or_else(|| {
        let message = format!("The Resource Type ({kind}) could not be found.");
        ApiError::from(Failure::at(
            StatusCode::NOT_FOUND,
            "EntityNotFound",
            message,
        ))
    })?;
    let attributes: Map<_, _> = found
        .attributes
        .iter()
        .map(|a| (a.clone(), json!({"type": "string"})))
        .collect();
    let support =
        json!({"status": "SUPPORTED", "message": null, "version": null, "previous_status": null});
    Ok(Json(json!({
        "resource_type": kind,
        "properties": found.properties,
        "attributes": attributes,
        "support_status": support,
    })))
}

const VERSIONS: [(&str, Option<&str>); 11] = [
    ("2013-05-23", None),
    ("2014-10-16", None),
    ("2015-04-30", None),
    ("2015-10-15", None),
    ("2016-04-08", None),
    ("2016-10-14", Some("newton")),
    ("2017-02-24", Some("ocata")),
    ("2017-09-01", Some("pike")),
    ("2018-03-02", Some("queens")),
    ("2018-08-31", Some("rocky")),
    ("2021-04-16", Some("wallaby")),
];

/// `GET /template_versions`.
pub(super) async fn template_versions(caller: Caller, Path(project): Path<String>) -> Answer {
    allow(&caller, &project, "stacks:list_template_versions")?;
    let list = VERSIONS.iter().map(|(version, alias)| {
        let aliases: Vec<_> = alias.iter().map(|a| format!("heat_template_version.{a}")).collect();
        json!({"version": format!("heat_template_version.{version}"), "type": "hot", "aliases": aliases})
    });
    Ok(Json(json!({"template_versions": list.collect::<Vec<_>>()})))
}

/// `GET /services`: for administrators.
pub(super) async fn services(cloud: Cloud, caller: Caller, Path(project): Path<String>) -> Answer {
    allow(&caller, &project, "service:index")?;
    if !caller.is_admin {
        let message = "You are not authorized to use service:index.";
        return Err(Failure::at(StatusCode::FORBIDDEN, "Forbidden", message).into());
    }
    let now = cloud.now().format("%Y-%m-%dT%H:%M:%S.%6f").to_string();
    let engine = json!({
        "id": "49abc78c-4691-4f55-916a-656805c8ce90",
        "binary": "heat-engine",
        "engine_id": "c8b7b665-5806-472a-82af-428d075121f3",
        "host": "embedded",
        "hostname": "embedded",
        "topic": "engine",
        "report_interval": 60,
        "created_at": now,
        "updated_at": now,
        "deleted_at": null,
        "status": "up",
    });
    Ok(Json(json!({"services": [engine]})))
}

/// `GET /`: version discovery.
pub(super) async fn versions(cloud: Cloud) -> Response {
    let link = json!({"rel": "self", "href": cloud.url(ServiceKind::Heat, "/v1/")});
    let body = json!({"versions": [{"id": "v1.0", "status": "CURRENT", "links": [link]}]});
    (StatusCode::MULTIPLE_CHOICES, Json(body)).into_response()
}
