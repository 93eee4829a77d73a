//! What each resource type does with the other services.

mod cinder;
mod neutron;
mod nova;
mod octavia;
mod security;
mod signal;
mod simple;

use serde_json::{Map, Value, json};

use super::client::Client;
use super::failure::Failure;
use super::model::Resource;
use super::{Heat, lookup};
use crate::openstack::Cloud;

pub(super) use signal::new_entry as signal_entry;

/// The stack a resource is in.
#[derive(Debug, Clone)]
pub(super) struct Home {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) project_id: String,
    pub(super) user_project_id: String,
}

/// What a plugin works with: one resource with its resolved properties.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) heat: &'a Heat,
    pub(super) cloud: &'a Cloud,
    pub(super) client: Client,
    pub(super) home: Home,
    pub(super) resource: Resource,
}

/// A resource that was created: its physical id and private data.
#[derive(Debug, Default)]
pub(super) struct Created {
    pub(super) id: String,
    pub(super) data: Map<String, Value>,
}

impl Created {
    fn id(id: impl Into<String>) -> Option<Self> {
        Some(Self {
            id: id.into(),
            data: Map::new(),
        })
    }

    fn of(body: &Value, key: &str) -> Result<Option<Self>, Failure> {
        let id = body.pointer(&format!("/{key}/id")).and_then(Value::as_str);
        id.map(Self::id)
            .ok_or_else(|| Failure::new("Error", format!("no id in {body}")))
    }
}

impl Context<'_> {
    /// A property that is set.
    fn get(&self, name: &str) -> Option<&Value> {
        self.resource.properties.get(name).filter(|v| !v.is_null())
    }

    fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn id(&self) -> &str {
        self.resource.physical_id.as_deref().unwrap_or_default()
    }

    /// The name given, or `stack-resource-random`.
    fn name(&self) -> String {
        match self.text("name") {
            "" => physical_name(&self.resource),
            name => name.to_owned(),
        }
    }

    /// The id of an object that a property names by id or name.
    async fn find(&self, constraint: &str, value: &str) -> Result<String, Failure> {
        lookup::find(&self.client, constraint, value).await
    }

    /// A request body from properties: those in `names` that are set, some under another name, with references resolved.
    async fn body(&self, names: &[(&str, &str, &str)]) -> Result<Map<String, Value>, Failure> {
        let mut out = Map::new();
        for (property, field, constraint) in names {
            let Some(value) = self.get(property) else {
                continue;
            };
            let value = match (constraint.is_empty(), value) {
                (false, Value::String(text)) if !text.is_empty() => {
                    json!(self.find(constraint, text).await?)
                }
                (false, Value::String(_)) => continue,
                _ => value.clone(),
            };
            out.insert((*field).to_owned(), value);
        }
        if let Some(Value::Object(extra)) = self.get("value_specs") {
            out.extend(extra.clone());
        }
        Ok(out)
    }
}

/// The name Heat makes for a resource without one.
pub(super) fn physical_name(resource: &Resource) -> String {
    resource
        .data
        .get("physical_name")
        .and_then(Value::as_str)
        .unwrap_or(&resource.name)
        .to_owned()
}

/// Checks across properties, before anything is created.
pub(super) fn validate(
    kind: &str,
    name: &str,
    properties: &Map<String, Value>,
) -> Result<(), Failure> {
    match kind {
        "OS::Nova::Server" => nova::validate(name, properties),
        "OS::Heat::WaitConditionHandle" => signal::validate(properties),
        _ => Ok(()),
    }
}

/// Starts the creation. `None`: not possible just now, try again.
pub(super) async fn create(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    match cx.resource.kind.as_str() {
        "OS::Neutron::SecurityGroup" => security::create_group(cx).await,
        "OS::Neutron::SecurityGroupRule" => security::create_rule(cx).await,
        kind if kind.starts_with("OS::Neutron::") => neutron::create(cx).await,
        "OS::Nova::Server" => nova::create(cx).await,
        "OS::Nova::ServerGroup" => nova::create_group(cx).await,
        kind if kind.starts_with("OS::Octavia::") => octavia::create(cx).await,
        kind if kind.starts_with("OS::Cinder::") => cinder::create(cx).await,
        "OS::Heat::WaitConditionHandle" => signal::create_handle(cx).await,
        "OS::Heat::WaitCondition" => Ok(signal::create_condition(cx)),
        _ => Ok(Some(simple::create(cx))),
    }
}

/// Whether the creation has finished.
pub(super) async fn created(cx: &Context<'_>) -> Result<bool, Failure> {
    match cx.resource.kind.as_str() {
        "OS::Nova::Server" => nova::created(cx).await,
        kind if kind.starts_with("OS::Octavia::") => octavia::settled(cx).await,
        kind if kind.starts_with("OS::Cinder::") => cinder::created(cx).await,
        "OS::Heat::WaitCondition" => signal::received(cx),
        "OS::Heat::TestResource" => simple::settled(cx, "create"),
        _ => Ok(true),
    }
}

/// What an update has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing in the cloud.
    None,
    /// An in-place update.
    InPlace,
    /// A new resource in the place of the old one.
    Replace,
}

/// Decides by the names of the properties that differ.
pub(super) fn change(
    kind: &str,
    changed: &[&str],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Change {
    if changed.is_empty() {
        return Change::None;
    }
    let schema = super::schema::resource_type(kind);
    let fixed = |name: &&str| {
        !schema
            .and_then(|s| s.properties.get(*name))
            .is_some_and(|p| p.update_allowed)
    };
    if changed.iter().any(fixed) {
        return Change::Replace;
    }
    match kind {
        "OS::Nova::Server" => nova::change(changed, new),
        "OS::Heat::TestResource" if new.get("update_replace") == Some(&json!(true)) => {
            Change::Replace
        }
        "OS::Neutron::Port" if changed.contains(&"mac_address") => Change::Replace,
        _ => {
            let _ = old;
            Change::InPlace
        }
    }
}

/// Starts an in-place update; the context's resource has the new properties. `None`: try again.
pub(super) async fn update(
    cx: &Context<'_>,
    changed: &[&str],
    old: &Map<String, Value>,
) -> Result<Option<()>, Failure> {
    match cx.resource.kind.as_str() {
        "OS::Neutron::SecurityGroup" => security::update_group(cx, changed).await.map(Some),
        kind if kind.starts_with("OS::Neutron::") => neutron::update(cx, changed).await.map(Some),
        "OS::Nova::Server" => nova::update(cx, changed, old).await.map(Some),
        kind if kind.starts_with("OS::Octavia::") => octavia::update(cx, changed).await,
        kind if kind.starts_with("OS::Cinder::") => cinder::update(cx, changed).await.map(Some),
        _ => Ok(Some(())),
    }
}

/// Whether the update has finished.
pub(super) async fn updated(cx: &Context<'_>) -> Result<bool, Failure> {
    match cx.resource.kind.as_str() {
        kind if kind.starts_with("OS::Octavia::") => octavia::settled(cx).await,
        "OS::Heat::WaitCondition" => signal::received(cx),
        "OS::Heat::TestResource" => simple::settled(cx, "update"),
        _ => Ok(true),
    }
}

/// Before a failed or changed resource gets a replacement: frees what both would hold.
pub(super) async fn prepare_replace(cx: &Context<'_>) {
    if cx.resource.kind == "OS::Nova::Server" {
        nova::detach_ports(cx).await;
    }
}

/// Starts the deletion. `false`: not possible just now, try again.
pub(super) async fn delete(cx: &Context<'_>) -> Result<bool, Failure> {
    match cx.resource.kind.as_str() {
        "OS::Neutron::SecurityGroup" | "OS::Neutron::SecurityGroupRule" => {
            security::delete(cx).await
        }
        kind if kind.starts_with("OS::Neutron::") => neutron::delete(cx).await,
        "OS::Nova::Server" => nova::delete(cx, "servers").await,
        "OS::Nova::ServerGroup" => nova::delete(cx, "os-server-groups").await,
        kind if kind.starts_with("OS::Octavia::") => octavia::delete(cx).await,
        kind if kind.starts_with("OS::Cinder::") => cinder::delete(cx).await,
        "OS::Heat::WaitConditionHandle" => signal::delete_handle(cx).await,
        _ => Ok(true),
    }
}

/// Whether the deletion has finished.
pub(super) async fn deleted(cx: &Context<'_>) -> Result<bool, Failure> {
    match cx.resource.kind.as_str() {
        "OS::Nova::Server" => nova::deleted(cx).await,
        kind if kind.starts_with("OS::Octavia::") => octavia::deleted(cx).await,
        kind if kind.starts_with("OS::Cinder::") => cinder::deleted(cx).await,
        "OS::Heat::TestResource" => simple::settled(cx, "delete"),
        _ => Ok(true),
    }
}

/// The live object, for attributes: what its service shows.
pub(super) async fn live(cx: &Context<'_>) -> Result<Value, Failure> {
    if cx.resource.physical_id.is_none() {
        return Ok(Value::Null);
    }
    match cx.resource.kind.as_str() {
        "OS::Nova::Server" => nova::live(cx).await,
        "OS::Nova::ServerGroup" => Ok(cx
            .client
            .get(&format!("/compute/v2.1/os-server-groups/{}", cx.id()))
            .await?["server_group"]
            .clone()),
        kind if kind.starts_with("OS::Neutron::") => neutron::live(cx).await,
        kind if kind.starts_with("OS::Octavia::") => octavia::live(cx).await,
        kind if kind.starts_with("OS::Cinder::") => cinder::live(cx).await,
        "OS::Heat::WaitConditionHandle" | "OS::Heat::WaitCondition" => signal::live(cx).await,
        _ => Ok(simple::live(&cx.resource)),
    }
}

/// One attribute out of the live object.
pub(super) fn attribute(resource: &Resource, live: &Value, name: &str) -> Value {
    match (resource.kind.as_str(), name) {
        (_, "show") => live.clone(),
        ("OS::Nova::Server", name) => nova::attribute(live, name),
        ("OS::Octavia::LoadBalancer", "pools") | (_, _) => {
            live.get(name).cloned().unwrap_or(Value::Null)
        }
    }
}

/// What `get_resource` gives.
pub(super) fn reference(resource: &Resource) -> Value {
    match resource.kind.as_str() {
        "OS::Heat::RandomString" => simple::live(resource)["value"].clone(),
        "OS::Heat::None"
        | "OS::Heat::Value"
        | "OS::Heat::WaitCondition"
        | "OS::Heat::TestResource" => {
            json!(physical_name(resource))
        }
        _ => resource
            .physical_id
            .as_deref()
            .map_or_else(|| json!(physical_name(resource)), |id| json!(id)),
    }
}
