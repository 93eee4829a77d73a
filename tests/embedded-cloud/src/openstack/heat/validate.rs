//! The checks of a template before anything is created.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::client::Client;
use super::failure::Failure;
use super::functions::{condition, evaluate};
use super::template::{self, Blank, requirements, section};
use super::{lookup, schema};

/// Names of the resources whose condition holds.
pub(super) fn active(template: &Value, scope: &Blank<'_>) -> Result<BTreeSet<String>, Failure> {
    let mut names = BTreeSet::new();
    for (name, resource) in section(template, "resources").into_iter().flatten() {
        let holds = match resource.get("condition") {
            Some(test) => condition(test, scope)?,
            None => true,
        };
        if holds {
            names.insert(name.clone());
        }
    }
    Ok(names)
}

/// What each active resource requires among the active ones.
pub(super) fn dependencies(
    template: &Value,
    active: &BTreeSet<String>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut graph = BTreeMap::new();
    for (name, resource) in section(template, "resources").into_iter().flatten() {
        if active.contains(name) {
            let needs = requirements(resource)
                .into_iter()
                .filter(|n| active.contains(n))
                .collect();
            graph.insert(name.clone(), needs);
        }
    }
    graph
}

fn check_cycles(
    graph: &BTreeMap<String, BTreeSet<String>>,
    template: &Value,
) -> Result<(), Failure> {
    let mut open = graph.clone();
    loop {
        let ready: Vec<_> = open
            .iter()
            .filter(|(_, n)| n.iter().all(|n| !open.contains_key(n)))
            .map(|(k, _)| k.clone())
            .collect();
        if ready.is_empty() {
            break;
        }
        ready.iter().for_each(|name| {
            open.remove(name);
        });
    }
    if open.is_empty() {
        return Ok(());
    }
    let label = |name: &str| {
        let kind = section(template, "resources")
            .and_then(|r| r[name].get("type"))
            .and_then(Value::as_str);
        format!(
            "{} \"{name}\"",
            kind.unwrap_or_default()
                .rsplit("::")
                .next()
                .unwrap_or_default()
        )
    };
    let edges = open.iter().map(|(name, needs)| {
        let needs: Vec<_> = needs.iter().map(|n| label(n)).collect();
        format!("{}: {{{}}}", label(name), needs.join(", "))
    });
    let message = format!(
        "Circular Dependency Found: {{{}}}",
        edges.collect::<Vec<_>>().join(", ")
    );
    Err(Failure::new("CircularDependencyException", message))
}

fn check_references(value: &Value, path: &str, known: &Map<String, Value>) -> Result<(), Failure> {
    let wrong = |name: &str| {
        let message = format!("The specified reference \"{name}\" (in {path}) is incorrect.");
        Err(Failure::new("InvalidTemplateReference", message))
    };
    match value {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .try_for_each(|(n, v)| check_references(v, &format!("{path}[{n}]"), known)),
        Value::Object(map) => {
            if map.len() == 1 {
                let named = map.get("get_resource").and_then(Value::as_str);
                let named = named.or_else(|| map.get("get_attr")?.get(0)?.as_str());
                if let Some(name) = named {
                    return if known.contains_key(name) {
                        Ok(())
                    } else {
                        wrong(name)
                    };
                }
            }
            map.iter()
                .try_for_each(|(k, v)| check_references(v, &format!("{path}.{k}"), known))
        }
        _ => Ok(()),
    }
}

/// Checks a whole template; gives the parameters with their values.
pub(super) async fn check(
    client: &Client,
    template: &Value,
    files: &Map<String, Value>,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    template::check_shape(template)?;
    let parameters = template::parameters(template, given)?;
    let empty = Map::new();
    let resources = section(template, "resources").unwrap_or(&empty);
    for (name, resource) in resources {
        for (field, label) in [("properties", "Properties"), ("metadata", "Metadata")] {
            if let Some(value) = resource.get(field) {
                check_references(value, &format!("{name}.{label}"), resources)?;
            }
        }
        let depends = resource.get("depends_on");
        let depends = depends.map_or_else(Vec::new, |d| {
            d.as_array().cloned().unwrap_or_else(|| vec![d.clone()])
        });
        for other in depends.iter().filter_map(Value::as_str) {
            if !resources.contains_key(other) {
                let message =
                    format!("The specified reference \"{other}\" (in {name}) is incorrect.");
                return Err(Failure::new("InvalidTemplateReference", message));
            }
        }
    }
    let scope = Blank {
        template,
        parameters: &parameters,
        files,
        resources: resources.keys().cloned().collect(),
    };
    let active = active(template, &scope)?;
    check_cycles(&dependencies(template, &active), template)?;
    let mut lookups = Vec::new();
    for name in &active {
        if let Err(failure) = check_resource(name, &resources[name], &scope, &mut lookups) {
            // Heat looks objects up property by property: what was named before the fault is reported first.
            for found in &lookups {
                lookup::check(client, found).await?;
            }
            return Err(failure);
        }
    }
    for (name, output) in section(template, "outputs").into_iter().flatten() {
        let value = output.get("value").ok_or_else(|| {
            Failure::invalid(format!(
                "\"value\" must be a value of the output \"{name}\""
            ))
        })?;
        evaluate(value, &scope)
            .map_err(|f| wrapped(f, |m| format!("outputs.{name}.value.get_attr: : {m}")))?;
    }
    lookups.sort_by(|a, b| (&a.constraint, &a.value).cmp(&(&b.constraint, &b.value)));
    lookups.dedup_by(|a, b| a.constraint == b.constraint && a.value == b.value);
    for found in &lookups {
        lookup::check(client, found).await?;
    }
    Ok(parameters)
}

fn wrapped(failure: Failure, words: impl FnOnce(&str) -> String) -> Failure {
    if failure.status == http::StatusCode::NOT_IMPLEMENTED
        || failure.kind == "InvalidTemplateReference"
    {
        return failure;
    }
    Failure::invalid(words(&failure.message))
}

fn check_resource(
    name: &str,
    resource: &Value,
    scope: &Blank<'_>,
    lookups: &mut Vec<schema::Lookup>,
) -> Result<(), Failure> {
    let kind = resource
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(schema) = schema::resource_type(kind) else {
        return Ok(());
    };
    let path = format!("resources.{name}.properties");
    let mut evaluated = Map::new();
    match resource.get("properties") {
        None | Some(Value::Null) => {}
        Some(Value::Object(properties)) => {
            for (key, value) in properties {
                let value = evaluate(value, scope).map_err(|failure| {
                    let attribute = failure.kind == "InvalidTemplateAttribute";
                    wrapped(failure, |m| {
                        if attribute {
                            format!("{path}.{key}.get_attr: : {m}")
                        } else {
                            format!("Property error: : {path}.{key}: : {m}")
                        }
                    })
                })?;
                evaluated.insert(key.clone(), value);
            }
        }
        Some(_) => {
            return Err(Failure::invalid(format!(
                "Resource {name} properties type is not a mapping"
            )));
        }
    }
    let properties = schema::resolve(schema, &path, &evaluated, lookups)?;
    super::plugins::validate(kind, name, &properties)
}
