//! The functions of a template.

use serde_json::{Map, Value};

use super::failure::Failure;

/// Stands for a value that is not known before resources exist; part of strings it was put into.
pub(super) const UNKNOWN: &str = "\u{1}unknown\u{1}";

/// Whether a value is, or contains, something not yet known.
pub(super) fn is_unknown(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains(UNKNOWN))
}

/// Where functions find what they name.
pub(super) trait Scope {
    /// `get_param`.
    fn parameter(&self, name: &str) -> Option<Value>;
    /// `get_resource`: the reference id.
    fn reference(&self, name: &str) -> Option<Value>;
    /// `get_attr`: an attribute, before the path.
    fn attribute(&self, resource: &str, attribute: &str) -> Result<Value, Failure>;
    /// `get_file`.
    fn file(&self, name: &str) -> Option<Value>;
    /// A named condition's definition.
    fn condition(&self, name: &str) -> Option<Value>;
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::invalid(message)
}

/// A value as text, the way `str_replace` puts it into a template.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(_) | Value::Object(_) => python_json(value),
    }
}

/// JSON as Python's `json.dumps` writes it: a blank behind commas and colons.
pub(super) fn python_json(value: &Value) -> String {
    match value {
        Value::Array(list) => format!(
            "[{}]",
            list.iter().map(python_json).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), python_json(v)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Follows the path of a `get_attr` or `get_param`.
fn follow(mut value: Value, path: &[Value]) -> Value {
    for step in path {
        if is_unknown(&value) {
            return value;
        }
        value = match (&value, step) {
            (Value::Object(map), Value::String(key)) => {
                map.get(key).cloned().unwrap_or(Value::Null)
            }
            (Value::Array(list), step) => {
                let index = step.as_u64().or_else(|| step.as_str()?.parse().ok());
                index
                    .and_then(|i| list.get(usize::try_from(i).ok()?).cloned())
                    .unwrap_or(Value::Null)
            }
            (Value::String(text), step) => match serde_json::from_str::<Value>(text) {
                Ok(inner @ (Value::Object(_) | Value::Array(_))) => {
                    follow(inner, std::slice::from_ref(step))
                }
                _ => Value::Null,
            },
            _ => Value::Null,
        };
    }
    value
}

/// Evaluates all functions in a value.
pub(super) fn evaluate(value: &Value, scope: &dyn Scope) -> Result<Value, Failure> {
    match value {
        Value::Array(list) => list.iter().map(|v| evaluate(v, scope)).collect(),
        Value::Object(map) => {
            if map.len() == 1
                && let Some((name, argument)) = map.iter().next()
                && let Some(result) = function(name, argument, scope)?
            {
                return Ok(result);
            }
            let fields = map
                .iter()
                .map(|(k, v)| Ok((k.clone(), evaluate(v, scope)?)));
            fields
                .collect::<Result<Map<_, _>, Failure>>()
                .map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}

fn function(name: &str, argument: &Value, scope: &dyn Scope) -> Result<Option<Value>, Failure> {
    let result = match name {
        "get_param" => get_param(argument, scope)?,
        "get_resource" => {
            let target = argument
                .as_str()
                .ok_or_else(|| invalid("get_resource needs a resource name"))?;
            scope.reference(target).ok_or_else(|| {
                Failure::new(
                    "InvalidTemplateReference",
                    format!("The specified reference \"{target}\" (in unknown) is incorrect."),
                )
            })?
        }
        "get_attr" => get_attr(argument, scope)?,
        "get_file" => {
            let evaluated = evaluate(argument, scope)?;
            let file = evaluated.as_str().unwrap_or_default();
            scope.file(file).ok_or_else(|| {
                invalid(format!(
                    "No content found in the \"files\" section for get_file path: {file}"
                ))
            })?
        }
        "str_replace" | "str_replace_strict" => str_replace(name, &evaluate(argument, scope)?)?,
        "list_join" => list_join(&evaluate(argument, scope)?)?,
        "str_split" => str_split(&evaluate(argument, scope)?)?,
        "list_concat" => list_concat(&evaluate(argument, scope)?, false)?,
        "list_concat_unique" => list_concat(&evaluate(argument, scope)?, true)?,
        "map_merge" => map_merge(&evaluate(argument, scope)?)?,
        "digest" => digest(&evaluate(argument, scope)?)?,
        "repeat" => repeat(argument, scope)?,
        "filter" => filter(&evaluate(argument, scope)?)?,
        "if" => return branch(argument, scope).map(Some),
        "equals" | "not" | "and" | "or" | "contains" => {
            Value::Bool(condition(&single(name, argument), scope)?)
        }
        "yaql" | "resource_facade" | "make_url" | "map_replace" | "str_replace_vstrict" => {
            return Err(Failure::unsupported(format!(
                "the template function {name}"
            )));
        }
        _ => {
            if name.starts_with("Fn::") || name.starts_with("get_") {
                return Err(invalid(format!("\"{name}\" is not a valid function")));
            }
            return Ok(None);
        }
    };
    Ok(Some(result))
}

fn single(name: &str, argument: &Value) -> Value {
    Value::Object([(name.to_owned(), argument.clone())].into_iter().collect())
}

fn get_param(argument: &Value, scope: &dyn Scope) -> Result<Value, Failure> {
    let (name, path) = match argument {
        Value::String(name) => (name.as_str(), &[][..]),
        Value::Array(list) => match list.split_first() {
            Some((Value::String(name), path)) => (name.as_str(), path),
            _ => return Err(invalid("Function \"get_param\" needs a parameter name")),
        },
        _ => return Err(invalid("Function \"get_param\" needs a parameter name")),
    };
    let value = scope.parameter(name).ok_or_else(|| {
        Failure::new(
            "UserParameterMissing",
            format!("The Parameter ({name}) was not provided."),
        )
    })?;
    let path: Vec<_> = path
        .iter()
        .map(|p| evaluate(p, scope))
        .collect::<Result<_, _>>()?;
    Ok(follow(value, &path))
}

fn get_attr(argument: &Value, scope: &dyn Scope) -> Result<Value, Failure> {
    let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    let [Value::String(resource), rest @ ..] = list else {
        return Err(invalid(
            "Arguments to \"get_attr\" must be of the form [resource_name, attribute, (path), ...]",
        ));
    };
    let path: Vec<_> = rest
        .iter()
        .map(|p| evaluate(p, scope))
        .collect::<Result<_, _>>()?;
    let Some((attribute, path)) = path.split_first() else {
        return scope.attribute(resource, "");
    };
    Ok(follow(
        scope.attribute(resource, attribute.as_str().unwrap_or_default())?,
        path,
    ))
}

fn str_replace(name: &str, argument: &Value) -> Result<Value, Failure> {
    let template = argument.get("template").ok_or_else(|| {
        invalid(format!(
            "\"{name}\" syntax should be a map with template and params"
        ))
    })?;
    let mut text = as_text(template);
    let params = argument.get("params").and_then(Value::as_object);
    let params =
        params.ok_or_else(|| invalid(format!("\"{name}\" parameters must be a mapping")))?;
    let mut keys: Vec<_> = params.iter().collect();
    keys.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(b.0.cmp(a.0)));
    // One pass with the longest placeholder first, so that replaced text is never replaced again.
    let mut out = String::with_capacity(text.len());
    while !text.is_empty() {
        let next = keys
            .iter()
            .filter(|(k, _)| !k.is_empty())
            .filter_map(|(k, v)| Some((text.find(k.as_str())?, *k, *v)));
        let Some((at, key, value)) = next.min_by_key(|(at, key, _)| (*at, usize::MAX - key.len()))
        else {
            break;
        };
        out.push_str(&text[..at]);
        out.push_str(&as_text(value));
        text.drain(..at + key.len());
    }
    out.push_str(&text);
    Ok(Value::String(out))
}

fn list_join(argument: &Value) -> Result<Value, Failure> {
    let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    let [Value::String(delimiter), lists @ ..] = list else {
        return Err(invalid(
            "Incorrect arguments to \"list_join\" should be: \"list_join\" : [ \" \", [ \"str1\", \"str2\"] ]",
        ));
    };
    let mut parts = Vec::new();
    for list in lists {
        match list {
            Value::Array(items) => parts.extend(items.iter().map(as_text)),
            Value::Null => {}
            other if is_unknown(other) => return Ok(Value::from(UNKNOWN)),
            _ => return Err(invalid("Items to join must be strings, maps or lists")),
        }
    }
    Ok(Value::String(parts.join(delimiter)))
}

fn str_split(argument: &Value) -> Result<Value, Failure> {
    let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    let [Value::String(delimiter), Value::String(text), index @ ..] = list else {
        return Err(invalid(
            "Incorrect arguments to \"str_split\" should be: \"str_split\" : [ \",\", \"apples,pears\", <optional index>]",
        ));
    };
    if text.contains(UNKNOWN) {
        return Ok(Value::from(UNKNOWN));
    }
    let parts: Vec<Value> = text.split(delimiter.as_str()).map(Value::from).collect();
    match index.first() {
        None => Ok(Value::Array(parts)),
        Some(index) => {
            let index = index
                .as_u64()
                .or_else(|| index.as_str()?.parse().ok())
                .and_then(|i| usize::try_from(i).ok());
            index
                .and_then(|i| parts.get(i).cloned())
                .ok_or_else(|| invalid("Incorrect index to \"str_split\""))
        }
    }
}

fn list_concat(argument: &Value, unique: bool) -> Result<Value, Failure> {
    let mut out: Vec<Value> = Vec::new();
    for list in argument
        .as_array()
        .ok_or_else(|| invalid("Incorrect arguments to \"list_concat\""))?
    {
        match list {
            Value::Array(items) => {
                for item in items {
                    if !unique || !out.contains(item) {
                        out.push(item.clone());
                    }
                }
            }
            Value::Null => {}
            other if is_unknown(other) => return Ok(Value::from(UNKNOWN)),
            _ => return Err(invalid("\"list_concat\" needs lists")),
        }
    }
    Ok(Value::Array(out))
}

fn map_merge(argument: &Value) -> Result<Value, Failure> {
    let mut out = Map::new();
    for map in argument
        .as_array()
        .ok_or_else(|| invalid("Incorrect arguments to \"map_merge\" should be a list of maps"))?
    {
        match map {
            Value::Object(map) => out.extend(map.clone()),
            Value::Null => {}
            other if is_unknown(other) => return Ok(Value::from(UNKNOWN)),
            _ => return Err(invalid("Incorrect arguments: Items to merge must be maps.")),
        }
    }
    Ok(Value::Object(out))
}

fn digest(argument: &Value) -> Result<Value, Failure> {
    let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    match list {
        [Value::String(algorithm), Value::String(text)] if algorithm == "sha256" => {
            Ok(Value::String(sha256_hex(text.as_bytes())))
        }
        [Value::String(algorithm), _] => Err(Failure::unsupported(format!(
            "the digest algorithm {algorithm}"
        ))),
        _ => Err(invalid(
            "Argument to function \"digest\" must be a list of [algorithm, text]",
        )),
    }
}

fn repeat(argument: &Value, scope: &dyn Scope) -> Result<Value, Failure> {
    let each = argument
        .get("for_each")
        .ok_or_else(|| invalid("\"repeat\" needs for_each"))?;
    let template = argument
        .get("template")
        .ok_or_else(|| invalid("\"repeat\" needs a template"))?;
    let Value::Object(each) = evaluate(each, scope)? else {
        return Err(invalid(
            "The \"for_each\" argument to \"repeat\" must contain a map",
        ));
    };
    let mut rows: Vec<Vec<(String, Value)>> = vec![Vec::new()];
    for (key, list) in each {
        let items = match list {
            Value::Array(items) => items,
            other if is_unknown(&other) => return Ok(Value::from(UNKNOWN)),
            _ => {
                return Err(invalid(
                    "The values of the \"for_each\" argument to \"repeat\" must be lists",
                ));
            }
        };
        let extend = |row: &Vec<(String, Value)>| {
            items
                .iter()
                .map(|item| [row.as_slice(), &[(key.clone(), item.clone())]].concat())
                .collect::<Vec<_>>()
        };
        rows = rows.iter().flat_map(extend).collect();
    }
    rows.iter()
        .map(|row| evaluate(&put(template, row), scope))
        .collect()
}

fn put(template: &Value, row: &[(String, Value)]) -> Value {
    match template {
        Value::String(text) => {
            if let Some((_, value)) = row.iter().find(|(key, _)| key == text) {
                return value.clone();
            }
            Value::String(row.iter().fold(text.clone(), |text, (key, value)| {
                text.replace(key, &as_text(value))
            }))
        }
        Value::Array(list) => list.iter().map(|v| put(v, row)).collect(),
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(k, v)| (as_text(&put(&Value::from(k.as_str()), row)), put(v, row)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn filter(argument: &Value) -> Result<Value, Failure> {
    match argument.as_array().map(Vec::as_slice).unwrap_or_default() {
        [Value::Array(remove), Value::Array(list)] => Ok(list
            .iter()
            .filter(|item| !remove.contains(item))
            .cloned()
            .collect()),
        [_, other] if is_unknown(other) => Ok(other.clone()),
        _ => Err(invalid(
            "Argument to function \"filter\" must be a list of [values, sequence]",
        )),
    }
}

fn branch(argument: &Value, scope: &dyn Scope) -> Result<Value, Failure> {
    match argument.as_array().map(Vec::as_slice).unwrap_or_default() {
        [test, yes, no] => evaluate(if condition(test, scope)? { yes } else { no }, scope),
        [test, yes] => {
            if condition(test, scope)? {
                evaluate(yes, scope)
            } else {
                Ok(Value::Null)
            }
        }
        _ => Err(invalid(
            "Arguments to \"if\" must be of the form: [condition_name, value_if_true, value_if_false]",
        )),
    }
}

/// Evaluates a condition: its name, a boolean or one of `equals`, `not`, `and`, `or`, `contains`.
pub(super) fn condition(test: &Value, scope: &dyn Scope) -> Result<bool, Failure> {
    match test {
        Value::Bool(value) => Ok(*value),
        Value::String(name) => {
            let definition = scope
                .condition(name)
                .ok_or_else(|| invalid(format!("Invalid condition \"{name}\"")))?;
            condition(&definition, scope)
        }
        Value::Object(map) if map.len() == 1 => {
            let Some((name, argument)) = map.iter().next() else {
                return Ok(false);
            };
            let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
            match name.as_str() {
                "not" => Ok(!condition(
                    argument
                        .as_array()
                        .and_then(|l| l.first())
                        .unwrap_or(argument),
                    scope,
                )?),
                "and" => list
                    .iter()
                    .try_fold(true, |all, c| Ok(all && condition(c, scope)?)),
                "or" => list
                    .iter()
                    .try_fold(false, |any, c| Ok(any || condition(c, scope)?)),
                "equals" if list.len() == 2 => {
                    let (a, b) = (evaluate(&list[0], scope)?, evaluate(&list[1], scope)?);
                    Ok(a == b)
                }
                "contains" if list.len() == 2 => {
                    let (item, list) = (evaluate(&list[0], scope)?, evaluate(&list[1], scope)?);
                    Ok(match &list {
                        Value::Array(items) => items.contains(&item),
                        Value::String(text) => item.as_str().is_some_and(|i| text.contains(i)),
                        _ => false,
                    })
                }
                "get_param" => Ok(match get_param(argument, scope)? {
                    Value::Bool(value) => value,
                    Value::String(text) => text.eq_ignore_ascii_case("true"),
                    _ => false,
                }),
                "yaql" => Err(Failure::unsupported("the template function yaql")),
                _ => Err(invalid(format!("Invalid condition \"{name}\""))),
            }
        }
        other => Err(invalid(format!("Invalid condition \"{other}\""))),
    }
}

fn sha256_hex(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixed;

    impl Scope for Fixed {
        fn parameter(&self, name: &str) -> Option<Value> {
            match name {
                "list" => Some(json!(["a", "b"])),
                "map" => Some(json!({"k": [1, 2]})),
                "yes" => Some(json!(true)),
                _ => None,
            }
        }
        fn reference(&self, name: &str) -> Option<Value> {
            (name == "server").then(|| json!("id-1"))
        }
        fn attribute(&self, _resource: &str, attribute: &str) -> Result<Value, Failure> {
            Ok(json!({"attribute": attribute, "deep": [{"x": "y"}]}))
        }
        fn file(&self, name: &str) -> Option<Value> {
            (name == "f").then(|| json!("FILE @A@"))
        }
        fn condition(&self, name: &str) -> Option<Value> {
            (name == "c").then(|| json!({"equals": [{"get_param": "yes"}, true]}))
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "reads better")]
    fn run(value: Value) -> Value {
        evaluate(&value, &Fixed).unwrap()
    }

    #[test]
    fn functions_evaluate_as_in_heat() {
        assert_eq!(run(json!({"get_resource": "server"})), json!("id-1"));
        assert_eq!(
            run(json!({"get_attr": ["server", "show", "deep", 0, "x"]})),
            json!("y")
        );
        assert_eq!(run(json!({"get_param": ["map", "k", 1]})), json!(2));
        let replace = json!({"str_replace": {"template": {"get_file": "f"}, "params": {"@A@": {"get_param": "map"}}}});
        assert_eq!(run(replace), json!("FILE {\"k\": [1, 2]}"));
        assert_eq!(
            run(json!({"list_join": [",", {"get_param": "list"}, ["c"]]})),
            json!("a,b,c")
        );
        assert_eq!(
            run(json!({"map_merge": [{"a": 1}, {"b": 2}]})),
            json!({"a": 1, "b": 2})
        );
        assert_eq!(run(json!({"if": ["c", 1, 2]})), json!(1));
        assert_eq!(
            run(json!({"filter": [["a"], {"get_param": "list"}]})),
            json!(["b"])
        );
        let each = json!({"repeat": {"for_each": {"<%x%>": {"get_param": "list"}}, "template": {"n": "v-<%x%>"}}});
        assert_eq!(run(each), json!([{"n": "v-a"}, {"n": "v-b"}]));
        assert_eq!(
            run(json!({"digest": ["sha256", "abc"]})),
            json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
    }

    #[test]
    fn longer_placeholders_win_and_nothing_is_replaced_twice() {
        let value = json!({"str_replace": {"template": "a ab b", "params": {"a": "b", "ab": "X", "b": "Z"}}});
        assert_eq!(run(value), json!("b X Z"));
    }

    #[test]
    fn a_plain_map_of_one_key_is_no_function() {
        assert_eq!(run(json!({"name": "x"})), json!({"name": "x"}));
        assert!(evaluate(&json!({"get_nothing": "x"}), &Fixed).is_err());
        assert!(evaluate(&json!({"yaql": {}}), &Fixed).is_err());
    }
}
