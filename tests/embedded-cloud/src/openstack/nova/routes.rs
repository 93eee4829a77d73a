//! The paths of the API.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, Answers, Ask};
use super::super::listing::{Page, next_query};
use super::super::{ApiError, Microversion, ServiceKind};
use super::model::{Server, bad, fault, forbidden, missing};
use super::views::View;
use super::{Nova, actions, create, groups, keypairs};

/// The greatest minor version.
pub(super) const NEWEST: u32 = 103;

/// The minor version that a request asks for; 1 without a header.
pub(super) fn asked_version(ask: &Ask) -> Result<u32, ApiError> {
    let version = ask.version;
    if version.latest {
        return Ok(NEWEST);
    }
    if version == Microversion::default() {
        return Ok(1);
    }
    if version.major != 2 || version.minor > NEWEST || version.minor == 0 {
        let text = format!(
            "Version {}.{} is not supported by the API. Minimum is 2.1 and maximum is 2.{NEWEST}.",
            version.major, version.minor
        );
        return Err(ApiError::new(
            ServiceKind::Nova,
            StatusCode::NOT_ACCEPTABLE,
            "computeFault",
            text,
        ));
    }
    Ok(version.minor)
}

pub(super) fn links(base: &str, kind: &str, id: &str) -> Value {
    json!([
        {"rel": "self", "href": format!("{base}/v2.1/{kind}/{id}")},
        {"rel": "bookmark", "href": format!("{base}/{kind}/{id}")},
    ])
}

/// Refuses those who may not.
pub(super) fn policy(allowed: bool, rule: &str) -> Result<(), ApiError> {
    if allowed {
        Ok(())
    } else {
        Err(forbidden(format!(
            "Policy doesn't allow os_compute_api:{rule} to be performed."
        )))
    }
}

impl Answers for Nova {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        if method != Method::GET {
            return None;
        }
        let version = |full: bool| {
            let mut view = json!({
                "id": "v2.1", "status": "CURRENT", "version": format!("2.{NEWEST}"), "min_version": "2.1",
                "updated": "2013-07-23T11:33:21Z", "links": [{"rel": "self", "href": format!("{base}/v2.1/")}],
            });
            if full {
                view["links"] = json!([
                    {"rel": "self", "href": format!("{base}/v2.1/")},
                    {"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
                ]);
                view["media-types"] = json!([{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}]);
            }
            view
        };
        match path {
            [] => Some(Answer::json(200, json!({"versions": [version(false)]}))),
            ["v2.1"] => Some(Answer::json(200, json!({"version": version(true)}))),
            _ => None,
        }
    }

    fn decorate(&self, version: Microversion, headers: &mut HeaderMap) {
        let shown = if version.latest {
            format!("2.{NEWEST}")
        } else if version == Microversion::default() {
            "2.1".to_owned()
        } else {
            format!("{}.{}", version.major, version.minor)
        };
        if let (Ok(long), Ok(short)) = (
            HeaderValue::from_str(&format!("compute {shown}")),
            HeaderValue::from_str(&shown),
        ) {
            headers.insert("openstack-api-version", long);
            headers.insert("x-openstack-nova-api-version", short);
        }
        headers.insert(
            "vary",
            HeaderValue::from_static("OpenStack-API-Version, X-OpenStack-Nova-API-Version"),
        );
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let version = asked_version(ask)?;
        let segments = ask.segments();
        let Some((&"v2.1", rest)) = segments.split_first() else {
            return Err(ask.unknown());
        };
        let view = View {
            cloud: &ask.cloud,
            base: &ask.base,
            version,
            admin: ask.caller.is_admin,
        };
        if ask.method != Method::GET {
            policy(ask.caller.can_write(), &rule(&ask.method, rest))?;
        }
        match (&ask.method, rest) {
            (&Method::POST, ["servers"]) => create::create(self, ask),
            (&Method::GET, ["servers"]) => self.servers(ask, view, false),
            (&Method::GET, ["servers", "detail"]) => self.servers(ask, view, true),
            (_, ["servers", id, rest @ ..]) => actions::server(self, ask, view, id, rest),
            (&Method::GET, ["flavors"]) => self.flavors(ask, view, false),
            (&Method::GET, ["flavors", "detail"]) => self.flavors(ask, view, true),
            (&Method::GET, ["flavors", id, rest @ ..]) => self.flavor(ask, view, id, rest),
            (&Method::POST, ["flavors", ..]) | (&Method::DELETE, ["flavors", _]) => {
                self.change_flavors(ask, view, rest)
            }
            (_, ["os-keypairs", rest @ ..]) => keypairs::answer(self, ask, view, rest),
            (_, ["os-server-groups", rest @ ..]) => groups::answer(self, ask, view, rest),
            (&Method::GET, ["limits"]) => Ok(self.limits(ask, version)),
            (_, ["os-quota-sets", rest @ ..]) => self.quota_sets(ask, version, rest),
            (&Method::GET, ["os-availability-zone"]) => Ok(Answer::json(
                200,
                json!({"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": true}, "hosts": null}]}),
            )),
            (&Method::GET, ["os-services"]) => self.services(ask),
            (&Method::GET, ["os-hypervisors"]) => self.hypervisors(ask, version, false),
            (&Method::GET, ["os-hypervisors", "detail"]) => self.hypervisors(ask, version, true),
            _ => Err(ask.unknown()),
        }
    }
}

fn rule(method: &Method, rest: &[&str]) -> String {
    let verb = match *method {
        Method::POST => "create",
        Method::DELETE => "delete",
        _ => "update",
    };
    format!("{}:{verb}", rest.first().copied().unwrap_or_default())
}

/// Cuts a list and adds the link to the next page.
pub(super) fn page(
    ask: &Ask,
    key: &str,
    path: &str,
    items: Vec<Value>,
) -> Result<Answer, ApiError> {
    let page = Page::from_query(&ask.query).map_err(|text| {
        bad(format!("Invalid input for query parameters limit. Value: {text}. '{text}' does not match '^[0-9]*$'"))
    })?;
    let (items, more) = page
        .cut(items, "id")
        .map_err(|marker| bad(format!("marker [{marker}] not found")))?;
    let last = items
        .last()
        .and_then(|item| item["id"].as_str())
        .map(str::to_owned);
    let mut body = json!({key: items});
    if let (true, Some(last)) = (more, last) {
        let href = format!("{}/v2.1/{path}?{}", ask.base, next_query(&ask.query, &last));
        body[format!("{key}_links")] = json!([{"rel": "next", "href": href}]);
    }
    Ok(Answer::json(200, body))
}

impl Nova {
    fn servers(&self, ask: &Ask, view: View<'_>, detail: bool) -> Result<Answer, ApiError> {
        let all = ask
            .param("all_tenants")
            .is_some_and(|v| !matches!(v, "0" | "false" | "False"));
        if all {
            let kind = if detail { "detail" } else { "index" };
            policy(
                ask.caller.is_admin,
                &format!("servers:{kind}:get_all_tenants"),
            )?;
        }
        let project = ask
            .param("project_id")
            .or(ask.param("tenant_id"))
            .filter(|_| all && ask.caller.is_admin);
        let mut found: Vec<Server> = self.state.read(|s| {
            let seen = s.servers.values().filter(|s| match project {
                Some(project) => s.project_id == project,
                None => all || s.project_id == ask.caller.project_id,
            });
            seen.filter(|server| keeps(ask, server)).cloned().collect()
        });
        found.reverse();
        found.sort_by_key(|server| std::cmp::Reverse((server.created, server.number)));
        let path = if detail { "servers/detail" } else { "servers" };
        let views = found.iter().map(|server| {
            if detail {
                view.server(server, false)
            } else {
                view.server_brief(server)
            }
        });
        page(ask, "servers", path, views.collect())
    }

    fn flavors(&self, ask: &Ask, view: View<'_>, detail: bool) -> Result<Answer, ApiError> {
        let number = |key: &str| {
            ask.param(key)
                .and_then(|t| t.parse::<u64>().ok())
                .unwrap_or(0)
        };
        let (ram, disk) = (number("minRam"), number("minDisk"));
        let mut found = self.state.read(|s| {
            s.flavors
                .values()
                .filter(|f| f.ram >= ram && f.disk >= disk)
                .cloned()
                .collect::<Vec<_>>()
        });
        found.sort_by(|a, b| a.id.cmp(&b.id));
        let path = if detail { "flavors/detail" } else { "flavors" };
        page(
            ask,
            "flavors",
            path,
            found
                .iter()
                .map(|flavor| view.flavor(flavor, detail))
                .collect(),
        )
    }

    fn flavor(
        &self,
        ask: &Ask,
        view: View<'_>,
        id: &str,
        rest: &[&str],
    ) -> Result<Answer, ApiError> {
        let flavor = self.state.read(|s| s.flavors.get(id).cloned());
        let flavor = flavor.ok_or_else(|| missing(format!("Flavor {id} could not be found.")))?;
        match rest {
            [] => Ok(Answer::json(
                200,
                json!({"flavor": view.flavor(&flavor, true)}),
            )),
            ["os-extra_specs"] => Ok(Answer::json(
                200,
                json!({"extra_specs": flavor.extra_specs}),
            )),
            ["os-extra_specs", key] => match flavor.extra_specs.get(*key) {
                Some(value) => Ok(Answer::json(200, json!({*key: value}))),
                None => Err(missing(format!(
                    "Flavor {id} has no extra specs with key {key}."
                ))),
            },
            _ => Err(ask.unknown()),
        }
    }

    fn change_flavors(&self, ask: &Ask, view: View<'_>, rest: &[&str]) -> Result<Answer, ApiError> {
        policy(ask.caller.is_admin, "os-flavor-manage:create")?;
        match (&ask.method, rest) {
            (&Method::POST, ["flavors"]) => {
                let empty = Map::new();
                let body = ask.object("flavor").unwrap_or(&empty);
                let number = |key: &str| {
                    body.get(key)
                        .and_then(|v| v.as_u64().or_else(|| v.as_str()?.parse().ok()))
                        .unwrap_or(0)
                };
                let name = body
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                let id = body
                    .get("id")
                    .and_then(Value::as_str)
                    .filter(|id| *id != "auto")
                    .map_or_else(|| ask.cloud.uuid(), str::to_owned);
                if self
                    .state
                    .read(|s| s.flavors.values().any(|f| f.name == name || f.id == id))
                {
                    return Err(fault(
                        409,
                        "conflictingRequest",
                        format!("Flavor with name {name} already exists."),
                    ));
                }
                let flavor = super::model::Flavor {
                    id: id.clone(),
                    name,
                    vcpus: number("vcpus"),
                    ram: number("ram"),
                    disk: number("disk"),
                    public: body
                        .get("os-flavor-access:is_public")
                        .and_then(Value::as_bool)
                        .unwrap_or(true),
                    extra_specs: std::collections::BTreeMap::new(),
                };
                let shown = view.flavor(&flavor, true);
                self.state.write(|s| s.flavors.insert(id, flavor));
                Ok(Answer::json(200, json!({"flavor": shown})))
            }
            (&Method::POST, ["flavors", id, "os-extra_specs"]) => {
                let specs = ask.object("extra_specs").cloned().unwrap_or_default();
                self.state.write(|s| {
                    let flavor = s
                        .flavors
                        .get_mut(*id)
                        .ok_or_else(|| missing(format!("Flavor {id} could not be found.")))?;
                    flavor.extra_specs.extend(
                        specs
                            .iter()
                            .map(|(k, v)| (k.clone(), super::text::shown(v))),
                    );
                    Ok(Answer::json(
                        200,
                        json!({"extra_specs": flavor.extra_specs}),
                    ))
                })
            }
            (&Method::DELETE, ["flavors", id]) => {
                match self.state.write(|s| s.flavors.shift_remove(*id)) {
                    Some(_) => Ok(Answer::empty(202)),
                    None => Err(missing(format!("Flavor {id} could not be found."))),
                }
            }
            _ => Err(ask.unknown()),
        }
    }
}

/// Whether a server passes the query's filters.
fn keeps(ask: &Ask, server: &Server) -> bool {
    ask.query.iter().all(|(key, value)| match key.as_str() {
        "name" => name_matches(&server.name, value),
        "status" => server.status() == value,
        "vm_state" => &server.vm_state == value,
        "tags" => value
            .split(',')
            .all(|tag| server.tags.iter().any(|t| t == tag)),
        "tags-any" => value
            .split(',')
            .any(|tag| server.tags.iter().any(|t| t == tag)),
        "not-tags" => !value
            .split(',')
            .all(|tag| server.tags.iter().any(|t| t == tag)),
        "not-tags-any" => !value
            .split(',')
            .any(|tag| server.tags.iter().any(|t| t == tag)),
        "image" => &server.image == value,
        "flavor" => &server.flavor.id == value,
        "user_id" => &server.user_id == value,
        "host" => server.host.as_ref() == Some(value),
        "uuid" => &server.id == value,
        "deleted" => matches!(value.as_str(), "false" | "False" | "0"),
        _ => true,
    })
}

/// Nova takes the name filter as a regular expression; anchors and plain text are what is used.
fn name_matches(name: &str, pattern: &str) -> bool {
    let (start, rest) = pattern
        .strip_prefix('^')
        .map_or((false, pattern), |rest| (true, rest));
    let (end, rest) = rest
        .strip_suffix('$')
        .map_or((false, rest), |rest| (true, rest));
    let plain = rest.replace('\\', "");
    match (start, end) {
        (true, true) => name == plain,
        (true, false) => name.starts_with(&plain),
        (false, true) => name.ends_with(&plain),
        (false, false) => name.contains(&plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filtered_by_anchors() {
        assert!(
            name_matches("pq-s", "^pq-s$")
                && name_matches("pq-s", "q-")
                && name_matches("pq-s", r"^pq\-")
        );
        assert!(!name_matches("pq-ss", "^pq-s$"));
    }
}
