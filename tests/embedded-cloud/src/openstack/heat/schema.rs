//! Property schemas of the resource types, as a real Heat publishes them, and the checks made with them.

use std::collections::HashMap;
use std::sync::LazyLock;

use indexmap::IndexMap;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::functions::{as_text, is_unknown};

/// One property.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Property {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) update_allowed: bool,
    #[serde(default)]
    pub(super) default: Option<Value>,
    #[serde(default)]
    pub(super) constraints: Vec<Value>,
    #[serde(default)]
    pub(super) schema: Option<IndexMap<String, Self>>,
}

/// One resource type.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResourceType {
    /// In the order in which Heat checks them.
    pub(super) properties: IndexMap<String, Property>,
    pub(super) attributes: Vec<String>,
}

static TYPES: LazyLock<HashMap<String, ResourceType>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("resource_types.json"))
        .expect("the schema file is checked by a test")
});

/// A custom constraint to be looked up: its name, the property's path and the value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lookup {
    pub(super) constraint: String,
    pub(super) path: String,
    pub(super) value: String,
}

/// The type by name.
pub(super) fn resource_type(name: &str) -> Option<&'static ResourceType> {
    TYPES.get(name)
}

/// All names.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = TYPES.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

fn error(path: &str, message: &str) -> Failure {
    Failure::invalid(format!("Property error: : {path}: : {message}"))
}

/// Python's `repr` of a value, roughly.
fn repr(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        Value::Null => "None".to_owned(),
        Value::Array(list) => format!("[{}]", list.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let fields = map.iter().map(|(k, v)| format!("'{k}': {}", repr(v)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => as_text(other),
    }
}

/// Checks evaluated properties against the type, converts them to the schema's types and fills in defaults.
/// Custom constraints are collected in `lookups`.
pub(super) fn resolve(
    kind: &ResourceType,
    path: &str,
    given: &Map<String, Value>,
    lookups: &mut Vec<Lookup>,
) -> Result<Map<String, Value>, Failure> {
    object(&kind.properties, path, given, lookups)
}

fn object(
    properties: &IndexMap<String, Property>,
    path: &str,
    given: &Map<String, Value>,
    lookups: &mut Vec<Lookup>,
) -> Result<Map<String, Value>, Failure> {
    if let Some(unknown) = given.keys().find(|k| !properties.contains_key(*k)) {
        return Err(error(path, &format!("Unknown Property {unknown}")));
    }
    let mut out = Map::new();
    for (name, property) in properties {
        let value = match given.get(name) {
            Some(Value::Null) | None => property.default.clone(),
            Some(value) => Some(value.clone()),
        };
        match value {
            Some(value) => {
                let value = convert(property, &format!("{path}.{name}"), value, lookups)?;
                out.insert(name.clone(), value);
            }
            None if property.required => {
                return Err(error(path, &format!("Property {name} not assigned")));
            }
            None => {}
        }
    }
    Ok(out)
}

fn convert(
    property: &Property,
    path: &str,
    value: Value,
    lookups: &mut Vec<Lookup>,
) -> Result<Value, Failure> {
    if is_unknown(&value) {
        return Ok(value);
    }
    let value = match property.kind.as_str() {
        "string" => match value {
            Value::String(_) => value,
            Value::Number(_) | Value::Bool(_) => Value::String(as_text(&value)),
            _ => {
                return Err(error(
                    path,
                    &format!("Value must be a string; got {}", repr(&value)),
                ));
            }
        },
        "integer" => whole(&value)
            .ok_or_else(|| error(path, &format!("Value {} is not an integer", repr(&value))))?,
        "number" => number(&value)
            .ok_or_else(|| error(path, &format!("Value {} is not a number", repr(&value))))?,
        "boolean" => match &value {
            Value::Bool(_) => value,
            Value::String(text) if text.eq_ignore_ascii_case("true") => json!(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") => json!(false),
            _ => {
                return Err(error(
                    path,
                    &format!("\"{}\" is not a valid boolean", as_text(&value)),
                ));
            }
        },
        "list" => list(property, path, value, lookups)?,
        "map" => map(property, path, value, lookups)?,
        _ => value,
    };
    for constraint in &property.constraints {
        check(constraint, path, &value, lookups)?;
    }
    Ok(value)
}

fn whole(value: &Value) -> Option<Value> {
    value
        .as_i64()
        .or_else(|| value.as_str()?.trim().parse().ok())
        .map(Value::from)
}

fn number(value: &Value) -> Option<Value> {
    if let Some(found) = whole(value) {
        return Some(found);
    }
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
        .map(Value::from)
}

fn list(
    property: &Property,
    path: &str,
    value: Value,
    lookups: &mut Vec<Lookup>,
) -> Result<Value, Failure> {
    let items = match value {
        Value::Array(items) => items,
        other => return Err(error(path, &format!("\"{}\" is not a list", repr(&other)))),
    };
    let Some(item) = property.schema.as_ref().and_then(|s| s.get("*")) else {
        return Ok(Value::Array(items));
    };
    let items = items.into_iter().filter(|i| !i.is_null()).enumerate();
    items
        .map(|(n, i)| convert(item, &format!("{path}[{n}]"), i, lookups))
        .collect()
}

fn map(
    property: &Property,
    path: &str,
    value: Value,
    lookups: &mut Vec<Lookup>,
) -> Result<Value, Failure> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => fields,
            _ => return Err(error(path, &format!("\"{text}\" is not a map"))),
        },
        other => return Err(error(path, &format!("\"{}\" is not a map", repr(&other)))),
    };
    match &property.schema {
        Some(schema) if !schema.contains_key("*") => {
            object(schema, path, &fields, lookups).map(Value::Object)
        }
        _ => Ok(Value::Object(fields)),
    }
}

fn check(
    constraint: &Value,
    path: &str,
    value: &Value,
    lookups: &mut Vec<Lookup>,
) -> Result<(), Failure> {
    if let Some(name) = constraint.get("custom_constraint").and_then(Value::as_str) {
        let values = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values
            .iter()
            .filter_map(Value::as_str)
            .filter(|v| !v.is_empty())
        {
            lookups.push(Lookup {
                constraint: name.to_owned(),
                path: path.to_owned(),
                value: value.to_owned(),
            });
        }
        return Ok(());
    }
    match violation(constraint, value) {
        Some(message) => Err(error(path, &message)),
        None => Ok(()),
    }
}

fn bounds(limits: &Value) -> (Option<f64>, Option<f64>, String) {
    let get = |key: &str| limits.get(key).and_then(Value::as_f64);
    let parts = ["min", "max"]
        .into_iter()
        .filter_map(|k| Some(format!("{k}: {}", as_text(limits.get(k)?))));
    (get("min"), get("max"), parts.collect::<Vec<_>>().join(", "))
}

fn outside(value: f64, limits: &Value) -> Option<String> {
    let (min, max, text) = bounds(limits);
    (min.is_some_and(|m| value < m) || max.is_some_and(|m| value > m)).then_some(text)
}

/// What a constraint (other than a custom one) has against a value.
#[allow(clippy::cast_precision_loss, reason = "lengths are small")]
pub(super) fn violation(constraint: &Value, value: &Value) -> Option<String> {
    if let Some(allowed) = constraint.get("allowed_values").and_then(Value::as_array) {
        let one = |v: &Value| !allowed.iter().any(|a| a == v || as_text(a) == as_text(v));
        let values = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let bad = values.iter().find(|v| one(v))?;
        let quoted = |v: &Value| {
            v.as_str()
                .map_or_else(|| as_text(v), |t| format!("\"{t}\""))
        };
        let list = allowed.iter().map(quoted).collect::<Vec<_>>().join(", ");
        return Some(format!(
            "\"{}\" is not an allowed value [{list}]",
            as_text(bad)
        ));
    }
    if let Some(limits) = constraint.get("range") {
        let number = number(value)?.as_f64()?;
        return outside(number, limits)
            .map(|text| format!("{} is out of range ({text})", as_text(value)));
    }
    if let Some(limits) = constraint.get("length") {
        let length = match value {
            Value::String(text) => text.chars().count(),
            Value::Array(list) => list.len(),
            Value::Object(map) => map.len(),
            _ => return None,
        };
        return outside(length as f64, limits)
            .map(|text| format!("length ({length}) is out of range ({text})"));
    }
    if let Some(pattern) = constraint.get("allowed_pattern").and_then(Value::as_str) {
        let regex = Regex::new(&format!("^(?:{pattern})$")).ok()?;
        let text = as_text(value);
        return (!regex.is_match(&text))
            .then(|| format!("\"{text}\" does not match pattern \"{pattern}\""));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "reads better")]
    fn run(kind: &str, properties: Value) -> Result<Map<String, Value>, String> {
        let kind = resource_type(kind).unwrap();
        resolve(
            kind,
            "resources.x.properties",
            properties.as_object().unwrap(),
            &mut Vec::new(),
        )
        .map_err(|f| f.message)
    }

    #[test]
    fn a_typo_is_refused_in_heats_words() {
        let error = run(
            "OS::Neutron::Subnet",
            json!({"cidr": "x", "network": "n", "bogus": 1}),
        )
        .unwrap_err();
        assert_eq!(
            error,
            "Property error: : resources.x.properties: : Unknown Property bogus"
        );
        let error = run("OS::Nova::Server", json!({})).unwrap_err();
        assert_eq!(
            error,
            "Property error: : resources.x.properties: : Property flavor not assigned"
        );
        let error = run(
            "OS::Neutron::Port",
            json!({"network": "n", "fixed_ips": [{"subnet": "s", "nope": 1}]}),
        )
        .unwrap_err();
        assert_eq!(
            error,
            "Property error: : resources.x.properties.fixed_ips[0]: : Unknown Property nope"
        );
        assert!(
            run(
                "OS::Octavia::Listener",
                json!({"protocol": "TCP", "protocol_port": "abc"})
            )
            .is_err()
        );
    }

    #[test]
    fn values_are_converted_and_defaults_filled_in() {
        let found = run(
            "OS::Heat::WaitCondition",
            json!({"handle": "h", "timeout": "60"}),
        )
        .unwrap();
        assert_eq!(found["timeout"], json!(60));
        assert_eq!(found["count"], json!(1));
    }
}
