//! Values as Nova's validation errors show them.

use serde_json::Value;

/// Python's `repr` of a JSON value.
#[must_use]
pub fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        Value::String(text) => format!(
            "'{}'",
            text.replace('\\', "\\\\")
                .replace('\'', "\\'")
                .replace('\n', "\\n")
        ),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(repr).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("'{key}': {}", repr(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Python's `str` of a JSON value: like [`repr`], but a string is shown as it is.
#[must_use]
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| repr(value), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_look_like_python() {
        let value = json!({"a": [1, true, null], "b": "x"});
        assert_eq!(repr(&value), "{'a': [1, True, None], 'b': 'x'}");
        assert_eq!(shown(&json!("x")), "x");
    }
}
