//! Templates: reading them, their parameters and the scope their functions see.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::functions::{UNKNOWN, as_text};
use super::schema;

/// Bytes of a template text, at most.
pub(super) const MAX_TEMPLATE: usize = 524_288;
/// Resources of a stack, at most.
pub(super) const MAX_RESOURCES: usize = 1000;

const SECTIONS: [&str; 7] = [
    "heat_template_version",
    "description",
    "parameter_groups",
    "parameters",
    "resources",
    "outputs",
    "conditions",
];
const RESOURCE_KEYS: [&str; 9] = [
    "type",
    "properties",
    "metadata",
    "depends_on",
    "deletion_policy",
    "update_policy",
    "description",
    "external_id",
    "condition",
];
const VERSIONS: [&str; 17] = [
    "2013-05-23",
    "2014-10-16",
    "2015-04-30",
    "2015-10-15",
    "2016-04-08",
    "2016-10-14",
    "2017-02-24",
    "2017-09-01",
    "2018-03-02",
    "2018-08-31",
    "2021-04-16",
    "newton",
    "ocata",
    "pike",
    "queens",
    "rocky",
    "wallaby",
];

/// Reads a template given as an object, or as JSON or YAML text.
pub(super) fn parse(given: &Value) -> Result<Value, Failure> {
    let bad = |message: String| Failure::new("HTTPBadRequest", message);
    let template = match given {
        Value::String(text) => {
            if text.len() > MAX_TEMPLATE {
                let message = format!(
                    "Request limit exceeded: Template size ({} bytes) exceeds maximum allowed size ({MAX_TEMPLATE} bytes).",
                    text.len()
                );
                return Err(Failure::new("RequestLimitExceeded", message));
            }
            let parsed = serde_json::from_str::<Value>(text)
                .or_else(|_| serde_saphyr::from_str::<Value>(text));
            parsed.map_err(|e| {
                bad(format!(
                    "Template not in valid format: Error parsing template [root stack] {e}"
                ))
            })?
        }
        other => {
            let size = other.to_string().len();
            if size > MAX_TEMPLATE {
                let message = format!(
                    "Request limit exceeded: Template size ({size} bytes) exceeds maximum allowed size ({MAX_TEMPLATE} bytes)."
                );
                return Err(Failure::new("RequestLimitExceeded", message));
            }
            other.clone()
        }
    };
    if !template.is_object() {
        return Err(bad(
            "Template not in valid format: The template is not a JSON object or YAML mapping."
                .to_owned(),
        ));
    }
    Ok(template)
}

/// Checks sections, resource keys, types, names and counts.
pub(super) fn check_shape(template: &Value) -> Result<(), Failure> {
    let map = template
        .as_object()
        .ok_or_else(|| Failure::invalid("The template is not a mapping."))?;
    let Some(version) = map.get("heat_template_version").map(as_text) else {
        return Err(Failure::new(
            "InvalidTemplateVersion",
            "The template version is invalid: Template version was not provided",
        ));
    };
    if !VERSIONS.contains(&version.as_str()) {
        let message = format!(
            "The template version is invalid: \"heat_template_version: {version}\". \"heat_template_version\" should be one of: {}",
            VERSIONS.join(", ")
        );
        return Err(Failure::new("InvalidTemplateVersion", message));
    }
    if let Some(section) = map.keys().find(|k| !SECTIONS.contains(&k.as_str())) {
        return Err(Failure::invalid(format!(
            "The template section is invalid: {section}"
        )));
    }
    let empty = Map::new();
    let resources = section(template, "resources").unwrap_or(&empty);
    let parameters = section(template, "parameters").unwrap_or(&empty);
    if resources.len() > MAX_RESOURCES {
        return Err(Failure::new(
            "RequestLimitExceeded",
            "Request limit exceeded: Maximum resources per stack exceeded.",
        ));
    }
    let twice: Vec<_> = resources
        .keys()
        .filter(|k| parameters.contains_key(*k))
        .map(|k| format!("'{k}'"))
        .collect();
    if !twice.is_empty() {
        return Err(Failure::invalid(format!(
            "Duplicate names {{{}}}",
            twice.join(", ")
        )));
    }
    for (name, resource) in resources {
        let Some(fields) = resource.as_object() else {
            return Err(Failure::invalid(format!(
                "Resources must contain Resource. Found a [{name}] instead"
            )));
        };
        if let Some(key) = fields.keys().find(|k| !RESOURCE_KEYS.contains(&k.as_str())) {
            return Err(Failure::invalid(format!(
                "\"{key}\" is not a valid keyword inside a resource definition"
            )));
        }
        let Some(kind) = fields.get("type").and_then(Value::as_str) else {
            return Err(Failure::invalid("Each resource must contain a type key."));
        };
        if schema::resource_type(kind).is_none() {
            // Types that a real Heat knows and this stand-in does not would be a false 400: say so loudly.
            if kind.starts_with("OS::Heat::")
                || kind.contains(".yaml")
                || kind.starts_with("file:")
                || kind.starts_with("http")
            {
                return Err(Failure::unsupported(format!("the resource type {kind}")));
            }
            return Err(Failure::invalid(format!(
                "The Resource Type ({kind}) could not be found."
            )));
        }
        if fields.contains_key("external_id")
            || fields
                .get("deletion_policy")
                .is_some_and(|p| p != "Delete" && p != "delete")
        {
            return Err(Failure::unsupported(
                "external_id or a deletion_policy other than Delete",
            ));
        }
    }
    Ok(())
}

/// A section that is a map.
pub(super) fn section<'a>(template: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    template.get(name).and_then(Value::as_object)
}

/// Resources that a definition refers to: by functions, and by `depends_on`.
pub(super) fn requirements(definition: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    match definition.get("depends_on") {
        Some(Value::String(name)) => {
            found.insert(name.clone());
        }
        Some(Value::Array(names)) => found.extend(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(ToOwned::to_owned),
        ),
        _ => {}
    }
    if let Some(properties) = definition.get("properties") {
        references(properties, &mut found);
    }
    if let Some(metadata) = definition.get("metadata") {
        references(metadata, &mut found);
    }
    found
}

/// Names in `get_resource` and `get_attr` anywhere in a value.
pub(super) fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| references(v, found)),
        Value::Object(map) => {
            if map.len() == 1 {
                if let Some(name) = map.get("get_resource").and_then(Value::as_str) {
                    found.insert(name.to_owned());
                }
                if let Some(name) = map
                    .get("get_attr")
                    .and_then(|a| a.get(0))
                    .and_then(Value::as_str)
                {
                    found.insert(name.to_owned());
                }
            }
            map.values().for_each(|v| references(v, found));
        }
        _ => {}
    }
}

/// The value of a parameter in the type of its schema.
fn typed(name: &str, schema: &Value, value: &Value) -> Result<Value, Failure> {
    let invalid =
        |message: String| Failure::invalid(format!("Parameter '{name}' is invalid: {message}"));
    match schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("string")
    {
        "string" => Ok(match value {
            Value::String(_) => value.clone(),
            other => Value::String(as_text(other)),
        }),
        "number" => {
            let text = as_text(value);
            let number = text
                .parse::<i64>()
                .map(Value::from)
                .or_else(|_| text.parse::<f64>().map(Value::from));
            number.map_err(|_| invalid(format!("could not convert string to float: '{text}'")))
        }
        "boolean" => match as_text(value).to_ascii_lowercase().as_str() {
            "true" | "t" | "1" | "yes" | "on" | "y" => Ok(json!(true)),
            "false" | "f" | "0" | "no" | "off" | "n" => Ok(json!(false)),
            other => Err(invalid(format!(
                "Unrecognized value '{other}', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"
            ))),
        },
        "comma_delimited_list" => Ok(match value {
            Value::Array(_) => value.clone(),
            other => {
                let text = as_text(other);
                if text.is_empty() {
                    json!([])
                } else {
                    text.split(',').map(|s| Value::from(s.trim())).collect()
                }
            }
        }),
        "json" => match value {
            Value::Object(_) | Value::Array(_) => Ok(value.clone()),
            other => serde_json::from_str(&as_text(other))
                .map_err(|e| invalid(format!("Value must be valid JSON: {e}"))),
        },
        other => Err(Failure::invalid(format!("Invalid type ({other})"))),
    }
}

/// All parameters with their values in their types; what is not given takes its default.
pub(super) fn parameters(
    template: &Value,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let empty = Map::new();
    let schemas = section(template, "parameters").unwrap_or(&empty);
    if let Some(unknown) = given.keys().find(|k| !schemas.contains_key(*k)) {
        let message = format!("The Parameter ({unknown}) was not defined in template.");
        return Err(Failure::new("UnknownUserParameter", message));
    }
    let mut out = Map::new();
    for (name, schema) in schemas {
        let value = given
            .get(name)
            .or_else(|| schema.get("default"))
            .ok_or_else(|| {
                Failure::new(
                    "UserParameterMissing",
                    format!("The Parameter ({name}) was not provided."),
                )
            })?;
        let value = typed(name, schema, value)?;
        for constraint in schema
            .get("constraints")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(message) = schema::violation(constraint, &value) {
                let message = constraint.get("description").map_or(message, as_text);
                return Err(Failure::invalid(format!(
                    "Parameter '{name}' is invalid: {message}"
                )));
            }
        }
        out.insert(name.clone(), value);
    }
    Ok(out)
}

/// Parameters as the stack shows them: all text, hidden ones masked.
pub(super) fn shown_parameters(
    template: &Value,
    values: &Map<String, Value>,
) -> Map<String, Value> {
    let hidden = |name: &str| {
        let flag = section(template, "parameters")
            .and_then(|p| p.get(name))
            .and_then(|s| s.get("hidden"));
        flag.is_some_and(|f| as_text(f).eq_ignore_ascii_case("true"))
    };
    let text = |value: &Value| match value {
        Value::Array(list) if list.iter().all(|v| !v.is_object()) => {
            list.iter().map(as_text).collect::<Vec<_>>().join(",")
        }
        other => as_text(other),
    };
    let shown = values.iter().map(|(k, v)| {
        (
            k.clone(),
            if hidden(k) {
                json!("******")
            } else {
                json!(text(v))
            },
        )
    });
    shown.collect()
}

/// The scope before any resource exists: references and attributes are unknown.
#[derive(Debug)]
pub(super) struct Blank<'a> {
    pub(super) template: &'a Value,
    pub(super) parameters: &'a Map<String, Value>,
    pub(super) files: &'a Map<String, Value>,
    pub(super) resources: BTreeSet<String>,
}

impl super::functions::Scope for Blank<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        match name {
            "OS::stack_id" | "OS::stack_name" | "OS::project_id" => Some(json!(UNKNOWN)),
            _ => self.parameters.get(name).cloned(),
        }
    }

    fn reference(&self, name: &str) -> Option<Value> {
        self.resources.contains(name).then(|| json!(UNKNOWN))
    }

    fn attribute(&self, resource: &str, attribute: &str) -> Result<Value, Failure> {
        if !self.resources.contains(resource) {
            let message =
                format!("The specified reference \"{resource}\" (in unknown) is incorrect.");
            return Err(Failure::new("InvalidTemplateReference", message));
        }
        let definition = section(self.template, "resources").and_then(|r| r.get(resource));
        let kind = definition
            .and_then(|d| d.get("type"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        let known =
            schema::resource_type(kind).is_none_or(|t| t.attributes.iter().any(|a| a == attribute));
        if known
            || attribute.is_empty()
            || attribute == "show"
            || dynamic_attribute(kind, attribute)
        {
            Ok(json!(UNKNOWN))
        } else {
            let message =
                format!("The Referenced Attribute ({resource} {attribute}) is incorrect.");
            Err(Failure::new("InvalidTemplateAttribute", message))
        }
    }

    fn file(&self, name: &str) -> Option<Value> {
        self.files.get(name).cloned()
    }

    fn condition(&self, name: &str) -> Option<Value> {
        section(self.template, "conditions")
            .and_then(|c| c.get(name))
            .cloned()
    }
}

/// Attributes that Heat resolves though its schema does not list them.
pub(super) fn dynamic_attribute(kind: &str, attribute: &str) -> bool {
    kind == "OS::Nova::Server" && attribute == "first_address"
}

/// A stack name that Heat accepts.
pub(super) fn check_name(name: &str) -> Result<(), Failure> {
    let fits = name.len() <= 255
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if fits {
        return Ok(());
    }
    let message = format!(
        "Invalid stack name {name} must contain only alphanumeric or \"_-.\" characters, must start with alpha and must be 255 characters or less."
    );
    Err(Failure::at(
        StatusCode::BAD_REQUEST,
        "StackValidationFailed",
        message,
    ))
}
