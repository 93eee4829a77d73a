//! Resources of a stack: list, show, metadata, signals; and its events.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query as AxumQuery, State as Axum};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::api::{self, Answer, allow};
use super::failure::Failure;
use super::model::{Resource, Stack};
use super::view::{self, Query};
use super::{Heat, events, plugins, schema};
use crate::openstack::{ApiError, Caller, Cloud};

type StackPath = Path<(String, String, String)>;
type ResourcePath = Path<(String, String, String, String)>;

fn current<'a>(stack: &'a Stack, name: &str) -> Result<&'a Resource, ApiError> {
    stack
        .current(name)
        .ok_or_else(|| Failure::resource_not_found(name, &stack.name).into())
}

/// `GET .../resources`.
pub(super) async fn list(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
    AxumQuery(query): AxumQuery<Query>,
) -> Answer {
    allow(&caller, &project, "resource:index")?;
    let stack = heat.stack(&project, &name, &id)?;
    let fits = |row: &&Resource| {
        query.get("name").is_none_or(|n| *n == row.name)
            && query.get("type").is_none_or(|t| *t == row.kind)
            && query
                .get("action")
                .is_none_or(|a| *a == row.action.to_string())
            && query
                .get("status")
                .is_none_or(|s| *s == row.status.to_string())
    };
    let rows = stack
        .resources
        .values()
        .filter(|r| r.replaced_by.is_none())
        .filter(fits);
    let rows: Vec<_> = rows.map(|r| view::resource(&cloud, &stack, r)).collect();
    Ok(Json(json!({"resources": rows})))
}

/// `GET .../resources/{resource}`.
pub(super) async fn show(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id, resource)): ResourcePath,
) -> Answer {
    allow(&caller, &project, "resource:show")?;
    let stack = heat.stack(&project, &name, &id)?;
    let row = current(&stack, &resource)?;
    let mut out = view::resource(&cloud, &stack, row);
    out["description"] = row
        .definition
        .get("description")
        .cloned()
        .unwrap_or_else(|| json!(""));
    out["attributes"] = attributes(&heat, &cloud, &stack, row).await;
    Ok(Json(json!({"resource": out})))
}

async fn attributes(heat: &Heat, cloud: &Cloud, stack: &Stack, row: &Resource) -> Value {
    let live = match heat.context(cloud, &stack.id, row.clone()).await {
        Ok(cx) => plugins::live(&cx).await.unwrap_or(Value::Null),
        Err(_) => Value::Null,
    };
    if live.is_object() {
        return live;
    }
    let names = schema::resource_type(&row.kind)
        .map(|t| t.attributes.as_slice())
        .unwrap_or_default();
    let empty: Map<_, _> = names
        .iter()
        .filter(|n| *n != "show")
        .map(|n| (n.clone(), Value::Null))
        .collect();
    Value::Object(empty)
}

/// `GET .../resources/{resource}/metadata`.
pub(super) async fn metadata(
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id, resource)): ResourcePath,
) -> Answer {
    allow(&caller, &project, "resource:metadata")?;
    let stack = heat.stack(&project, &name, &id)?;
    let row = current(&stack, &resource)?;
    let given = row
        .definition
        .get("metadata")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let metadata = if row.metadata.is_empty() {
        given
    } else {
        row.metadata.clone()
    };
    Ok(Json(json!({"metadata": metadata})))
}

/// `POST .../resources/{resource}/signal`.
pub(super) async fn signal(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id, resource)): ResourcePath,
    bytes: Bytes,
) -> Answer {
    allow(&caller, &project, "resource:signal")?;
    let stack = heat.stack(&project, &name, &id)?;
    let row = current(&stack, &resource)?;
    // The login of a handle may signal that handle only.
    if caller.project_id == stack.user_project_id
        && row.physical_id.as_deref() != Some(caller.user_id.as_str())
    {
        let message = "You are not authorized to use resource:signal.";
        return Err(Failure::at(http::StatusCode::FORBIDDEN, "Forbidden", message).into());
    }
    if row.kind != "OS::Heat::WaitConditionHandle" {
        return Err(Failure::new(
            "ResourceActionNotSupported",
            "signal is not supported for resource.",
        )
        .into());
    }
    let details = Value::Object(api::body(&bytes)?);
    heat.state.write(|s| {
        let Some(stack) = s.stacks.get_mut(&id) else {
            return;
        };
        let Some(rid) = stack.current(&resource).map(|r| r.rid) else {
            return;
        };
        let Some(row) = stack.resources.get_mut(&rid) else {
            return;
        };
        // A malformed signal is answered like a good one, and lost, as in a real Heat.
        let Ok((key, entry)) = plugins::signal_entry(&details, row.metadata.len()) else {
            return;
        };
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let reason = format!(
            "Signal: status:{} reason:{}",
            text("status"),
            text("reason")
        );
        row.metadata.insert(key, entry);
        let row = row.clone();
        events::signal(&cloud, stack, &row, reason);
    });
    Ok(Json(Value::Null))
}

fn listed(cloud: &Cloud, stack: &Stack, query: &Query, resource: Option<&str>) -> Answer {
    let mut found: Vec<_> = stack
        .events
        .iter()
        .filter(|e| resource.is_none_or(|r| r == e.resource_name))
        .collect();
    let action_fits = |status: &str, key: &str, start: bool| {
        query.get(key).is_none_or(|wanted| {
            let wanted: Vec<&str> = wanted.split(',').collect();
            wanted.iter().any(|w| {
                if start {
                    status.starts_with(w)
                } else {
                    status.ends_with(w)
                }
            })
        })
    };
    found.retain(|e| {
        action_fits(&e.status, "resource_action", true)
            && action_fits(&e.status, "resource_status", false)
            && query
                .get("resource_name")
                .is_none_or(|n| *n == e.resource_name)
            && query
                .get("resource_type")
                .is_none_or(|t| *t == e.resource_type)
    });
    if query.get("sort_dir").is_none_or(|d| d != "asc") {
        found.reverse();
    }
    let root = query.get("nested_depth").is_some_and(|d| d != "0");
    let page = view::page(found, query, |e| &e.id)?;
    let page: Vec<_> = page
        .into_iter()
        .map(|e| view::event(cloud, stack, e, root))
        .collect();
    Ok(Json(json!({"events": page})))
}

/// `GET .../events`.
pub(super) async fn stack_events(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id)): StackPath,
    AxumQuery(query): AxumQuery<Query>,
) -> Answer {
    allow(&caller, &project, "events:index")?;
    listed(&cloud, &heat.stack(&project, &name, &id)?, &query, None)
}

/// `GET .../resources/{resource}/events`.
pub(super) async fn resource_events(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id, resource)): ResourcePath,
    AxumQuery(query): AxumQuery<Query>,
) -> Answer {
    allow(&caller, &project, "events:index")?;
    let stack = heat.stack(&project, &name, &id)?;
    if resource != stack.name {
        current(&stack, &resource)?;
    }
    listed(&cloud, &stack, &query, Some(&resource))
}

/// `GET .../resources/{resource}/events/{event}`.
pub(super) async fn event(
    cloud: Cloud,
    caller: Caller,
    Axum(heat): Axum<Arc<Heat>>,
    Path((project, name, id, resource, event)): Path<(String, String, String, String, String)>,
) -> Answer {
    allow(&caller, &project, "events:show")?;
    let stack = heat.stack(&project, &name, &id)?;
    let found = stack
        .events
        .iter()
        .find(|e| e.id == event && e.resource_name == resource);
    let found = found.ok_or_else(|| {
        let message = format!("The Event ({event}) could not be found.");
        ApiError::from(Failure::at(
            http::StatusCode::NOT_FOUND,
            "EntityNotFound",
            message,
        ))
    })?;
    let mut out = view::event(&cloud, &stack, found, false);
    out["resource_type"] = json!(found.resource_type);
    // Texts are long and events many: the properties are those of the resource as it is now.
    let properties = stack.current(&resource).map(|row| row.properties.clone());
    out["resource_properties"] = json!(properties.unwrap_or_default());
    Ok(Json(json!({"event": out})))
}
