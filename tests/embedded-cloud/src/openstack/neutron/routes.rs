//! The paths of the API.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Answers, Ask};
use super::attributes::Attributes;
use super::collections::{COLLECTIONS, Collection, list};
use super::extensions::EXTENSIONS;
use super::model::{QUOTAS, fault};
use super::{Mint, Neutron};

impl Answers for Neutron {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        (method == Method::GET && path.is_empty()).then(|| {
            let links = json!([{"rel": "self", "href": format!("{base}/v2.0/")}]);
            Answer::json(
                200,
                json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]}),
            )
        })
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let segments: Vec<&str> = ask
            .path
            .iter()
            .map(|s| s.strip_suffix(".json").unwrap_or(s))
            .collect();
        let Some((&"v2.0", rest)) = segments.split_first() else {
            return Err(ask.unknown());
        };
        let Some((&first, rest)) = rest.split_first() else {
            return Err(ask.unknown());
        };
        match first {
            "extensions" => self.extensions(ask, rest),
            "quotas" => self.quotas(ask, rest),
            "agents" if rest.is_empty() && ask.method == Method::GET => Ok(self.agents(ask)),
            "availability_zones" if rest.is_empty() && ask.method == Method::GET => {
                Ok(Answer::json(200, json!({"availability_zones": []})))
            }
            _ => match COLLECTIONS.into_iter().find(|c| c.path == first) {
                Some(collection) => self.collection(ask, collection, rest),
                None => Err(ask.unknown()),
            },
        }
    }
}

impl Neutron {
    fn collection(&self, ask: &Ask, of: Collection, rest: &[&str]) -> Result<Answer, ApiError> {
        let mint = Mint::of(&ask.cloud);
        let caller = &ask.caller;
        if ask.method != Method::GET && !caller.can_write() {
            let verb = match ask.method {
                Method::POST => "create",
                Method::DELETE => "delete",
                _ => "update",
            };
            let text = format!("rule:{verb}_{} is disallowed by policy", of.singular);
            return Err(fault(403, "PolicyNotAuthorized", text));
        }
        match (&ask.method, rest) {
            (&Method::GET, []) => {
                if of.path.starts_with("security-group") && !caller.project_id.is_empty() {
                    self.state
                        .write(|s| s.ensure_default_group(&mint, &caller.project_id));
                }
                list(ask, of, self.state.read(|s| s.views(of.path, caller)))
            }
            (&Method::POST, []) => {
                if let Some(bodies) = ask.body.get(of.plural).and_then(Value::as_array) {
                    let mut made = Vec::new();
                    for body in bodies {
                        made.push(self.create(ask, of, &mint, body.as_object())?);
                    }
                    return Ok(Answer::json(201, json!({of.plural: made})));
                }
                let view = self.create(ask, of, &mint, ask.object(of.singular))?;
                Ok(Answer::json(201, json!({of.singular: view})))
            }
            (&Method::GET, [id]) => {
                let view = self.state.read(|s| s.view(of.path, caller, id))?;
                let fields: Vec<&str> = ask
                    .query
                    .iter()
                    .filter(|(key, _)| key == "fields")
                    .map(|(_, v)| v.as_str())
                    .collect();
                Ok(Answer::json(
                    200,
                    json!({of.singular: super::super::listing::select(view, &fields)}),
                ))
            }
            (&Method::PUT, [id]) => {
                let body = required(ask.object(of.singular), of)?;
                self.state.write(|s| match of.path {
                    "networks" => s.update_network(&mint, caller, id, Attributes(body)),
                    "subnets" => s.update_subnet(&mint, caller, id, Attributes(body)),
                    "ports" => s.update_port(&mint, caller, id, Attributes(body)),
                    "routers" => s.update_router(&mint, caller, id, Attributes(body)),
                    "security-groups" => s.update_group(&mint, caller, id, Attributes(body)),
                    "floatingips" => s.update_floating_ip(&mint, caller, id, Attributes(body)),
                    _ => Err(ask.unknown()),
                })?;
                let view = self.state.read(|s| s.view(of.path, caller, id))?;
                Ok(Answer::json(200, json!({of.singular: view})))
            }
            (&Method::DELETE, [id]) => {
                self.state.write(|s| match of.path {
                    "networks" => s.delete_network(caller, id),
                    "subnets" => s.delete_subnet(caller, id),
                    "ports" => s.delete_port(&mint, caller, id),
                    "routers" => s.delete_router(&mint, caller, id),
                    "security-groups" => s.delete_group(caller, id),
                    "security-group-rules" => s.delete_rule(&mint, caller, id),
                    _ => s.delete_floating_ip(&mint, caller, id),
                })?;
                Ok(Answer::empty(204))
            }
            (
                &Method::PUT,
                [
                    id,
                    action @ ("add_router_interface" | "remove_router_interface"),
                ],
            ) if of.path == "routers" => {
                let empty = Map::new();
                let body = ask.body.as_object().unwrap_or(&empty);
                let view = self.state.write(|s| {
                    if *action == "add_router_interface" {
                        s.add_interface(&mint, caller, id, body)
                    } else {
                        s.remove_interface(&mint, caller, id, body)
                    }
                })?;
                Ok(Answer::json(200, view))
            }
            (_, [id, "tags", tag @ ..]) => self.tags(ask, of, id, tag),
            _ => Err(ask.unknown()),
        }
    }

    fn create(
        &self,
        ask: &Ask,
        of: Collection,
        mint: &Mint<'_>,
        body: Option<&Map<String, Value>>,
    ) -> Result<Value, ApiError> {
        let body = Attributes(required(body, of)?);
        let caller = &ask.caller;
        self.state.write(|s| {
            let id = match of.path {
                "networks" => s.create_network(mint, caller, body),
                "subnets" => s.create_subnet(mint, caller, body),
                "ports" => s.create_port(mint, caller, body),
                "routers" => s.create_router(mint, caller, body),
                "security-groups" => s.create_group(mint, caller, body),
                "security-group-rules" => s.create_rule(mint, caller, body),
                _ => s.create_floating_ip(mint, caller, body),
            }?;
            let mut view = s.view(of.path, caller, &id)?;
            // Answers to POST differ a little from those to GET.
            match (of.path, view.as_object_mut()) {
                ("networks", Some(view)) => {
                    view.insert("is_default".into(), false.into());
                }
                ("security-group-rules", Some(view)) => {
                    view.shift_remove("standard_attr_id");
                    view.shift_remove("tags");
                }
                _ => {}
            }
            Ok(view)
        })
    }

    fn tags(&self, ask: &Ask, of: Collection, id: &str, tag: &[&str]) -> Result<Answer, ApiError> {
        let now = ask.cloud.now();
        let caller = &ask.caller;
        match (&ask.method, tag) {
            (&Method::GET, []) => {
                let view = self.state.read(|s| s.view(of.path, caller, id))?;
                Ok(Answer::json(200, json!({"tags": view["tags"]})))
            }
            (&Method::GET, [tag]) => {
                let view = self.state.read(|s| s.view(of.path, caller, id))?;
                let has = view["tags"]
                    .as_array()
                    .is_some_and(|tags| tags.iter().any(|t| t == tag));
                if has {
                    Ok(Answer::empty(204))
                } else {
                    Err(tag_missing(tag))
                }
            }
            (&Method::PUT, []) => {
                let wanted = tag_list(&ask.body)?;
                self.state.write(|s| {
                    let meta = s.meta_mut(of.path, caller, id)?;
                    meta.tags.clone_from(&wanted);
                    meta.touch(now);
                    Ok::<(), ApiError>(())
                })?;
                Ok(Answer::json(200, json!({"tags": wanted})))
            }
            (&Method::POST, []) => {
                let wanted = tag_list(&ask.body)?;
                let tags = self.state.write(|s| {
                    let meta = s.meta_mut(of.path, caller, id)?;
                    for tag in wanted {
                        if !meta.tags.contains(&tag) {
                            meta.tags.push(tag);
                        }
                    }
                    meta.touch(now);
                    Ok::<_, ApiError>(meta.tags.clone())
                })?;
                Ok(Answer::json(200, json!({"tags": tags})))
            }
            (&Method::PUT, [tag]) => {
                self.state.write(|s| {
                    let meta = s.meta_mut(of.path, caller, id)?;
                    if !meta.tags.iter().any(|t| t == tag) {
                        meta.tags.push((*tag).to_owned());
                        meta.touch(now);
                    }
                    Ok::<(), ApiError>(())
                })?;
                Ok(Answer::json(201, Value::Null))
            }
            (&Method::DELETE, []) => {
                self.state.write(|s| {
                    s.meta_mut(of.path, caller, id)
                        .map(|meta| meta.tags.clear())
                })?;
                Ok(Answer::empty(204))
            }
            (&Method::DELETE, [tag]) => self.state.write(|s| {
                let meta = s.meta_mut(of.path, caller, id)?;
                let before = meta.tags.len();
                meta.tags.retain(|t| t != tag);
                if meta.tags.len() == before {
                    Err(tag_missing(tag))
                } else {
                    Ok(Answer::empty(204))
                }
            }),
            _ => Err(ask.unknown()),
        }
    }

    fn extensions(&self, ask: &Ask, rest: &[&str]) -> Result<Answer, ApiError> {
        let view = |alias: &str| json!({"name": alias, "alias": alias, "description": "", "updated": "2015-01-01T10:00:00-00:00", "links": []});
        match (&ask.method, rest) {
            (&Method::GET, []) => {
                let all: Vec<Value> = EXTENSIONS.iter().map(|alias| view(alias)).collect();
                Ok(Answer::json(200, json!({"extensions": all})))
            }
            (&Method::GET, [alias]) if EXTENSIONS.contains(alias) => {
                Ok(Answer::json(200, json!({"extension": view(alias)})))
            }
            (&Method::GET, [alias]) => Err(fault(
                404,
                "ExtensionNotFound",
                format!("Extension with alias {alias} does not exist"),
            )),
            _ => Err(ask.unknown()),
        }
    }

    fn quotas(&self, ask: &Ask, rest: &[&str]) -> Result<Answer, ApiError> {
        let own = |project: &str| ask.caller.sees(project);
        let refused = |rule: &str| {
            fault(
                403,
                "PolicyNotAuthorized",
                format!("rule:{rule} is disallowed by policy"),
            )
        };
        match (&ask.method, rest) {
            (&Method::GET, [project]) => {
                if !own(project) {
                    return Err(refused("get_quota"));
                }
                Ok(Answer::json(200, json!({"quota": self.limits(project)})))
            }
            (&Method::GET, [_, "default"]) => {
                let limits: Map<String, Value> = QUOTAS
                    .iter()
                    .map(|(k, v)| ((*k).to_owned(), json!(v)))
                    .collect();
                Ok(Answer::json(200, json!({"quota": limits})))
            }
            (&Method::GET, [project, "details"]) => {
                if !own(project) {
                    return Err(refused("get_quota"));
                }
                let details: Map<String, Value> = self.state.read(|s| {
                    let one = |name: &str| json!({"limit": s.limit(project, name), "used": s.used(project, name), "reserved": 0});
                    QUOTAS.iter().map(|(name, _)| ((*name).to_owned(), one(name))).collect()
                });
                Ok(Answer::json(200, json!({"quota": details})))
            }
            (&Method::PUT, [project]) => {
                if !ask.caller.is_admin {
                    return Err(refused("update_quota"));
                }
                let empty = Map::new();
                let wanted = ask.object("quota").unwrap_or(&empty);
                for (key, value) in wanted {
                    let known = QUOTAS.iter().any(|(name, _)| name == key);
                    let limit = value
                        .as_i64()
                        .or_else(|| value.as_str().and_then(|t| t.parse().ok()));
                    match limit {
                        Some(limit) if known => self.state.write(|s| {
                            s.quotas
                                .entry((*project).to_owned())
                                .or_default()
                                .insert(key.clone(), limit);
                        }),
                        _ if key == "force" || key == "check_limit" => {}
                        _ => {
                            return Err(fault(
                                400,
                                "HTTPBadRequest",
                                format!("Unrecognized attribute(s) '{key}'"),
                            ));
                        }
                    }
                }
                Ok(Answer::json(200, json!({"quota": self.limits(project)})))
            }
            (&Method::DELETE, [project]) => {
                if !ask.caller.is_admin {
                    return Err(refused("delete_quota"));
                }
                self.state.write(|s| s.quotas.remove(*project));
                Ok(Answer::empty(204))
            }
            _ => Err(ask.unknown()),
        }
    }

    fn limits(&self, project: &str) -> Map<String, Value> {
        self.state.read(|s| {
            QUOTAS
                .iter()
                .map(|(name, _)| ((*name).to_owned(), s.limit(project, name).into()))
                .collect()
        })
    }

    fn agents(&self, ask: &Ask) -> Answer {
        if !ask.caller.is_admin {
            return Answer::json(200, json!({"agents": []}));
        }
        let beat = ask.cloud.now().format("%Y-%m-%d %H:%M:%S").to_string();
        Answer::json(
            200,
            json!({"agents": [{
                "binary": "ovn-controller", "host": "tc-compute-1", "heartbeat_timestamp": beat, "availability_zone": "",
                "topic": "n/a", "description": "",
                "configurations": {"chassis_name": "tc-compute-1", "bridge-mappings": "public:br-ex"},
                "agent_type": "OVN Controller Gateway agent", "id": "tc-compute-1", "alive": true, "admin_state_up": true,
            }]}),
        )
    }
}

fn required(
    body: Option<&Map<String, Value>>,
    of: Collection,
) -> Result<&Map<String, Value>, ApiError> {
    body.ok_or_else(|| {
        fault(
            400,
            "HTTPBadRequest",
            format!("Unable to find '{}' in request body", of.singular),
        )
    })
}

fn tag_missing(tag: &str) -> ApiError {
    fault(404, "TagNotFound", format!("Tag {tag} could not be found."))
}

fn tag_list(body: &Value) -> Result<Vec<String>, ApiError> {
    let Some(tags) = body.get("tags").and_then(Value::as_array) else {
        return Err(fault(
            400,
            "InvalidInput",
            "Invalid input for operation: Invalid tags body.",
        ));
    };
    let mut out: Vec<String> = Vec::new();
    for tag in tags.iter().filter_map(Value::as_str) {
        if out.iter().any(|t| t == tag) {
            let text =
                format!("Invalid input for operation: Duplicate items in the list: '{tag}'.");
            return Err(fault(400, "InvalidInput", text));
        }
        if tag.is_empty() || tag.chars().count() > 255 {
            return Err(fault(
                400,
                "InvalidInput",
                format!("Invalid input for operation: '{tag}' exceeds maximum length of 255."),
            ));
        }
        out.push(tag.to_owned());
    }
    Ok(out)
}
