//! The body of a request that creates or changes a stack.

use serde_json::{Map, Value};

use super::failure::Failure;
use super::functions::as_text;
use super::template;

/// What a create, update, preview or validate asks for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) template: Option<Value>,
    pub(super) files: Map<String, Value>,
    pub(super) environment: Map<String, Value>,
    /// From the environment and the request together.
    pub(super) parameters: Map<String, Value>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) timeout_mins: Option<u64>,
    pub(super) disable_rollback: Option<bool>,
    pub(super) clear_parameters: Vec<String>,
}

fn bad(message: impl Into<String>) -> Failure {
    Failure::new("HTTPBadRequest", message)
}

fn map(value: Option<&Value>, what: &str) -> Result<Map<String, Value>, Failure> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(Value::String(text)) => match serde_saphyr::from_str(text) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(Value::Null) => Ok(Map::new()),
            _ => Err(bad(format!(
                "{what} not in valid format: The {what} is not a JSON object or YAML mapping."
            ))),
        },
        Some(_) => Err(bad(format!("{what} not in valid format"))),
    }
}

/// Reads the body.
pub(super) fn read(body: &Map<String, Value>) -> Result<Wanted, Failure> {
    for key in ["template_url", "adopt_stack_data"] {
        if body.get(key).is_some_and(|v| !v.is_null()) {
            return Err(Failure::unsupported(format!("{key} in a stack request")));
        }
    }
    let template = match body.get("template") {
        None | Some(Value::Null) => None,
        Some(given) => Some(template::parse(given)?),
    };
    let environment = map(body.get("environment"), "environment")?;
    let registry = environment
        .get("resource_registry")
        .and_then(Value::as_object);
    let plain = |r: &Map<String, Value>| {
        r.iter()
            .all(|(k, v)| k == "resources" && v.as_object().is_some_and(Map::is_empty))
    };
    if registry.is_some_and(|r| !plain(r)) {
        return Err(Failure::unsupported(
            "a resource_registry in the environment",
        ));
    }
    let mut parameters = Map::new();
    for section in ["parameter_defaults", "parameters"] {
        parameters.extend(map(environment.get(section), section)?);
    }
    parameters.extend(map(body.get("parameters"), "parameters")?);
    let tags = match body.get("tags") {
        None | Some(Value::Null) => None,
        Some(Value::Array(list)) => Some(list.iter().map(as_text).collect()),
        Some(value) => {
            let text = as_text(value);
            Some(
                text.split(',')
                    .map(str::trim)
                    .filter(|t| !t.is_empty())
                    .map(ToOwned::to_owned)
                    .collect(),
            )
        }
    };
    if let Some(tag) = tags
        .iter()
        .flatten()
        .find(|t: &&String| t.chars().count() > 80 || t.is_empty())
    {
        return Err(bad(format!(
            "Invalid tag, \"{tag}\" is longer than 80 characters"
        )));
    }
    let timeout_mins = match body.get("timeout_mins") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let minutes = value.as_u64().or_else(|| value.as_str()?.parse().ok());
            Some(minutes.ok_or_else(|| {
                bad(format!(
                    "Only integer is acceptable by 'timeout_mins': {value}"
                ))
            })?)
        }
    };
    let disable_rollback = match body.get("disable_rollback") {
        Some(Value::Bool(value)) => Some(*value),
        Some(Value::String(text)) => Some(text.eq_ignore_ascii_case("true")),
        _ => None,
    };
    if disable_rollback == Some(false) {
        return Err(Failure::unsupported(
            "a stack with rollback (disable_rollback: false)",
        ));
    }
    let clear = body.get("clear_parameters").and_then(Value::as_array);
    Ok(Wanted {
        template,
        files: map(body.get("files"), "files")?,
        environment,
        parameters,
        tags,
        timeout_mins,
        disable_rollback,
        clear_parameters: clear.into_iter().flatten().map(as_text).collect(),
    })
}

/// The template, or the error of a request without one.
pub(super) fn template_of(wanted: &Wanted) -> Result<Value, Failure> {
    wanted
        .template
        .clone()
        .ok_or_else(|| bad("No template specified"))
}
