//! `labelSelector` and `fieldSelector`, and the selectors inside objects.

use serde_json::Value;

use super::error::ApiError;

#[derive(Debug, Clone, PartialEq)]
enum Test {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

/// A parsed selector; an empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selector(Vec<Test>);

impl Selector {
    /// `a=b,c!=d,e in (x,y),f notin (z),g,!h`.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let mut tests = Vec::new();
        for part in split_outside_brackets(text) {
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            tests.push(parse_one(part).ok_or_else(|| {
                ApiError::bad_request(format!("unable to parse requirement: {part}"))
            })?);
        }
        Ok(Self(tests))
    }

    /// The value a `key=value` test demands.
    pub(crate) fn demanded(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|t| match t {
            Test::In(k, values) if k == key && values.len() == 1 => Some(values[0].as_str()),
            _ => None,
        })
    }

    /// Tests the labels of an object.
    pub(crate) fn matches_labels(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.matches(|key| labels[key].as_str().map(str::to_owned))
    }

    /// Tests fields by their dotted path; an absent field is the empty text.
    pub(crate) fn matches_fields(&self, object: &Value) -> bool {
        self.matches(|key| {
            let value = key.split('.').fold(object, |o, part| &o[part]);
            Some(match value {
                Value::String(s) => s.clone(),
                Value::Null if key == "spec.unschedulable" => "false".to_owned(),
                Value::Null => String::new(),
                other => other.to_string(),
            })
        })
    }

    fn matches(&self, get: impl Fn(&str) -> Option<String>) -> bool {
        self.0.iter().all(|test| match test {
            Test::In(key, values) => get(key).is_some_and(|v| values.contains(&v)),
            Test::NotIn(key, values) => get(key).is_none_or(|v| !values.contains(&v)),
            Test::Exists(key) => get(key).is_some(),
            Test::Absent(key) => get(key).is_none(),
        })
    }
}

fn parse_one(part: &str) -> Option<Test> {
    if let Some(key) = part.strip_prefix('!') {
        return Some(Test::Absent(key.trim().to_owned()));
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Test::NotIn(
            key.trim().to_owned(),
            vec![value.trim().to_owned()],
        ));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Test::In(
            key.trim().to_owned(),
            vec![value.trim().to_owned()],
        ));
    }
    let mut words = part.splitn(3, ' ');
    let key = words.next()?.to_owned();
    match (words.next(), words.next()) {
        (None, _) => Some(Test::Exists(key)),
        (Some(op), Some(list)) => {
            let list = list.trim().strip_prefix('(')?.strip_suffix(')')?;
            let values = list.split(',').map(|v| v.trim().to_owned()).collect();
            match op {
                "in" => Some(Test::In(key, values)),
                "notin" => Some(Test::NotIn(key, values)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// `matchLabels` and `matchExpressions` of an object against labels. An empty selector matches all.
pub(crate) fn label_selector_matches(selector: &Value, labels: &Value) -> bool {
    let plain = selector["matchLabels"]
        .as_object()
        .is_none_or(|m| m.iter().all(|(k, v)| labels[k] == *v));
    plain && expressions_match(&selector["matchExpressions"], labels)
}

/// A list of `{key, operator, values}`.
pub(crate) fn expressions_match(expressions: &Value, labels: &Value) -> bool {
    expressions.as_array().is_none_or(|list| {
        list.iter().all(|e| {
            let label = e["key"].as_str().map_or(&Value::Null, |k| &labels[k]);
            let listed = e["values"].as_array().is_some_and(|v| v.contains(label));
            match e["operator"].as_str() {
                Some("In") => listed,
                Some("NotIn") => !listed,
                Some("Exists") => !label.is_null(),
                Some("DoesNotExist") => label.is_null(),
                _ => false,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_form_is_understood() {
        let object = json!({"metadata": {"name": "n", "labels": {"a": "b", "e": "x"}}, "spec": {"nodeName": "w1"}});
        for (text, expected) in [
            ("", true),
            ("a=b,e in (x,y)", true),
            ("a==b,!c", true),
            ("a!=b", false),
            ("c!=d", true),
            ("e notin (x)", false),
            ("a", true),
            ("c", false),
        ] {
            assert_eq!(
                Selector::parse(text).unwrap().matches_labels(&object),
                expected,
                "{text}"
            );
        }
        assert!(Selector::parse("a b").is_err());
        let fields = Selector::parse("spec.nodeName=w1,metadata.name!=x").unwrap();
        assert!(fields.matches_fields(&object));
        assert_eq!(fields.demanded("spec.nodeName"), Some("w1"));
    }

    #[test]
    fn selectors_of_objects() {
        let labels = json!({"app": "x"});
        assert!(label_selector_matches(&json!({}), &labels));
        assert!(label_selector_matches(
            &json!({"matchLabels": {"app": "x"}}),
            &labels
        ));
        let e = json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]});
        assert!(!label_selector_matches(&e, &labels));
    }
}
