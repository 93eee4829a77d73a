//! Reading HOT from JSON and YAML.

use serde_json::Value as Json;

use super::Document;

/// A text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Neither JSON nor YAML.
    #[error("the template cannot be read: {0}")]
    Syntax(String),
    /// Not a template: what is wrong with it.
    #[error("not a template: {0}")]
    Shape(String),
}

pub(super) fn from_text(text: &str) -> Result<Document, ParseError> {
    from_value(crate::yaml::parse(text).map_err(ParseError::Syntax)?)
}

pub(super) fn from_value(value: Json) -> Result<Document, ParseError> {
    let shape = |text: String| Err(ParseError::Shape(text));
    let Json::Object(map) = value else {
        return shape("it is not a map".to_owned());
    };
    match map.get("heat_template_version") {
        Some(Json::String(_)) => {}
        Some(_) => return shape("heat_template_version is not text".to_owned()),
        None => return shape("heat_template_version is missing".to_owned()),
    }
    for section in ["parameters", "conditions", "resources", "outputs"] {
        match map.get(section) {
            None | Some(Json::Object(_) | Json::Null) => {}
            Some(_) => return shape(format!("{section} is not a map")),
        }
    }
    if let Some(Json::Object(resources)) = map.get("resources") {
        for (name, resource) in resources {
            if !resource.get("type").is_some_and(Json::is_string) {
                return shape(format!("resource {name:?} has no type"));
            }
        }
    }
    Ok(Document::from_map(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_is_read_as_pyyaml_reads_it() {
        let doc = Document::parse(
            "heat_template_version: 2021-04-16\nresources:\n  a:\n    type: OS::Heat::Value\n    properties:\n      value: {x: 1, on_text: 'on', mode: 0755, t: yes, n: ~, f: 1.5, s: |\n          two\n          lines\n      }\n",
        );
        // Block scalars are not allowed in flow maps; the rest is read below.
        assert!(doc.is_err());
        let doc = Document::parse(
            "heat_template_version: 2021-04-16\nresources:\n  a:\n    type: OS::Heat::Value\n    properties:\n      value: {x: 1, on_text: 'on', mode: 0755, t: yes, n: ~, f: 1.5}\n      script: |\n        two\n        lines\n",
        )
        .unwrap();
        assert_eq!(doc.version(), "2021-04-16");
        let properties = doc.resource("a").unwrap();
        let value = properties.get("value").unwrap();
        assert_eq!(
            *value,
            serde_json::json!({"x": 1, "on_text": "on", "mode": 493, "t": true, "n": null, "f": 1.5})
        );
        assert_eq!(properties.get("script").unwrap(), "two\nlines\n");
    }

    #[test]
    fn what_is_no_template_is_an_error() {
        for text in [
            "",
            "[]",
            "x",
            "a: [",
            "resources: {}",
            "heat_template_version: 2021-04-16\nresources: []",
            "heat_template_version: 2021-04-16\nresources: {a: {}}",
            "heat_template_version: [1]",
            "{\"a\":",
            "a: 1\na: 2",
        ] {
            assert!(Document::parse(text).is_err(), "{text}");
        }
        assert!(
            Document::parse(&format!(
                "heat_template_version: x\na: {}",
                "[".repeat(20_000)
            ))
            .is_err()
        );
    }

    #[test]
    fn json_round_trips_byte_for_byte() {
        let text = r#"{"heat_template_version":"2021-04-16","zeta":1,"resources":{"b":{"type":"T","x":[1,2.5,null]},"a":{"type":"T"}}}"#;
        assert_eq!(Document::parse(text).unwrap().to_text(), text);
    }
}
