//! The paths of the API.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, Answers, Ask};
use super::super::{ApiError, Microversion, ServiceKind};
use super::{NODE_TRAITS, Placement, Provider, providers};

const NEWEST: u32 = 39;
const MALFORMED: &str = "The server could not comply with the request since it is either malformed or otherwise incorrect.";

fn fault(status: u16, message: impl Into<String>) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ApiError::new(ServiceKind::Placement, status, "", message)
}

impl Answers for Placement {
    fn open(&self, _base: &str, method: &Method, path: &[&str]) -> Option<Answer> {
        (method == Method::GET && path.is_empty()).then(|| {
            let version = json!({
                "id": "v1.0", "max_version": format!("1.{NEWEST}"), "min_version": "1.0", "status": "CURRENT",
                "links": [{"rel": "self", "href": ""}],
            });
            Answer::json(200, json!({"versions": [version]}))
        })
    }

    fn decorate(&self, version: Microversion, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&format!("placement 1.{}", asked(version))) {
            headers.insert("openstack-api-version", value);
        }
        headers.insert("vary", HeaderValue::from_static("openstack-api-version"));
    }

    fn answer(self: &Arc<Self>, ask: &Ask) -> Result<Answer, ApiError> {
        if asked(ask.version) > NEWEST {
            let text = format!(
                "The resource could not be generated that was acceptable to your browser (content of type application/json. \
                 \n\n Invalid microversion: Unacceptable version header: 1.{}",
                asked(ask.version)
            );
            return Err(fault(406, text));
        }
        let segments = ask.segments();
        if !ask.caller.is_admin {
            let first = segments.first().copied().unwrap_or_default();
            let text = format!(
                "Access was denied to this resource.\n\n Policy does not allow placement:{first}:list to be performed.  "
            );
            return Err(fault(403, text));
        }
        let all = providers(&ask.cloud);
        match (&ask.method, segments.as_slice()) {
            (&Method::GET, ["resource_providers"]) => {
                let name = ask.param("name");
                let uuid = ask.param("uuid");
                let seen = all.iter().filter(|p| {
                    name.is_none_or(|n| n == p.name) && uuid.is_none_or(|u| u == p.uuid)
                });
                let views: Vec<Value> = seen.map(provider_view).collect();
                Ok(Answer::json(200, json!({"resource_providers": views})))
            }
            (&Method::GET, ["resource_providers", id, rest @ ..]) => {
                let found = all.iter().find(|p| p.uuid == *id).ok_or_else(|| {
                    let text = format!("The resource could not be found.\n\n No resource provider with uuid {id} found  ");
                    fault(404, text)
                })?;
                provider(ask, found, rest)
            }
            (&Method::GET, ["allocation_candidates"]) => candidates(ask, &all),
            (&Method::GET, ["allocations", consumer]) => {
                let mut allocations = Map::new();
                for p in &all {
                    for (_, takes) in p.consumers.iter().filter(|(id, _)| id == consumer) {
                        allocations.insert(
                            p.uuid.clone(),
                            json!({"resources": amounts(takes), "generation": 1}),
                        );
                    }
                }
                Ok(Answer::json(200, json!({"allocations": allocations})))
            }
            (&Method::GET, ["resource_classes"]) => {
                let classes = classes(&all);
                let views: Vec<Value> = classes
                    .iter()
                    .map(|c| json!({"name": c, "links": [{"rel": "self", "href": format!("/resource_classes/{c}")}]}))
                    .collect();
                Ok(Answer::json(200, json!({"resource_classes": views})))
            }
            (&Method::GET, ["traits"]) => {
                let filter = ask
                    .param("name")
                    .and_then(|n| n.strip_prefix("startswith:"))
                    .unwrap_or_default();
                let known: Vec<String> = traits(&all)
                    .into_iter()
                    .filter(|t| t.starts_with(filter))
                    .collect();
                Ok(Answer::json(200, json!({"traits": known})))
            }
            _ => Err(ask.unknown()),
        }
    }
}

fn asked(version: Microversion) -> u32 {
    if version.latest {
        NEWEST
    } else {
        version.minor
    }
}

fn amounts(takes: &[(String, u64)]) -> Map<String, Value> {
    takes
        .iter()
        .map(|(class, amount)| (class.clone(), (*amount).into()))
        .collect()
}

fn classes(all: &[Provider]) -> BTreeSet<String> {
    all.iter()
        .flat_map(|p| p.classes.iter().map(|(class, ..)| class.clone()))
        .collect()
}

fn traits(all: &[Provider]) -> BTreeSet<String> {
    all.iter()
        .flat_map(|p| p.traits.clone())
        .chain(NODE_TRAITS.iter().map(|t| (*t).to_owned()))
        .collect()
}

fn provider_view(p: &Provider) -> Value {
    let path = format!("/resource_providers/{}", p.uuid);
    let mut links = vec![json!({"rel": "self", "href": path})];
    for rel in [
        "inventories",
        "usages",
        "aggregates",
        "traits",
        "allocations",
    ] {
        links.push(json!({"rel": rel, "href": format!("{path}/{rel}")}));
    }
    json!({
        "uuid": p.uuid, "name": p.name, "generation": 1, "links": links, "parent_provider_uuid": null,
        "root_provider_uuid": p.uuid,
    })
}

fn provider(ask: &Ask, p: &Provider, rest: &[&str]) -> Result<Answer, ApiError> {
    let body = match rest {
        [] => provider_view(p),
        ["inventories"] => {
            let inventory = |total: u64| {
                json!({
                    "total": total, "reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": 1.0,
                })
            };
            let all: Map<String, Value> = p
                .classes
                .iter()
                .map(|(class, total, _)| (class.clone(), inventory(*total)))
                .collect();
            json!({"resource_provider_generation": 1, "inventories": all})
        }
        ["usages"] => {
            let all: Map<String, Value> = p
                .classes
                .iter()
                .map(|(class, _, used)| (class.clone(), (*used).into()))
                .collect();
            json!({"resource_provider_generation": 1, "usages": all})
        }
        ["traits"] => json!({"traits": p.traits, "resource_provider_generation": 1}),
        ["aggregates"] => json!({"aggregates": [], "resource_provider_generation": 1}),
        ["allocations"] => {
            let all: Map<String, Value> = p
                .consumers
                .iter()
                .map(|(id, takes)| (id.clone(), json!({"resources": amounts(takes)})))
                .collect();
            json!({"allocations": all, "resource_provider_generation": 1})
        }
        _ => return Err(ask.unknown()),
    };
    Ok(Answer::json(200, body))
}

fn candidates(ask: &Ask, all: &[Provider]) -> Result<Answer, ApiError> {
    let Some(asked) = ask.param("resources") else {
        return Err(fault(
            400,
            format!("{MALFORMED}\n\n 'resources' is a required property  "),
        ));
    };
    let mut wanted: Vec<(String, u64)> = Vec::new();
    for part in asked.split(',') {
        let (class, amount) = part.split_once(':').unwrap_or((part, "1"));
        let amount = amount.parse().map_err(|_| {
            fault(
                400,
                format!("{MALFORMED}\n\n Malformed resources parameter.  "),
            )
        })?;
        wanted.push((class.to_owned(), amount));
    }
    let known = classes(all);
    if let Some((class, _)) = wanted.iter().find(|(class, _)| !known.contains(class)) {
        let text = format!(
            "{MALFORMED}\n\n Invalid resource class in resources parameter: No such resource class {class}.  "
        );
        return Err(fault(400, text));
    }
    let mut required: Vec<&str> = Vec::new();
    let mut forbidden: Vec<&str> = Vec::new();
    for name in ask
        .query
        .iter()
        .filter(|(key, _)| key == "required")
        .flat_map(|(_, value)| value.split(','))
    {
        match name.strip_prefix('!') {
            Some(name) => forbidden.push(name),
            None => required.push(name),
        }
    }
    let known = traits(all);
    let lost: Vec<&str> = required
        .iter()
        .chain(&forbidden)
        .filter(|t| !known.contains(**t))
        .copied()
        .collect();
    if !lost.is_empty() {
        return Err(fault(
            400,
            format!("{MALFORMED}\n\n No such trait(s): {}.  ", lost.join(", ")),
        ));
    }
    let has = |p: &Provider, name: &str| p.traits.iter().any(|t| t == name);
    let fits = |p: &&Provider| {
        let room = |class: &str, amount: u64| {
            p.classes
                .iter()
                .any(|(c, total, used)| c == class && used + amount <= *total)
        };
        wanted.iter().all(|(class, amount)| room(class, *amount))
            && required.iter().all(|t| has(p, t))
            && !forbidden.iter().any(|t| has(p, t))
    };
    let limit = ask
        .param("limit")
        .and_then(|t| t.parse().ok())
        .unwrap_or(usize::MAX);
    let mut requests = Vec::new();
    let mut summaries = Map::new();
    for p in all.iter().filter(fits).take(limit) {
        let allocation = json!({p.uuid.as_str(): {"resources": amounts(&wanted)}});
        requests.push(json!({"allocations": allocation, "mappings": {"": [p.uuid]}}));
        let resources: Map<String, Value> = p
            .classes
            .iter()
            .map(|(class, total, used)| (class.clone(), json!({"capacity": total, "used": used})))
            .collect();
        let summary = json!({
            "resources": resources, "traits": p.traits, "parent_provider_uuid": null, "root_provider_uuid": p.uuid,
        });
        summaries.insert(p.uuid.clone(), summary);
    }
    Ok(Answer::json(
        200,
        json!({"allocation_requests": requests, "provider_summaries": summaries}),
    ))
}
