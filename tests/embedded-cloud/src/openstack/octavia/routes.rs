//! The paths of the API.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ApiError;
use super::super::ask::{Answer, Answers, Ask};
use super::super::listing::{Page, matches, next_query, select, tag_filter};
use super::Octavia;
use super::model::{Kind, QUOTAS, fault, missing, refused};

impl Answers for Octavia {
    fn open(&self, base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        (method == Method::GET && path.is_empty()).then(|| {
            let newest = 30;
            let versions: Vec<Value> = (0..=newest)
                .map(|n| {
                    let status = if n == newest { "CURRENT" } else { "SUPPORTED" };
                    let links = json!([{"href": format!("{base}/v2"), "rel": "self"}]);
                    json!({"id": format!("v2.{n}"), "status": status, "updated": "2016-12-11T00:00:00Z", "links": links})
                })
                .collect();
            Answer::json(200, json!({"versions": versions}))
        })
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        let segments = ask.segments();
        let ["v2" | "v2.0", "lbaas", rest @ ..] = segments.as_slice() else {
            return Err(ask.unknown());
        };
        if ask.method != Method::GET
            && !(ask.caller.can_write() || ask.caller.has_role("load-balancer_member"))
        {
            return Err(refused());
        }
        match (&ask.method, rest) {
            (_, ["loadbalancers", rest @ ..]) => self.balancers(ask, rest),
            (_, ["listeners", rest @ ..]) => self.parts(ask, Kind::Listener, None, rest),
            (_, ["pools", pool, "members", rest @ ..]) => {
                self.parts(ask, Kind::Member, Some(pool), rest)
            }
            (_, ["pools", rest @ ..]) => self.parts(ask, Kind::Pool, None, rest),
            (_, ["healthmonitors", rest @ ..]) => self.parts(ask, Kind::Monitor, None, rest),
            (&Method::GET, ["providers"]) => {
                let providers = &ask.cloud.options().load_balancer_providers;
                let views: Vec<Value> = providers
                    .iter()
                    .map(|name| json!({"name": name, "description": format!("The {name} driver.")}))
                    .collect();
                Ok(Answer::json(200, json!({"providers": views})))
            }
            (&Method::GET, [kind @ ("flavors" | "availabilityzones" | "l7policies")]) => {
                let key = if *kind == "availabilityzones" {
                    "availability_zones"
                } else {
                    kind
                };
                let mut body = json!({key: []});
                body[format!("{key}_links")] = json!([]);
                Ok(Answer::json(200, body))
            }
            (_, ["quotas", rest @ ..]) => self.quotas(ask, rest),
            _ => Err(ask.unknown()),
        }
    }
}

impl Octavia {
    fn quotas(&self, ask: &Ask, rest: &[&str]) -> Result<Answer, ApiError> {
        let limits = |project: &str| {
            let own = self
                .state
                .read(|s| s.quotas.get(project).cloned().unwrap_or_default());
            let all: Map<String, Value> = QUOTAS
                .iter()
                .map(|name| {
                    (
                        (*name).to_owned(),
                        own.get(*name).copied().unwrap_or(-1).into(),
                    )
                })
                .collect();
            json!({"quota": all})
        };
        match (&ask.method, rest) {
            (&Method::GET, ["defaults"]) if ask.caller.is_admin => {
                Ok(Answer::json(200, limits("")))
            }
            (&Method::GET, [project]) if ask.caller.sees(project) => {
                Ok(Answer::json(200, limits(project)))
            }
            (&Method::PUT, [project]) if ask.caller.is_admin => {
                let wanted = ask.object("quota").cloned().unwrap_or_default();
                self.state.write(|s| {
                    let own = s.quotas.entry((*project).to_owned()).or_default();
                    for (name, limit) in wanted
                        .iter()
                        .filter_map(|(name, value)| Some((name, value.as_i64()?)))
                    {
                        own.insert(name.clone(), limit);
                    }
                });
                Ok(Answer::json(202, limits(project)))
            }
            (&(Method::GET | Method::PUT), [_]) => Err(refused()),
            _ => Err(ask.unknown()),
        }
    }
}

/// The strings of a list.
pub(super) fn tags(value: Option<&Value>) -> Vec<String> {
    let items = value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    items
        .iter()
        .filter_map(|v| v.as_str().map(str::to_owned))
        .collect()
}

/// Filters, selects and cuts a list as the query asks.
pub(super) fn list(
    ask: &Ask,
    key: &str,
    path: &str,
    mut items: Vec<Value>,
) -> Result<Answer, ApiError> {
    const CONTROL: [&str; 5] = ["fields", "limit", "marker", "sort", "page_reverse"];
    for (name, wanted) in ask
        .query
        .iter()
        .filter(|(name, _)| !CONTROL.contains(&name.as_str()))
    {
        items.retain(|item| {
            if let Some(kept) = tag_filter(item, name, wanted) {
                return kept;
            }
            let name = match name.as_str() {
                "loadbalancer_id" | "load_balancer_id" => "loadbalancers",
                "listener_id" => "listeners",
                "pool_id" => "pools",
                other => other,
            };
            matches(&item[name], wanted)
        });
    }
    let page = Page::from_query(&ask.query).map_err(|text| {
        fault(
            400,
            format!("Supplied pagination limit '{text}' is not valid."),
        )
    })?;
    let (items, more) = page
        .cut(items, "id")
        .map_err(|marker| missing("Object", &marker))?;
    let last = items
        .last()
        .and_then(|item| item["id"].as_str())
        .map(str::to_owned);
    let fields: Vec<&str> = ask
        .query
        .iter()
        .filter(|(name, _)| name == "fields")
        .map(|(_, v)| v.as_str())
        .collect();
    let items: Vec<Value> = items
        .into_iter()
        .map(|item| select(item, &fields))
        .collect();
    let mut links = json!([]);
    if let (true, Some(last)) = (more, last) {
        let href = format!(
            "{}/v2/lbaas/{path}?{}",
            ask.base,
            next_query(&ask.query, &last)
        );
        links = json!([{"href": href, "rel": "next"}]);
    }
    let mut body = json!({key: items});
    body[format!("{key}_links")] = links;
    Ok(Answer::json(200, body))
}
