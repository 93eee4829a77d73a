//! Servers and server groups.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Change, Context, Created};
use crate::openstack::heat::failure::Failure;
use crate::openstack::heat::functions::as_text;

const SERVERS: &str = "/compute/v2.1/servers";

pub(super) fn validate(name: &str, properties: &Map<String, Value>) -> Result<(), Failure> {
    let set = |key: &str| match properties.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    };
    if !set("image") && !set("block_device_mapping") && !set("block_device_mapping_v2") {
        return Err(Failure::invalid(format!(
            "Neither image nor bootable volume is specified for instance {name}"
        )));
    }
    for key in [
        "block_device_mapping",
        "personality",
        "reservation_id",
        "deployment_swift_data",
    ] {
        let empty = properties
            .get(key)
            .is_none_or(|v| v.as_object().is_some_and(Map::is_empty));
        if set(key) && !empty {
            return Err(Failure::unsupported(format!(
                "the property {key} of OS::Nova::Server"
            )));
        }
    }
    let format = properties
        .get("user_data_format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if set("user_data") && format != "RAW" {
        return Err(Failure::unsupported(format!("user_data_format {format}")));
    }
    Ok(())
}

async fn networks(cx: &Context<'_>) -> Result<Value, Failure> {
    let Some(Value::Array(list)) = cx.get("networks") else {
        return Ok(json!("auto"));
    };
    let mut out = Vec::new();
    for item in list {
        let text = |key: &str| {
            item.get(key)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        match text("allocate_network") {
            Some("none") => return Ok(json!("none")),
            Some(_) => return Ok(json!("auto")),
            None => {}
        }
        for key in ["subnet", "floating_ip", "port_extra_properties"] {
            if item
                .get(key)
                .is_some_and(|v| !v.is_null() && *v != json!(""))
            {
                return Err(Failure::unsupported(format!(
                    "networks.{key} of OS::Nova::Server"
                )));
            }
        }
        let mut entry = Map::new();
        if let Some(port) = text("port") {
            entry.insert(
                "port".to_owned(),
                json!(cx.find("neutron.port", port).await?),
            );
        } else if let Some(network) = text("network").or_else(|| text("uuid")) {
            entry.insert(
                "uuid".to_owned(),
                json!(cx.find("neutron.network", network).await?),
            );
            if let Some(address) = text("fixed_ip") {
                entry.insert("fixed_ip".to_owned(), json!(address));
            }
        }
        if let Some(tag) = text("tag") {
            entry.insert("tag".to_owned(), json!(tag));
        }
        out.push(Value::Object(entry));
    }
    Ok(Value::Array(out))
}

async fn block_devices(cx: &Context<'_>) -> Result<Option<Value>, Failure> {
    let Some(Value::Array(list)) = cx.get("block_device_mapping_v2") else {
        return Ok(None);
    };
    let mut out = Vec::new();
    for item in list {
        let text = |key: &str| {
            item.get(key)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        let mut entry = Map::new();
        if let Some(id) = text("volume_id") {
            entry.insert("source_type".to_owned(), json!("volume"));
            entry.insert("destination_type".to_owned(), json!("volume"));
            entry.insert("uuid".to_owned(), json!(id));
        } else if let Some(image) = text("image").or_else(|| text("image_id")) {
            entry.insert("source_type".to_owned(), json!("image"));
            entry.insert("destination_type".to_owned(), json!("volume"));
            entry.insert(
                "uuid".to_owned(),
                json!(cx.find("glance.image", image).await?),
            );
        } else if let Some(id) = text("snapshot_id") {
            entry.insert("source_type".to_owned(), json!("snapshot"));
            entry.insert("destination_type".to_owned(), json!("volume"));
            entry.insert("uuid".to_owned(), json!(id));
        } else {
            entry.insert("source_type".to_owned(), json!("blank"));
            let volume = item.get("volume_size").is_some_and(|v| !v.is_null());
            entry.insert(
                "destination_type".to_owned(),
                json!(if volume { "volume" } else { "local" }),
            );
        }
        for key in [
            "boot_index",
            "volume_size",
            "delete_on_termination",
            "device_name",
            "device_type",
            "disk_bus",
            "volume_type",
        ] {
            if let Some(value) = item.get(key).filter(|v| !v.is_null()) {
                entry.insert(key.to_owned(), value.clone());
            }
        }
        out.push(Value::Object(entry));
    }
    Ok(Some(Value::Array(out)))
}

fn metadata(cx: &Context<'_>) -> Value {
    let map = cx
        .get("metadata")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    Value::Object(
        map.into_iter()
            .map(|(k, v)| (k, json!(as_text(&v))))
            .collect(),
    )
}

pub(super) async fn create(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let mut server = json!({
        "name": cx.name(),
        "flavorRef": cx.find("nova.flavor", cx.text("flavor")).await?,
        "min_count": 1,
        "max_count": 1,
        "networks": networks(cx).await?,
        "metadata": metadata(cx),
    });
    server["imageRef"] = match cx.text("image") {
        "" => json!(""),
        image => json!(cx.find("glance.image", image).await?),
    };
    for (property, field) in [
        ("key_name", "key_name"),
        ("availability_zone", "availability_zone"),
        ("config_drive", "config_drive"),
        ("tags", "tags"),
        ("admin_pass", "adminPass"),
        ("diskConfig", "OS-DCF:diskConfig"),
    ] {
        if let Some(value) = cx.get(property) {
            server[field] = value.clone();
        }
    }
    if !cx.text("user_data").is_empty() {
        server["user_data"] = json!(STANDARD.encode(cx.text("user_data")));
    }
    if let Some(Value::Array(groups)) = cx.get("security_groups")
        && !groups.is_empty()
    {
        let groups: Vec<_> = groups.iter().map(|g| json!({"name": g})).collect();
        server["security_groups"] = json!(groups);
    }
    if let Some(devices) = block_devices(cx).await? {
        server["block_device_mapping_v2"] = devices;
    }
    let mut body = json!({"server": server});
    if let Some(hints) = cx.get("scheduler_hints") {
        body["os:scheduler_hints"] = hints.clone();
    }
    Created::of(&cx.client.post(SERVERS, body).await?, "server")
}

pub(super) async fn created(cx: &Context<'_>) -> Result<bool, Failure> {
    let body = cx.client.get(&format!("{SERVERS}/{}", cx.id())).await?;
    let server = &body["server"];
    match server["status"].as_str().unwrap_or_default() {
        "ACTIVE" => Ok(true),
        "ERROR" => Err(in_error(server)),
        "BUILD" | "HARD_REBOOT" | "PASSWORD" | "REBOOT" | "RESCUE" | "RESIZE" | "REVERT_RESIZE"
        | "SHUTOFF" | "SUSPENDED" | "VERIFY_RESIZE" | "REBUILD" => Ok(false),
        other => Err(Failure::new(
            "ResourceUnknownStatus",
            format!("{} - Unknown status {other} due to \"Unknown\"", cx.name()),
        )),
    }
}

fn in_error(server: &Value) -> Failure {
    let message = server
        .pointer("/fault/message")
        .and_then(Value::as_str)
        .unwrap_or("Unknown");
    let code = server
        .pointer("/fault/code")
        .map_or_else(|| "Unknown".to_owned(), as_text);
    Failure::new(
        "ResourceInError",
        format!("Went to status ERROR due to \"Message: {message}, Code: {code}\""),
    )
}

pub(super) fn change(changed: &[&str], new: &Map<String, Value>) -> Change {
    let policy = |key: &str| {
        new.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut in_place = false;
    for name in changed {
        match *name {
            "user_data" if policy("user_data_update_policy") == "IGNORE" => {}
            "user_data" => return Change::Replace,
            "image" if policy("image_update_policy") == "REPLACE" => return Change::Replace,
            "flavor" if policy("flavor_update_policy") == "REPLACE" => return Change::Replace,
            "image_update_policy" | "flavor_update_policy" | "user_data_update_policy" => {}
            _ => in_place = true,
        }
    }
    if in_place {
        Change::InPlace
    } else {
        Change::None
    }
}

pub(super) async fn update(
    cx: &Context<'_>,
    changed: &[&str],
    old: &Map<String, Value>,
) -> Result<(), Failure> {
    let path = format!("{SERVERS}/{}", cx.id());
    for name in changed {
        match *name {
            "name" => {
                cx.client
                    .put(&path, json!({"server": {"name": cx.name()}}))
                    .await?;
            }
            "metadata" => {
                let new = metadata(cx);
                let empty = Map::new();
                let before = old
                    .get("metadata")
                    .and_then(Value::as_object)
                    .unwrap_or(&empty);
                for key in before.keys().filter(|k| new.get(k.as_str()).is_none()) {
                    cx.client.delete(&format!("{path}/metadata/{key}")).await?;
                }
                cx.client
                    .post(&format!("{path}/metadata"), json!({"metadata": new}))
                    .await?;
            }
            "tags" => {
                let tags = cx.get("tags").cloned().unwrap_or_else(|| json!([]));
                cx.client
                    .put(&format!("{path}/tags"), json!({"tags": tags}))
                    .await?;
            }
            "user_data"
            | "image_update_policy"
            | "flavor_update_policy"
            | "user_data_update_policy"
            | "software_config_transport" => {}
            other => {
                return Err(Failure::unsupported(format!(
                    "an in-place update of {other} of OS::Nova::Server"
                )));
            }
        }
    }
    Ok(())
}

/// Frees the ports that a replacement will take.
pub(super) async fn detach_ports(cx: &Context<'_>) {
    for item in cx
        .get("networks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if let Some(port) = item.get("port").and_then(Value::as_str) {
            let path = format!("{SERVERS}/{}/os-interface/{port}", cx.id());
            if let Err(failure) = cx.client.delete(&path).await {
                tracing::debug!(%port, message = failure.message, "port not detached");
            }
        }
    }
}

pub(super) async fn delete(cx: &Context<'_>, list: &str) -> Result<bool, Failure> {
    match cx
        .client
        .delete(&format!("/compute/v2.1/{list}/{}", cx.id()))
        .await
    {
        Ok(_) => Ok(true),
        Err(failure) if failure.status == StatusCode::CONFLICT => Ok(false),
        Err(failure) => Err(failure),
    }
}

pub(super) async fn deleted(cx: &Context<'_>) -> Result<bool, Failure> {
    match cx.client.get(&format!("{SERVERS}/{}", cx.id())).await {
        Ok(body) => Ok(matches!(
            body["server"]["status"].as_str(),
            Some("DELETED" | "SOFT_DELETED")
        )),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(true),
        Err(failure) => Err(failure),
    }
}

pub(super) async fn live(cx: &Context<'_>) -> Result<Value, Failure> {
    let mut server = cx.client.get(&format!("{SERVERS}/{}", cx.id())).await?["server"].clone();
    server["os_collect_config"] = json!({});
    Ok(server)
}

fn addresses(live: &Value) -> Vec<(&String, Vec<&str>)> {
    let networks = live.get("addresses").and_then(Value::as_object);
    let mut out = Vec::new();
    for (name, items) in networks.into_iter().flatten() {
        out.push((
            name,
            items
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|a| a["addr"].as_str())
                .collect(),
        ));
    }
    out
}

pub(super) fn attribute(live: &Value, name: &str) -> Value {
    match name {
        "first_address" => json!(
            addresses(live)
                .first()
                .and_then(|(_, a)| a.first().copied())
                .unwrap_or_default()
        ),
        "networks" => Value::Object(
            addresses(live)
                .into_iter()
                .map(|(n, a)| (n.clone(), json!(a)))
                .collect(),
        ),
        "instance_name" => live
            .get("OS-EXT-SRV-ATTR:instance_name")
            .cloned()
            .unwrap_or(Value::Null),
        "console_urls" => json!({}),
        _ => live.get(name).cloned().unwrap_or(Value::Null),
    }
}

pub(super) async fn create_group(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let policies = cx
        .get("policies")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut group = json!({"name": cx.name(), "policy": policies.first()});
    if let Some(rules) = cx.get("rules") {
        group["rules"] = rules.clone();
    }
    let body = cx
        .client
        .post(
            "/compute/v2.1/os-server-groups",
            json!({"server_group": group}),
        )
        .await?;
    Created::of(&body, "server_group")
}
