//! Stacks, resources and events as JSON.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::functions::as_text;
use super::model::{Event, Resource, Stack};
use super::template;
use crate::openstack::{Cloud, ServiceKind};

/// Query parameters of a request.
pub(super) type Query = HashMap<String, String>;

/// A time as Heat prints it.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The URL of a stack, or of something in it when `rest` (with leading slash) is not empty.
pub(super) fn url(cloud: &Cloud, stack: &Stack, rest: &str) -> String {
    let path = format!(
        "/v1/{}/stacks/{}/{}{rest}",
        stack.project_id, stack.name, stack.id
    );
    cloud.url(ServiceKind::Heat, &path)
}

fn link(href: impl Into<String>, rel: &str) -> Value {
    let href: String = href.into();
    json!({"href": href, "rel": rel})
}

fn description(stack: &Stack) -> String {
    stack
        .template
        .get("description")
        .map_or_else(|| "No description".to_owned(), as_text)
}

/// The stack as a list shows it.
pub(super) fn listed(cloud: &Cloud, stack: &Stack) -> Value {
    json!({
        "id": stack.id,
        "links": [link(url(cloud, stack, ""), "self")],
        "stack_name": stack.name,
        "description": "",
        "stack_status": stack.stack_status(),
        "stack_status_reason": stack.reason,
        "creation_time": time(stack.created),
        "updated_time": stack.updated.map(time),
        "deletion_time": stack.deleted.map(time),
        "stack_owner": stack.owner_name,
        "parent": null,
        "stack_user_project_id": stack.user_project_id,
        "tags": if stack.tags.is_empty() { Value::Null } else { json!(stack.tags) },
    })
}

/// The stack itself, without outputs.
pub(super) fn shown(cloud: &Cloud, stack: &Stack) -> Value {
    let mut parameters = Map::new();
    parameters.insert("OS::stack_id".to_owned(), json!(stack.id));
    parameters.insert("OS::project_id".to_owned(), json!(stack.project_id));
    parameters.insert("OS::stack_name".to_owned(), json!(stack.name));
    if let Ok(values) = template::parameters(&stack.template, &stack.parameters) {
        parameters.extend(template::shown_parameters(&stack.template, &values));
    }
    json!({
        "stack_name": stack.name,
        "id": stack.id,
        "links": [link(url(cloud, stack, ""), "self")],
        "creation_time": time(stack.created),
        "updated_time": stack.updated.map(time),
        "deletion_time": stack.deleted.map(time),
        "notification_topics": [],
        "parameters": parameters,
        "description": description(stack),
        "template_description": description(stack),
        "capabilities": [],
        "disable_rollback": stack.disable_rollback,
        "timeout_mins": stack.timeout_mins,
        "stack_owner": stack.owner_name,
        "parent": null,
        "stack_user_project_id": stack.user_project_id,
        "tags": stack.tags,
        "stack_status": stack.stack_status(),
        "stack_status_reason": stack.reason,
    })
}

/// A resource as a list shows it.
pub(super) fn resource(cloud: &Cloud, stack: &Stack, row: &Resource) -> Value {
    json!({
        "updated_time": time(row.updated),
        "creation_time": time(row.created),
        "logical_resource_id": row.name,
        "resource_name": row.name,
        "physical_resource_id": row.physical_id.as_deref().unwrap_or_default(),
        "resource_status": row.resource_status(),
        "resource_status_reason": row.reason,
        "resource_type": row.kind,
        "links": [
            link(url(cloud, stack, &format!("/resources/{}", row.name)), "self"),
            link(url(cloud, stack, ""), "stack"),
        ],
        "required_by": stack.required_by(&row.name),
    })
}

/// An event; `root` adds the link that a listing over nested stacks has.
pub(super) fn event(cloud: &Cloud, stack: &Stack, event: &Event, root: bool) -> Value {
    let resource = url(cloud, stack, &format!("/resources/{}", event.resource_name));
    let mut links = vec![
        link(format!("{resource}/events/{}", event.id), "self"),
        link(resource, "resource"),
        link(url(cloud, stack, ""), "stack"),
    ];
    if root {
        links.push(link(url(cloud, stack, ""), "root_stack"));
    }
    json!({
        "id": event.id,
        "links": links,
        "event_time": time(event.at),
        "logical_resource_id": event.resource_name,
        "resource_name": event.resource_name,
        "physical_resource_id": event.physical_id,
        "resource_status": event.status,
        "resource_status_reason": event.reason,
    })
}

/// `limit` of a query.
pub(super) fn limit(query: &Query) -> Result<usize, super::failure::Failure> {
    match query.get("limit") {
        None => Ok(usize::MAX),
        Some(text) => text.parse().map_err(|_| {
            super::failure::Failure::new("HTTPBadRequest", "Only integer is acceptable by 'limit'.")
        }),
    }
}

/// One page: what follows the item with the id `marker`, at most `limit`.
pub(super) fn page<T>(
    items: Vec<T>,
    query: &Query,
    id: impl Fn(&T) -> &str,
) -> Result<Vec<T>, super::failure::Failure> {
    let limit = limit(query)?;
    let start = query
        .get("marker")
        .and_then(|m| items.iter().position(|i| id(i) == m))
        .map_or(0, |n| n + 1);
    Ok(items.into_iter().skip(start).take(limit).collect())
}
