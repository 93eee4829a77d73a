//! One server: show, change, delete, actions, and what hangs on it.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Ask};
use super::super::neutron::Neutron;
use super::model::{Server, bad, conflict, missing};
use super::text::shown;
use super::views::View;
use super::{Nova, attachments};

fn find(nova: &Nova, ask: &Ask, id: &str) -> Result<Server, ApiError> {
    let project = (!ask.caller.is_admin).then_some(ask.caller.project_id.as_str());
    let found = nova.state.read(|s| s.server(project, id).cloned());
    found.ok_or_else(|| missing(format!("Instance {id} could not be found.")))
}

pub(super) fn server(
    nova: &Arc<Nova>,
    ask: &Ask,
    view: View<'_>,
    id: &str,
    rest: &[&str],
) -> Result<Answer, ApiError> {
    let server = find(nova, ask, id)?;
    match (&ask.method, rest) {
        (&Method::GET, []) => Ok(Answer::json(
            200,
            json!({"server": view.server(&server, true)}),
        )),
        (&Method::PUT, []) => {
            let now = ask.cloud.now();
            let empty = Map::new();
            let body = ask.object("server").unwrap_or(&empty);
            let changed = nova.state.write(|s| {
                let server = s.servers.get_mut(id)?;
                if let Some(name) = body.get("name").and_then(Value::as_str) {
                    name.clone_into(&mut server.name);
                }
                if let Some(text) = body.get("description") {
                    server.description = text.as_str().map(str::to_owned);
                }
                server.updated = now;
                Some(server.clone())
            });
            Ok(Answer::json(
                200,
                json!({"server": view.server(&changed.unwrap_or(server), true)}),
            ))
        }
        (&Method::DELETE, []) => {
            if !server.is_deleting() {
                let now = ask.cloud.now();
                nova.state.write(|s| {
                    if let Some(server) = s.servers.get_mut(id) {
                        (server.task_state, server.updated) = (Some("deleting".to_owned()), now);
                    }
                });
                ask.cloud.ledger().record(
                    &ask.cloud,
                    "server",
                    "delete",
                    id,
                    &server.name,
                    &server.project_id,
                );
                nova.start_delete(&ask.cloud, id);
            }
            Ok(Answer::empty(204))
        }
        (&Method::POST, ["action"]) => action(nova, ask, &server),
        (&Method::GET, ["os-interface"]) => Ok(Answer::json(
            200,
            json!({"interfaceAttachments": interfaces(ask, view, &server)}),
        )),
        (&Method::GET, ["ips"]) => Ok(Answer::json(
            200,
            json!({"addresses": view.addresses(&server).0}),
        )),
        (&Method::GET, ["os-security-groups"]) => Ok(Answer::json(
            200,
            json!({"security_groups": security_groups(ask, &server)}),
        )),
        (_, ["os-volume_attachments", rest @ ..]) => {
            attachments::answer(nova, ask, view, &server, rest)
        }
        (_, ["metadata", rest @ ..]) => metadata(nova, ask, &server, rest),
        (_, ["tags", rest @ ..]) => tags(nova, ask, &server, rest),
        _ => Err(ask.unknown()),
    }
}

fn action(nova: &Arc<Nova>, ask: &Ask, server: &Server) -> Result<Answer, ApiError> {
    let Some((name, argument)) = ask.body.as_object().and_then(|body| body.iter().next()) else {
        return Err(bad("Malformed request body"));
    };
    let refuse = |verb: &str, allowed: &str| {
        let id = &server.id;
        let (name, state) = match &server.task_state {
            Some(task) if server.vm_state == allowed => ("task_state", task),
            _ => ("vm_state", &server.vm_state),
        };
        let text = format!("Cannot '{verb}' instance {id} while it is in {name} {state}");
        Err(conflict(text))
    };
    let idle = server.task_state.is_none();
    let begin = |task: &str, end: &'static str| {
        nova.state.write(|s| {
            if let Some(server) = s.servers.get_mut(&server.id) {
                server.task_state = Some(task.to_owned());
            }
        });
        nova.start_power(&ask.cloud, &server.id, end);
        Ok(Answer::empty(202))
    };
    match name.as_str() {
        "os-getConsoleOutput" => {
            if server.vm_state == "building" {
                return Err(conflict(format!("Instance {} is not ready", server.id)));
            }
            let lines = ["FAKE CONSOLE OUTPUT", "ANOTHER", "LAST LINE"];
            let count = argument["length"]
                .as_u64()
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(usize::MAX);
            let from = lines.len().saturating_sub(count);
            Ok(Answer::json(
                200,
                json!({"output": lines[from..].join("\n")}),
            ))
        }
        "os-stop" if server.vm_state == "active" && idle => begin("powering-off", "stopped"),
        "os-stop" => refuse("stop", "active"),
        "os-start" if server.vm_state == "stopped" && idle => begin("powering-on", "active"),
        "os-start" => refuse("start", "stopped"),
        "reboot"
            if idle
                && (server.vm_state == "active"
                    || (server.vm_state == "stopped" && argument["type"] == "HARD")) =>
        {
            begin("rebooting", "active")
        }
        "reboot" => refuse("reboot", "active"),
        "addSecurityGroup"
        | "removeSecurityGroup"
        | "createImage"
        | "resize"
        | "rebuild"
        | "migrate"
        | "os-resetState"
        | "lock"
        | "unlock"
        | "pause"
        | "unpause"
        | "suspend"
        | "resume"
        | "shelve"
        | "unshelve"
        | "rescue"
        | "forceDelete" => Err(ask.unknown()),
        other => Err(bad(format!("There is no such action: {other}"))),
    }
}

fn interfaces(ask: &Ask, view: View<'_>, server: &Server) -> Vec<Value> {
    ask.cloud.service::<Neutron>().state.read(|s| {
        let ports = s.ports.values().filter(|p| p.device_id == server.id);
        ports
            .map(|port| {
                let mut shown = json!({
                    "net_id": port.network_id, "port_id": port.meta.id, "mac_addr": port.mac_address,
                    "port_state": port.status, "fixed_ips": port.fixed_ips,
                });
                if view.version >= 70 {
                    shown["tag"] = Value::Null;
                }
                shown
            })
            .collect()
    })
}

fn security_groups(ask: &Ask, server: &Server) -> Vec<Value> {
    ask.cloud.service::<Neutron>().state.read(|s| {
        let mut ids: Vec<&String> =
            s.ports.values().filter(|p| p.device_id == server.id).flat_map(|p| &p.security_groups).collect();
        ids.sort();
        ids.dedup();
        let groups = ids.into_iter().filter_map(|id| s.groups.get(id));
        groups
            .map(|g| {
                json!({
                    "id": g.meta.id, "name": g.meta.name, "description": g.meta.description, "rules": [],
                    "tenant_id": g.meta.project_id,
                })
            })
            .collect()
    })
}

fn metadata(
    nova: &Arc<Nova>,
    ask: &Ask,
    server: &Server,
    rest: &[&str],
) -> Result<Answer, ApiError> {
    let change = |f: &dyn Fn(&mut Server)| {
        let changed = nova.state.write(|s| {
            let server = s.servers.get_mut(&server.id)?;
            f(server);
            Some(server.metadata.clone())
        });
        json!({"metadata": changed.unwrap_or_default()})
    };
    let given = ask.object("metadata").cloned().unwrap_or_default();
    match (&ask.method, rest) {
        (&Method::GET, []) => Ok(Answer::json(200, json!({"metadata": server.metadata}))),
        (&Method::POST, []) => Ok(Answer::json(
            200,
            change(&|server| {
                server
                    .metadata
                    .extend(given.iter().map(|(k, v)| (k.clone(), shown(v))));
            }),
        )),
        (&Method::PUT, []) => Ok(Answer::json(
            200,
            change(&|server| {
                server.metadata = given.iter().map(|(k, v)| (k.clone(), shown(v))).collect();
            }),
        )),
        (&Method::DELETE, [key]) if server.metadata.contains_key(*key) => {
            change(&|server| {
                server.metadata.remove(*key);
            });
            Ok(Answer::empty(204))
        }
        (&Method::DELETE, [_]) => Err(missing("Metadata item was not found")),
        _ => Err(ask.unknown()),
    }
}

fn tags(nova: &Arc<Nova>, ask: &Ask, server: &Server, rest: &[&str]) -> Result<Answer, ApiError> {
    let set = |tags: Vec<String>| {
        nova.state.write(|s| {
            if let Some(server) = s.servers.get_mut(&server.id) {
                server.tags = tags;
            }
        });
    };
    match (&ask.method, rest) {
        (&Method::GET, []) => Ok(Answer::json(200, json!({"tags": server.tags}))),
        (&Method::PUT, []) => {
            let given = ask.body["tags"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let tags: Vec<String> = given
                .iter()
                .filter_map(|t| t.as_str().map(str::to_owned))
                .collect();
            set(tags.clone());
            Ok(Answer::json(200, json!({"tags": tags})))
        }
        (&Method::PUT, [tag]) => {
            if server.tags.iter().any(|t| t == tag) {
                return Ok(Answer::empty(204));
            }
            let mut tags = server.tags.clone();
            tags.push((*tag).to_owned());
            set(tags);
            Ok(Answer::empty(201))
        }
        (&Method::DELETE, []) => {
            set(Vec::new());
            Ok(Answer::empty(204))
        }
        (&Method::DELETE, [tag]) => {
            let tags: Vec<String> = server.tags.iter().filter(|t| t != tag).cloned().collect();
            if tags.len() == server.tags.len() {
                return Err(missing(format!(
                    "Instance {} has no tag '{tag}'",
                    server.id
                )));
            }
            set(tags);
            Ok(Answer::empty(204))
        }
        _ => Err(ask.unknown()),
    }
}
