//! Accepts new servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, Ask};
use super::super::glance::Glance;
use super::super::neutron::Neutron;
use super::super::{ApiError, Cloud};
use super::Nova;
use super::model::{Disk, Flavor, Nic, Server, bad, conflict, forbidden};
use super::routes::{asked_version, links};
use super::text::{repr, shown};

const KNOWN: [&str; 24] = [
    "name",
    "flavorRef",
    "imageRef",
    "key_name",
    "user_data",
    "config_drive",
    "networks",
    "security_groups",
    "metadata",
    "tags",
    "description",
    "availability_zone",
    "block_device_mapping_v2",
    "block_device_mapping",
    "min_count",
    "max_count",
    "adminPass",
    "personality",
    "OS-DCF:diskConfig",
    "accessIPv4",
    "accessIPv6",
    "hostname",
    "return_reservation_id",
    "trusted_image_certificates",
];

fn invalid(field: &str, value: &Value, why: &str) -> ApiError {
    bad(format!(
        "Invalid input for field/attribute {field}. Value: {}. {why}",
        shown(value)
    ))
}

struct Parsed {
    flavor: Flavor,
    image: String,
    image_properties: BTreeMap<String, String>,
    nics: Vec<Nic>,
    disks: Vec<Disk>,
    group: Option<String>,
}

/// Accepts `POST /servers`.
pub(super) fn create(nova: &Arc<Nova>, ask: &Ask) -> Result<Answer, ApiError> {
    let Some(body) = ask.object("server") else {
        return Err(invalid(
            "object",
            &ask.body,
            "'server' is a required property",
        ));
    };
    check_schema(ask, body)?;
    let parsed = look_up(nova, ask, body)?;
    let number = |key: &str| {
        body.get(key)
            .and_then(|v| v.as_u64().or_else(|| v.as_str()?.parse().ok()))
    };
    let min = number("min_count").unwrap_or(1).max(1);
    let count = number("max_count").unwrap_or(min).max(min);
    let project = ask.caller.project_id.clone();
    let (cloud, now) = (&ask.cloud, ask.cloud.now());
    let group_limit = nova
        .state
        .read(|s| s.limit(&project, "server_group_members"));
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").unwrap_or_default();
    let strings = |key: &str| -> BTreeMap<String, String> {
        let map = body.get(key).and_then(Value::as_object);
        map.map(|m| m.iter().map(|(k, v)| (k.clone(), shown(v))).collect())
            .unwrap_or_default()
    };
    let reservation_id = format!("r-{}", &cloud.hex()[..8]);
    let ids = nova.state.write(|state| {
        state.reserve(&project, &parsed.flavor, count)?;
        if let Some(group) = parsed
            .group
            .as_ref()
            .and_then(|id| state.groups.get_mut(id))
            && group_limit >= 0
            && group.members.len() as u64 + count > group_limit.unsigned_abs()
        {
            return Err(forbidden("Quota exceeded, too many servers in group"));
        }
        let mut ids = Vec::new();
        for index in 1..=count {
            state.counter += 1;
            let server = Server {
                id: cloud.uuid(),
                name: if count > 1 {
                    format!("{name}-{index}")
                } else {
                    name.clone()
                },
                number: state.counter,
                project_id: project.clone(),
                user_id: ask.caller.user_id.clone(),
                vm_state: "building".to_owned(),
                task_state: Some("scheduling".to_owned()),
                flavor: parsed.flavor.clone(),
                image: parsed.image.clone(),
                image_properties: parsed.image_properties.clone(),
                key_name: text("key_name"),
                user_data: text("user_data"),
                config_drive: body
                    .get("config_drive")
                    .is_some_and(|v| v == &json!(true) || shown(v).eq_ignore_ascii_case("true")),
                metadata: strings("metadata"),
                tags: list_of_text(body.get("tags")),
                description: text("description"),
                security_groups: group_names(body),
                nics: parsed.nics.clone(),
                disks: parsed.disks.clone(),
                group: parsed.group.clone(),
                wanted_zone: text("availability_zone"),
                host: None,
                node: None,
                fault: None,
                created: now,
                updated: now,
                launched: None,
                reservation_id: reservation_id.clone(),
            };
            if let Some(group) = parsed
                .group
                .as_ref()
                .and_then(|id| state.groups.get_mut(id))
            {
                group.members.push(server.id.clone());
            }
            ids.push((server.id.clone(), server.name.clone()));
            state.servers.insert(server.id.clone(), server);
        }
        Ok(ids)
    })?;
    for (id, name) in &ids {
        cloud
            .ledger()
            .record(cloud, "server", "create", id, name, &project);
        nova.start_build(cloud, id);
    }
    let id = ids.first().map(|(id, _)| id.clone()).unwrap_or_default();
    let mut groups: Vec<Value> = group_names(body)
        .iter()
        .map(|name| json!({"name": name}))
        .collect();
    if groups.is_empty() {
        groups.push(json!({"name": "default"}));
    }
    let password = &cloud.hex()[..12];
    let view = json!({"server": {
        "id": id, "links": links(&ask.base, "servers", &id), "OS-DCF:diskConfig": "MANUAL", "security_groups": groups,
        "adminPass": password,
    }});
    Ok(Answer::json(202, view).header("location", format!("{}/v2.1/servers/{id}", ask.base)))
}

fn list_of_text(value: Option<&Value>) -> Vec<String> {
    let items = value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    items
        .iter()
        .filter_map(|v| v.as_str().map(str::to_owned))
        .collect()
}

fn group_names(body: &Map<String, Value>) -> Vec<String> {
    let items = body
        .get("security_groups")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    items
        .iter()
        .filter_map(|v| v["name"].as_str().map(str::to_owned))
        .collect()
}

fn check_schema(ask: &Ask, body: &Map<String, Value>) -> Result<(), ApiError> {
    let version = asked_version(ask)?;
    let whole = Value::Object(body.clone());
    let required: &[&str] = if version >= 37 {
        &["name", "flavorRef", "networks"]
    } else {
        &["name", "flavorRef"]
    };
    for key in required {
        if !body.contains_key(*key) {
            return Err(invalid(
                "server",
                &whole,
                &format!("'{key}' is a required property"),
            ));
        }
    }
    let too_new = |key: &str| match key {
        "description" => version < 19,
        "tags" => version < 52,
        "trusted_image_certificates" => version < 63,
        "hostname" => version < 90,
        _ => false,
    };
    for key in body.keys() {
        if !KNOWN.contains(&key.as_str()) || too_new(key) {
            let why = format!("Additional properties are not allowed ('{key}' was unexpected)");
            return Err(invalid("server", &whole, &why));
        }
    }
    let name = body.get("name").unwrap_or(&Value::Null);
    match name.as_str() {
        Some("") => return Err(invalid("name", name, "'' should be non-empty")),
        Some(text) if text.chars().count() > 255 => {
            return Err(invalid(
                "name",
                name,
                &format!("{} is too long", repr(name)),
            ));
        }
        Some(_) => {}
        None => {
            return Err(invalid(
                "name",
                name,
                &format!("{} is not of type 'string'", repr(name)),
            ));
        }
    }
    if let Some(data) = body.get("user_data").filter(|v| !v.is_null()) {
        let text = data.as_str().unwrap_or_default();
        if text.len() > 65535 {
            return Err(invalid(
                "user_data",
                data,
                &format!("{} is too long", repr(data)),
            ));
        }
        // As Python decodes it: what is not of the alphabet is skipped, the padding counts.
        let clean: String = text
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
            .collect();
        if STANDARD.decode(&clean).is_err() {
            return Err(invalid(
                "user_data",
                data,
                &format!("{} is not a 'base64'", repr(data)),
            ));
        }
    }
    Ok(())
}

fn look_up(nova: &Arc<Nova>, ask: &Ask, body: &Map<String, Value>) -> Result<Parsed, ApiError> {
    let cloud = &ask.cloud;
    let wanted = shown(body.get("flavorRef").unwrap_or(&Value::Null));
    let wanted = wanted.rsplit('/').next().unwrap_or_default().to_owned();
    let flavor = nova.state.read(|s| s.flavors.get(&wanted).cloned());
    let flavor = flavor.ok_or_else(|| bad(format!("Flavor {wanted} could not be found.")))?;
    if let Some(key) = body.get("key_name").and_then(Value::as_str) {
        let known = nova.state.read(|s| {
            s.keypairs
                .iter()
                .any(|k| k.name == key && k.user_id == ask.caller.user_id)
        });
        if !known {
            return Err(bad("Invalid key_name provided."));
        }
    }
    if let Some(zone) = body.get("availability_zone").and_then(Value::as_str)
        && zone != "nova"
        && !zone.starts_with("nova:")
    {
        return Err(bad("The requested availability zone is not available"));
    }
    let disks = disks(body.get("block_device_mapping_v2"))?;
    let boots_from_volume = disks.iter().any(|d| d.boot_index == 0);
    let image = body
        .get("imageRef")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let image_id = if image.is_empty() {
        disks.iter().find_map(|d| d.image_id.clone())
    } else {
        Some(image.clone())
    };
    if image.is_empty() && !boots_from_volume {
        return Err(bad("Missing imageRef attribute"));
    }
    let image_properties = match image_id {
        Some(id) => check_image(cloud, ask, &id, &flavor, boots_from_volume)?,
        None => BTreeMap::new(),
    };
    let hints = ask
        .body
        .get("os:scheduler_hints")
        .or_else(|| ask.body.get("OS-SCH-HNT:scheduler_hints"));
    let group = hints.and_then(|h| h["group"].as_str()).map(str::to_owned);
    if let Some(group) = &group {
        let known = nova.state.read(|s| {
            s.groups
                .get(group)
                .is_some_and(|g| g.project_id == ask.caller.project_id)
        });
        if !known {
            return Err(bad(format!("Instance group {group} could not be found.")));
        }
    }
    let nics = nics(ask, body.get("networks"))?;
    check_security_groups(ask, body)?;
    Ok(Parsed {
        flavor,
        image,
        image_properties,
        nics,
        disks,
        group,
    })
}

fn check_image(
    cloud: &Cloud,
    ask: &Ask,
    id: &str,
    flavor: &Flavor,
    from_volume: bool,
) -> Result<BTreeMap<String, String>, ApiError> {
    if uuid::Uuid::parse_str(id).is_err() {
        let value = json!(id);
        return Err(invalid(
            "imageRef",
            &value,
            &format!("'{id}' is not valid under any of the given schemas"),
        ));
    }
    let image = cloud
        .service::<Glance>()
        .image(&ask.caller, id)
        .ok_or_else(|| bad("Can not find requested image"))?;
    if image.min_ram > flavor.ram {
        return Err(bad("Flavor's memory is too small for requested image."));
    }
    if !from_volume && flavor.disk > 0 && image.min_disk > flavor.disk {
        let (own, needs) = (flavor.disk << 30, image.min_disk << 30);
        return Err(bad(format!(
            "Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is {own} bytes, minimum size \
             is {needs} bytes."
        )));
    }
    Ok(image.properties)
}

fn disks(mappings: Option<&Value>) -> Result<Vec<Disk>, ApiError> {
    let items = mappings
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut out = Vec::new();
    for item in items {
        let number = |key: &str| {
            item.get(key)
                .and_then(|v| v.as_i64().or_else(|| v.as_str()?.parse().ok()))
        };
        let source = item["source_type"].as_str().unwrap_or("volume");
        if item["destination_type"].as_str().unwrap_or("volume") == "local" {
            continue;
        }
        let uuid = item["uuid"].as_str().map(str::to_owned);
        if matches!(source, "image" | "blank") && number("volume_size").is_none() {
            return Err(bad(format!(
                "Block Device Mapping is Invalid: {source} to volume requires a volume_size."
            )));
        }
        if !matches!(source, "image" | "blank" | "volume") {
            return Err(bad(format!(
                "Block Device Mapping is Invalid: {source} is not supported by the embedded cloud."
            )));
        }
        out.push(Disk {
            volume_id: (source == "volume").then(|| uuid.clone()).flatten(),
            image_id: (source == "image").then_some(uuid).flatten(),
            size: number("volume_size").unwrap_or(0).unsigned_abs(),
            volume_type: item["volume_type"].as_str().map(str::to_owned),
            delete_on_termination: item["delete_on_termination"] == json!(true)
                || shown(&item["delete_on_termination"]) == "True",
            boot_index: number("boot_index").unwrap_or(-1),
        });
    }
    Ok(out)
}

fn nics(ask: &Ask, networks: Option<&Value>) -> Result<Vec<Nic>, ApiError> {
    let neutron = ask.cloud.service::<Neutron>();
    let caller = &ask.caller;
    let items = match networks {
        Some(Value::Array(items)) => items.as_slice(),
        Some(Value::String(text)) if text == "none" => return Ok(Vec::new()),
        _ => {
            let own = neutron.state.read(|s| {
                let own = s
                    .networks
                    .values()
                    .filter(|n| n.meta.project_id == caller.project_id);
                own.map(|n| n.meta.id.clone()).collect::<Vec<_>>()
            });
            return match own.as_slice() {
                [] => Ok(Vec::new()),
                [one] => Ok(vec![Nic {
                    network_id: Some(one.clone()),
                    port_id: None,
                    fixed_ip: None,
                    own: true,
                }]),
                _ => Err(conflict(
                    "Multiple possible networks found, use a Network ID to be more specific.",
                )),
            };
        }
    };
    let mut out = Vec::new();
    for item in items {
        let fixed_ip = item["fixed_ip"].as_str().map(str::to_owned);
        if let Some(port) = item["port"].as_str() {
            let device = neutron
                .state
                .read(|s| s.port(caller, port).map(|p| p.device_id.clone()));
            match device {
                Ok(device) if device.is_empty() => {}
                Ok(_) => return Err(conflict(format!("Port {port} is still in use."))),
                Err(_) => return Err(bad(format!("Port id {port} could not be found."))),
            }
            out.push(Nic {
                network_id: None,
                port_id: Some(port.to_owned()),
                fixed_ip,
                own: false,
            });
        } else if let Some(network) = item["uuid"].as_str() {
            let known = neutron.state.read(|s| {
                let network = s.network(caller, network).ok()?;
                Some(
                    s.subnets
                        .values()
                        .any(|subnet| subnet.network_id == network.meta.id),
                )
            });
            match known {
                None => return Err(bad(format!("Network {network} could not be found."))),
                Some(false) => {
                    return Err(bad(format!(
                        "Network {network} requires a subnet in order to boot instances on."
                    )));
                }
                Some(true) => {}
            }
            out.push(Nic {
                network_id: Some(network.to_owned()),
                port_id: None,
                fixed_ip,
                own: true,
            });
        } else {
            return Err(bad(format!(
                "Invalid input for field/attribute networks. Value: {}.",
                repr(item)
            )));
        }
    }
    Ok(out)
}

fn check_security_groups(ask: &Ask, body: &Map<String, Value>) -> Result<(), ApiError> {
    let names = group_names(body);
    let found = ask.cloud.service::<Neutron>().state.read(|s| {
        names
            .iter()
            .find(|name| {
                name.as_str() != "default" && s.group_id(&ask.caller.project_id, name).is_none()
            })
            .cloned()
    });
    match found {
        Some(name) => Err(bad(format!(
            "Unable to find security_group with name or id '{name}'"
        ))),
        None => Ok(()),
    }
}
