//! The functions of HOT.

use serde_json::{Value as Json, json};

use super::Value;

const NAMES: &[&str] = &[
    "get_param",
    "get_resource",
    "get_attr",
    "get_file",
    "str_replace",
    "str_replace_strict",
    "str_replace_vstrict",
    "str_split",
    "list_join",
    "list_concat",
    "list_concat_unique",
    "map_merge",
    "map_replace",
    "yaql",
    "if",
    "equals",
    "and",
    "or",
    "not",
    "contains",
    "digest",
    "repeat",
    "filter",
    "resource_facade",
    "make_url",
];

pub(super) fn is_name(name: &str) -> bool {
    NAMES.contains(&name)
}

fn call(name: &str, argument: Json) -> Value {
    let mut map = serde_json::Map::with_capacity(1);
    map.insert(name.to_owned(), argument);
    Value::json(Json::Object(map))
}

/// The value of a parameter.
pub fn get_param(name: &str) -> Value {
    call("get_param", json!(name))
}

/// The id of another resource; makes a dependency.
pub fn get_resource(name: &str) -> Value {
    call("get_resource", json!(name))
}

/// An attribute of another resource; makes a dependency.
pub fn get_attr(resource: &str, attribute: &str) -> Value {
    call("get_attr", json!([resource, attribute]))
}

/// A part of an attribute: keys and indexes below it.
pub fn get_attr_path<T: Into<Value>>(
    resource: &str,
    attribute: &str,
    path: impl IntoIterator<Item = T>,
) -> Value {
    let mut list = vec![json!(resource), json!(attribute)];
    list.extend(path.into_iter().map(|part| part.into().into_json()));
    call("get_attr", Json::Array(list))
}

/// A text of the stack's files.
pub fn get_file(name: &str) -> Value {
    call("get_file", json!(name))
}

fn replace<K: Into<String>, T: Into<Value>>(
    name: &str,
    template: Value,
    params: impl IntoIterator<Item = (K, T)>,
) -> Value {
    call(
        name,
        json!({"template": template.into_json(), "params": Value::map(params).into_json()}),
    )
}

/// A text in which each key is replaced by its value.
pub fn str_replace<K: Into<String>, T: Into<Value>>(
    template: impl Into<Value>,
    params: impl IntoIterator<Item = (K, T)>,
) -> Value {
    replace("str_replace", template.into(), params)
}

/// As [`str_replace`]; a key that does not occur in the text is an error.
pub fn str_replace_strict<K: Into<String>, T: Into<Value>>(
    template: impl Into<Value>,
    params: impl IntoIterator<Item = (K, T)>,
) -> Value {
    replace("str_replace_strict", template.into(), params)
}

/// One text of the items of a list.
pub fn list_join(delimiter: &str, list: impl Into<Value>) -> Value {
    call("list_join", json!([delimiter, list.into().into_json()]))
}

/// One map of several; later ones win.
pub fn map_merge<T: Into<Value>>(maps: impl IntoIterator<Item = T>) -> Value {
    call("map_merge", Value::list(maps).into_json())
}

/// One of two values, by a condition's name or a condition.
pub fn if_else(
    condition: impl Into<Value>,
    then: impl Into<Value>,
    otherwise: impl Into<Value>,
) -> Value {
    call(
        "if",
        json!([
            condition.into().into_json(),
            then.into().into_json(),
            otherwise.into().into_json()
        ]),
    )
}

/// Whether two values are equal.
pub fn equals(a: impl Into<Value>, b: impl Into<Value>) -> Value {
    call(
        "equals",
        json!([a.into().into_json(), b.into().into_json()]),
    )
}

/// Whether all conditions hold.
pub fn and<T: Into<Value>>(conditions: impl IntoIterator<Item = T>) -> Value {
    call("and", Value::list(conditions).into_json())
}

/// Whether any condition holds.
pub fn or<T: Into<Value>>(conditions: impl IntoIterator<Item = T>) -> Value {
    call("or", Value::list(conditions).into_json())
}

/// Whether a condition does not hold.
pub fn not(condition: impl Into<Value>) -> Value {
    call("not", condition.into().into_json())
}

/// The digest of a text: `md5`, `sha1`, `sha256`, `sha512`.
pub fn digest(algorithm: &str, text: impl Into<Value>) -> Value {
    call("digest", json!([algorithm, text.into().into_json()]))
}

/// A list made of a template for each item of the given lists.
pub fn repeat<K: Into<String>, T: Into<Value>>(
    template: impl Into<Value>,
    for_each: impl IntoIterator<Item = (K, T)>,
) -> Value {
    call(
        "repeat",
        json!({"template": template.into().into_json(), "for_each": Value::map(for_each).into_json()}),
    )
}

/// A list without the given values.
pub fn filter(values: impl Into<Value>, list: impl Into<Value>) -> Value {
    call(
        "filter",
        json!([values.into().into_json(), list.into().into_json()]),
    )
}

/// A YAQL expression over the given data.
pub fn yaql(expression: &str, data: impl Into<Value>) -> Value {
    call(
        "yaql",
        json!({"expression": expression, "data": data.into().into_json()}),
    )
}

/// `metadata`, `deletion_policy` or `update_policy` of the resource that a nested stack stands for.
pub fn resource_facade(what: &str) -> Value {
    call("resource_facade", json!(what))
}

/// Any other function, by name.
pub fn raw_function(name: &str, argument: impl Into<Value>) -> Value {
    call(name, argument.into().into_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_spelled_as_heat_reads_them() {
        let cases = [
            (get_param("p"), r#"{"get_param":"p"}"#),
            (get_resource("r"), r#"{"get_resource":"r"}"#),
            (get_attr("r", "a"), r#"{"get_attr":["r","a"]}"#),
            (
                get_attr_path("r", "a", [Value::from(0), Value::from("k")]),
                r#"{"get_attr":["r","a",0,"k"]}"#,
            ),
            (
                str_replace(
                    get_file("f"),
                    [("@A@", get_attr("h", "signal")), ("@B@", Value::from("x"))],
                ),
                r#"{"str_replace":{"template":{"get_file":"f"},"params":{"@A@":{"get_attr":["h","signal"]},"@B@":"x"}}}"#,
            ),
            (
                list_join(",", ["a", "b"]),
                r#"{"list_join":[",",["a","b"]]}"#,
            ),
            (
                map_merge([get_param("a"), get_param("b")]),
                r#"{"map_merge":[{"get_param":"a"},{"get_param":"b"}]}"#,
            ),
            (
                if_else("c", 1, get_param("b")),
                r#"{"if":["c",1,{"get_param":"b"}]}"#,
            ),
            (
                not(and([equals(1, 2), or(["c", "d"])])),
                r#"{"not":{"and":[{"equals":[1,2]},{"or":["c","d"]}]}}"#,
            ),
            (
                digest("sha256", get_param("t")),
                r#"{"digest":["sha256",{"get_param":"t"}]}"#,
            ),
            (
                repeat(Value::map([("port", "%p%")]), [("%p%", get_param("ports"))]),
                r#"{"repeat":{"template":{"port":"%p%"},"for_each":{"%p%":{"get_param":"ports"}}}}"#,
            ),
            (
                filter(["None"], get_param("l")),
                r#"{"filter":[["None"],{"get_param":"l"}]}"#,
            ),
            (
                yaql("$.data.len()", "x"),
                r#"{"yaql":{"expression":"$.data.len()","data":"x"}}"#,
            ),
        ];
        for (value, want) in cases {
            assert_eq!(serde_json::to_string(&value).unwrap(), want);
            assert!(value.is_function());
        }
    }

    #[test]
    fn ms_04_debug_shows_no_text() {
        let value = Value::map([("user_data", "very secret")]);
        assert!(!format!("{value:?} {:?}", Value::from("very secret")).contains("secret"));
    }
}
