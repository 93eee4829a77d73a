//! `Accept: application/json;as=Table`: what `kubectl get` prints.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::resources::Resource;

/// Column: name, type, priority (1 shows with `-o wide` only).
type Column = (&'static str, &'static str, u8);

fn columns(plural: &str) -> Vec<Column> {
    let mut all: Vec<Column> = vec![("Name", "string", 0)];
    let more: &[Column] = match plural {
        "nodes" => &[
            ("Status", "string", 0),
            ("Roles", "string", 0),
            ("Age", "string", 0),
            ("Version", "string", 0),
            ("Internal-IP", "string", 1),
            ("External-IP", "string", 1),
            ("OS-Image", "string", 1),
            ("Kernel-Version", "string", 1),
            ("Container-Runtime", "string", 1),
        ],
        "pods" => &[
            ("Ready", "string", 0),
            ("Status", "string", 0),
            ("Restarts", "string", 0),
            ("Age", "string", 0),
            ("IP", "string", 1),
            ("Node", "string", 1),
            ("Nominated Node", "string", 1),
            ("Readiness Gates", "string", 1),
        ],
        "daemonsets" => &[
            ("Desired", "integer", 0),
            ("Current", "integer", 0),
            ("Ready", "integer", 0),
            ("Up-to-date", "integer", 0),
            ("Available", "integer", 0),
            ("Age", "string", 0),
        ],
        "deployments" => &[
            ("Ready", "string", 0),
            ("Up-to-date", "integer", 0),
            ("Available", "integer", 0),
            ("Age", "string", 0),
        ],
        "certificatesigningrequests" => &[
            ("Age", "string", 0),
            ("SignerName", "string", 0),
            ("Requestor", "string", 0),
            ("RequestedDuration", "string", 0),
            ("Condition", "string", 0),
        ],
        "namespaces" => &[("Status", "string", 0), ("Age", "string", 0)],
        _ => &[("Age", "string", 0)],
    };
    all.extend_from_slice(more);
    all
}

fn text(value: &Value, otherwise: &str) -> Value {
    value
        .as_str()
        .filter(|s| !s.is_empty())
        .unwrap_or(otherwise)
        .into()
}

fn condition(object: &Value, kind: &str) -> String {
    let list = object["status"]["conditions"].as_array();
    list.and_then(|l| l.iter().find(|c| c["type"] == kind))
        .and_then(|c| c["status"].as_str())
        .unwrap_or_default()
        .to_owned()
}

fn number(value: &Value) -> Value {
    value.as_u64().unwrap_or(0).into()
}

fn cells(plural: &str, o: &Value, now: DateTime<Utc>) -> Vec<Value> {
    let age = || Value::from(age(&o["metadata"]["creationTimestamp"], now));
    let status = &o["status"];
    let mut cells = vec![o["metadata"]["name"].clone()];
    match plural {
        "nodes" => {
            let mut state = match condition(o, "Ready").as_str() {
                "True" => "Ready",
                "" => "Unknown",
                _ => "NotReady",
            }
            .to_owned();
            if o["spec"]["unschedulable"] == true {
                state.push_str(",SchedulingDisabled");
            }
            let labels = o["metadata"]["labels"].as_object();
            let roles: Vec<&str> = labels
                .into_iter()
                .flatten()
                .filter_map(|(k, _)| k.strip_prefix("node-role.kubernetes.io/"))
                .filter(|r| !r.is_empty())
                .collect();
            let address = |kind: &str| {
                let list = status["addresses"].as_array();
                let found = list.and_then(|l| l.iter().find(|a| a["type"] == kind));
                text(found.map_or(&Value::Null, |a| &a["address"]), "<none>")
            };
            let info = &status["nodeInfo"];
            cells.extend([
                state.into(),
                if roles.is_empty() {
                    "<none>".into()
                } else {
                    roles.join(",").into()
                },
                age(),
                info["kubeletVersion"].clone(),
                address("InternalIP"),
                address("ExternalIP"),
                text(&info["osImage"], "<unknown>"),
                text(&info["kernelVersion"], "<unknown>"),
                text(&info["containerRuntimeVersion"], "<unknown>"),
            ]);
        }
        "pods" => {
            let total = o["spec"]["containers"].as_array().map_or(0, Vec::len);
            let running = status["containerStatuses"].as_array();
            let ready = running.map_or(0, |l| l.iter().filter(|c| c["ready"] == true).count());
            let phase = if o["metadata"]["deletionTimestamp"].is_string() {
                "Terminating".into()
            } else {
                text(&status["phase"], "Unknown")
            };
            cells.extend([
                format!("{ready}/{total}").into(),
                phase,
                "0".into(),
                age(),
                text(&status["podIP"], "<none>"),
                text(&o["spec"]["nodeName"], "<none>"),
                "<none>".into(),
                "<none>".into(),
            ]);
        }
        "daemonsets" => cells.extend([
            number(&status["desiredNumberScheduled"]),
            number(&status["currentNumberScheduled"]),
            number(&status["numberReady"]),
            number(&status["updatedNumberScheduled"]),
            number(&status["numberAvailable"]),
            age(),
        ]),
        "deployments" => cells.extend([
            format!(
                "{}/{}",
                number(&status["readyReplicas"]),
                number(&o["spec"]["replicas"])
            )
            .into(),
            number(&status["updatedReplicas"]),
            number(&status["availableReplicas"]),
            age(),
        ]),
        "certificatesigningrequests" => {
            let mut state = if condition(o, "Approved") == "True" {
                "Approved"
            } else {
                "Pending"
            }
            .to_owned();
            if condition(o, "Denied") == "True" {
                state = "Denied".into();
            }
            if status["certificate"].is_string() {
                state.push_str(",Issued");
            }
            cells.extend([
                age(),
                text(&o["spec"]["signerName"], "<none>"),
                text(&o["spec"]["username"], "<none>"),
                "<none>".into(),
                state.into(),
            ]);
        }
        "namespaces" => cells.extend([text(&status["phase"], "Active"), age()]),
        _ => cells.push(age()),
    }
    cells
}

fn age(created: &Value, now: DateTime<Utc>) -> String {
    let Some(created) = created
        .as_str()
        .and_then(|c| DateTime::parse_from_rfc3339(c).ok())
    else {
        return "<unknown>".into();
    };
    let seconds = (now - created.with_timezone(&Utc)).num_seconds().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

/// A table of objects. `include` is the `includeObject` parameter.
pub(crate) fn table<'a>(
    resource: &Resource,
    objects: impl Iterator<Item = &'a Value>,
    list_meta: &Value,
    include: &str,
    with_columns: bool,
) -> Value {
    let now = Utc::now();
    let rows: Vec<Value> = objects
        .map(|o| {
            let mut row = json!({"cells": cells(&resource.plural, o, now)});
            match include {
                "None" => {}
                "Object" => row["object"] = o.clone(),
                _ => {
                    let mut metadata = o["metadata"].clone();
                    if let Some(m) = metadata.as_object_mut() {
                        m.shift_remove("managedFields");
                    }
                    row["object"] = json!({
                        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    });
                }
            }
            row
        })
        .collect();
    let definitions: Vec<Value> = columns(&resource.plural)
        .into_iter()
        .map(|(name, kind, priority)| {
            let format = if name == "Name" { "name" } else { "" };
            json!({"name": name, "type": kind, "format": format, "description": name, "priority": priority})
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": list_meta,
        "columnDefinitions": if with_columns { definitions.into() } else { Value::Null },
        "rows": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::resources::Resources;

    #[test]
    fn a_node_row_has_a_cell_for_every_column() {
        let resources = Resources::builtin();
        for (group, plural) in [
            ("", "nodes"),
            ("", "pods"),
            ("apps", "daemonsets"),
            ("apps", "deployments"),
            ("", "secrets"),
        ] {
            let resource = resources.find(group, "v1", plural).unwrap();
            let object = json!({"metadata": {"name": "x", "labels": {"node-role.kubernetes.io/control-plane": ""}},
                "spec": {"unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            let table = table(&resource, [&object].into_iter(), &json!({}), "", true);
            let cells = table["rows"][0]["cells"].as_array().unwrap();
            assert_eq!(
                cells.len(),
                table["columnDefinitions"].as_array().unwrap().len(),
                "{plural}"
            );
            if plural == "nodes" {
                assert_eq!(cells[1], "Ready,SchedulingDisabled");
                assert_eq!(cells[2], "control-plane");
            }
        }
    }
}
