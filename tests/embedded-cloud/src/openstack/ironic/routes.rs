//! The paths of the API.

use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use super::super::ask::{Answer, Answers, Ask};
use super::super::listing::{Page, matches, next_query, select};
use super::super::{ApiError, Microversion, ServiceKind, seed};
use super::{Ironic, Node};

const NEWEST: u32 = 111;

fn fault(status: StatusCode, message: impl Into<String>) -> ApiError {
    ApiError::new(ServiceKind::Ironic, status, "Client", message)
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, false)
}

impl Answers for Ironic {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        let version = json!({
            "id": "v1", "links": [{"href": format!("{base}/v1/"), "rel": "self"}], "status": "CURRENT", "min_version": "1.1",
            "version": format!("1.{NEWEST}"),
        });
        match path {
            [] if method == Method::GET => Some(Answer::json(
                200,
                json!({
                    "name": "OpenStack Ironic API",
                    "description": "Ironic is an OpenStack project which enables the provision and management of baremetal machines.",
                    "default_version": version, "versions": [version],
                }),
            )),
            ["v1"] if method == Method::GET => {
                Some(Answer::json(200, json!({"id": "v1", "version": version})))
            }
            _ => None,
        }
    }

    fn decorate(&self, version: Microversion, headers: &mut HeaderMap) {
        headers.insert(
            "x-openstack-ironic-api-minimum-version",
            HeaderValue::from_static("1.1"),
        );
        headers.insert(
            "x-openstack-ironic-api-maximum-version",
            HeaderValue::from_static("1.111"),
        );
        let minor = asked(version);
        if let Ok(value) = HeaderValue::from_str(&format!("1.{minor}")) {
            headers.insert("x-openstack-ironic-api-version", value);
        }
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        self.route(ask).or_else(|error| {
            // The message is JSON in a string.
            let inner =
                json!({"faultcode": "Client", "faultstring": error.message(), "debuginfo": null});
            let body = json!({"error_message": inner.to_string()});
            Ok(Answer::json(error.status().as_u16(), body))
        })
    }
}

impl Ironic {
    fn route(&self, ask: &Ask) -> Result<Answer, ApiError> {
        if ask.version != Microversion::default()
            && !ask.version.latest
            && (ask.version.major != 1 || ask.version.minor > NEWEST)
        {
            let text = format!(
                "Version {}.{} was requested but the minor version is not supported by this service. The supported version range \
                 is: [1.1, 1.{NEWEST}].",
                ask.version.major, ask.version.minor
            );
            return Err(fault(StatusCode::NOT_ACCEPTABLE, text));
        }
        match (&ask.method, ask.segments().as_slice()) {
            (&Method::GET, ["v1", "nodes"]) => self.list(
                ask,
                ask.param("detail")
                    .is_some_and(|v| v.eq_ignore_ascii_case("true")),
            ),
            (&Method::GET, ["v1", "nodes", "detail"]) => self.list(ask, true),
            (&Method::GET, ["v1", "nodes", id]) => {
                let node = self.find(ask, id)?;
                Ok(Answer::json(200, full(&ask.base, &node)))
            }
            (&Method::GET, ["v1", "nodes", id, "states"]) => {
                let node = self.find(ask, id)?;
                Ok(Answer::json(
                    200,
                    json!({
                        "power_state": node.power_state, "target_power_state": null, "provision_state": node.provision_state,
                        "target_provision_state": node.target_provision_state,
                        "provision_updated_at": time(node.provision_updated_at), "last_error": null,
                        "console_enabled": false, "raid_config": {}, "target_raid_config": {},
                    }),
                ))
            }
            (&Method::GET, ["v1", "nodes", id, "traits"]) => Ok(Answer::json(
                200,
                json!({"traits": self.find(ask, id)?.traits}),
            )),
            (&Method::PUT, ["v1", "nodes", id, "traits", name]) if ask.caller.is_admin => {
                let node = self.find(ask, id)?;
                self.state.write(|s| {
                    if let Some(node) = s
                        .nodes
                        .get_mut(&node.uuid)
                        .filter(|n| !n.traits.iter().any(|t| t == name))
                    {
                        node.traits.push((*name).to_owned());
                    }
                });
                Ok(Answer::empty(204))
            }
            (&(Method::PUT | Method::DELETE), ["v1", "nodes", id, "maintenance"])
                if ask.caller.is_admin =>
            {
                let node = self.find(ask, id)?;
                let on = ask.method == Method::PUT;
                self.state.write(|s| {
                    if let Some(node) = s.nodes.get_mut(&node.uuid) {
                        node.maintenance = on;
                    }
                });
                Ok(Answer::empty(202))
            }
            (&Method::GET, ["v1", "ports"]) => {
                let ports: Vec<Value> = if ask.caller.is_admin {
                    self.state
                        .read(|s| s.nodes.values().map(|node| port(&ask.base, node)).collect())
                } else {
                    Vec::new()
                };
                Ok(Answer::json(200, json!({"ports": ports})))
            }
            _ => Err(ask.unknown()),
        }
    }
}

fn asked(version: Microversion) -> u32 {
    if version.latest {
        NEWEST
    } else if version == Microversion::default() {
        1
    } else {
        version.minor
    }
}

fn port(base: &str, node: &Node) -> Value {
    let uuid = uuid::Uuid::new_v5(
        &uuid::Uuid::NAMESPACE_OID,
        format!("port {}", node.name).as_bytes(),
    )
    .to_string();
    let links = json!([
        {"href": format!("{base}/v1/ports/{uuid}"), "rel": "self"},
        {"href": format!("{base}/ports/{uuid}"), "rel": "bookmark"},
    ]);
    json!({"uuid": uuid, "address": node.address, "links": links})
}

fn both(base: &str, path: &str) -> Value {
    json!([
        {"href": format!("{base}/v1/{path}"), "rel": "self"},
        {"href": format!("{base}/{path}"), "rel": "bookmark"},
    ])
}

fn brief(base: &str, node: &Node, version: u32) -> Value {
    let mut view = json!({
        "uuid": node.uuid, "instance_uuid": node.instance_uuid, "maintenance": node.maintenance,
        "power_state": node.power_state, "provision_state": node.provision_state,
        "links": both(base, &format!("nodes/{}", node.uuid)),
    });
    if version >= 5 {
        view["name"] = node.name.clone().into();
    }
    if version < 2 && node.provision_state == "available" {
        view["provision_state"] = Value::Null;
    }
    view
}

fn full(base: &str, node: &Node) -> Value {
    let path = format!("nodes/{}", node.uuid);
    let mut view = json!({
        "uuid": node.uuid, "created_at": time(node.created_at), "updated_at": time(node.updated_at),
        "clean_step": {}, "conductor_group": "", "console_enabled": false, "deploy_step": {}, "driver": "fake-hardware",
        "driver_info": {}, "driver_internal_info": {}, "extra": {}, "instance_info": node.instance_info,
        "instance_uuid": node.instance_uuid, "maintenance": node.maintenance, "name": node.name, "network_data": {},
        "network_interface": "noop", "owner": seed::ADMIN_PROJECT, "power_state": node.power_state,
        "properties": node.properties, "protected": false, "provision_state": node.provision_state,
        "provision_updated_at": time(node.provision_updated_at), "raid_config": {}, "resource_class": node.resource_class,
        "retired": false, "storage_interface": "noop", "target_provision_state": node.target_provision_state,
        "target_raid_config": {}, "traits": node.traits, "links": both(base, &path), "conductor": "127.0.0.1",
    });
    let empty = [
        "automated_clean",
        "boot_mode",
        "description",
        "fault",
        "inspection_finished_at",
        "inspection_started_at",
        "last_error",
        "maintenance_reason",
        "protected_reason",
        "reservation",
        "retired_reason",
        "secure_boot",
        "target_power_state",
        "allocation_uuid",
        "chassis_uuid",
    ];
    for key in empty {
        view[key] = Value::Null;
    }
    view["lessee"] = node.lessee().into();
    for kind in [
        "bios",
        "boot",
        "console",
        "deploy",
        "inspect",
        "management",
        "power",
        "raid",
        "rescue",
        "vendor",
    ] {
        view[format!("{kind}_interface")] = "fake".into();
    }
    for kind in ["ports", "states", "portgroups", "volume"] {
        view[kind] = both(base, &format!("{path}/{kind}"));
    }
    view
}

/// An operator sees every node, a project those on lease to it.
fn shows(ask: &Ask, node: &Node) -> bool {
    ask.caller.is_admin || node.lessee() == Some(ask.caller.project_id.as_str())
}

impl Ironic {
    fn find(&self, ask: &Ask, id: &str) -> Result<Node, ApiError> {
        let found = self.state.read(|s| {
            s.nodes
                .values()
                .find(|n| n.uuid == id || n.name == id)
                .cloned()
        });
        found.filter(|node| shows(ask, node)).ok_or_else(|| {
            fault(
                StatusCode::NOT_FOUND,
                format!("Node {id} could not be found."),
            )
        })
    }

    fn list(&self, ask: &Ask, detail: bool) -> Result<Answer, ApiError> {
        const CONTROL: [&str; 6] = [
            "limit", "marker", "fields", "sort_key", "sort_dir", "detail",
        ];
        let mut nodes: Vec<Node> = self.state.read(|s| {
            s.nodes
                .values()
                .filter(|node| shows(ask, node))
                .cloned()
                .collect()
        });
        for (key, value) in ask
            .query
            .iter()
            .filter(|(key, _)| !CONTROL.contains(&key.as_str()))
        {
            nodes.retain(|node| match key.as_str() {
                "associated" => node.instance_uuid.is_some() == value.eq_ignore_ascii_case("true"),
                key => matches(&full(&ask.base, node)[key], value),
            });
        }
        let fields: Vec<&str> = ask
            .param("fields")
            .map(|list| list.split(',').collect())
            .unwrap_or_default();
        let version = asked(ask.version);
        let views = nodes.iter().map(|node| match (detail, fields.is_empty()) {
            (false, true) => brief(&ask.base, node, version),
            (_, no_fields) => {
                let mut wanted = fields.clone();
                if !no_fields {
                    wanted.extend(["links", "uuid"]);
                }
                select(full(&ask.base, node), &wanted)
            }
        });
        let page = Page::from_query(&ask.query).map_err(|text| {
            fault(
                StatusCode::BAD_REQUEST,
                format!("Invalid input for field/attribute limit. Value: '{text}'."),
            )
        })?;
        let (views, more) = page.cut(views.collect(), "uuid").map_err(|marker| {
            fault(
                StatusCode::NOT_FOUND,
                format!("Node {marker} could not be found."),
            )
        })?;
        let last = views
            .last()
            .and_then(|item| item["uuid"].as_str())
            .map(str::to_owned);
        let mut body = json!({"nodes": views});
        if let (true, Some(last)) = (more, last) {
            body["next"] =
                format!("{}/v1/nodes?{}", ask.base, next_query(&ask.query, &last)).into();
        }
        Ok(Answer::json(200, body))
    }
}
