//! Reads the attributes of a request's body, with Neutron's refusals.

use serde_json::{Map, Value};

use super::super::ApiError;
use super::Mint;
use super::model::{Meta, fault};

/// The attributes under a resource's key.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a>(pub &'a Map<String, Value>);

impl<'a> Attributes<'a> {
    /// Refuses what the resource does not have.
    ///
    /// # Errors
    /// 400 with the names.
    pub fn only(self, known: &[&str]) -> Result<Self, ApiError> {
        if self.0.contains_key("tags") && !known.contains(&"tags") {
            return Err(fault(
                400,
                "HTTPBadRequest",
                "Attribute 'tags' not allowed in POST",
            ));
        }
        let odd: Vec<String> = self
            .0
            .keys()
            .filter(|k| !known.contains(&k.as_str()))
            .map(|k| format!("'{k}'"))
            .collect();
        if odd.is_empty() {
            return Ok(self);
        }
        Err(fault(
            400,
            "HTTPBadRequest",
            format!("Unrecognized attribute(s) {}", odd.join(", ")),
        ))
    }

    /// Text, empty when absent or null.
    #[must_use]
    pub fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Text, when given and not null.
    #[must_use]
    pub fn some_text(self, key: &str) -> Option<&'a str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// A boolean, when given; `"true"` counts.
    #[must_use]
    pub fn flag(self, key: &str) -> Option<bool> {
        match self.0.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => Some(text.eq_ignore_ascii_case("true")),
            _ => None,
        }
    }

    /// A number, when given; a numeric string counts.
    #[must_use]
    pub fn number(self, key: &str) -> Option<u64> {
        match self.0.get(key)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A list of strings, when given.
    #[must_use]
    pub fn texts(self, key: &str) -> Option<Vec<String>> {
        let items = self.0.get(key)?.as_array()?;
        Some(
            items
                .iter()
                .filter_map(|v| v.as_str().map(str::to_owned))
                .collect(),
        )
    }

    /// A list of anything, when given.
    #[must_use]
    pub fn list(self, key: &str) -> Option<Vec<Value>> {
        self.0.get(key)?.as_array().cloned()
    }

    /// An id that must be there and be a UUID.
    ///
    /// # Errors
    /// 400 as Neutron says it.
    pub fn id(self, key: &str) -> Result<&'a str, ApiError> {
        let Some(value) = self.0.get(key).filter(|v| !v.is_null()) else {
            let text = format!("Failed to parse request. Required attribute '{key}' not specified");
            return Err(fault(400, "HTTPBadRequest", text));
        };
        let text = value.as_str().unwrap_or_default();
        if uuid::Uuid::parse_str(text).is_err() {
            let shown = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let text = format!("Invalid input for {key}. Reason: '{shown}' is not a valid UUID.");
            return Err(fault(400, "HTTPBadRequest", text));
        }
        Ok(text)
    }

    /// The common fields of a new resource in a project.
    #[must_use]
    pub fn meta(self, mint: &Mint<'_>, project: &str) -> Meta {
        let mut meta = Meta::new(mint.id(), self.text("name"), project, mint.now);
        self.text("description").clone_into(&mut meta.description);
        meta
    }

    /// Applies name and description of an update.
    pub fn update_meta(self, meta: &mut Meta, mint: &Mint<'_>) {
        if let Some(name) = self.some_text("name") {
            name.clone_into(&mut meta.name);
        }
        if let Some(text) = self.some_text("description") {
            text.clone_into(&mut meta.description);
        }
        meta.touch(mint.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refusals_have_the_real_text() {
        let body = json!({"name": "x", "foo": 1, "network_id": "x"});
        let attributes = Attributes(body.as_object().unwrap());
        assert_eq!(
            attributes
                .only(&["name", "network_id"])
                .unwrap_err()
                .message(),
            "Unrecognized attribute(s) 'foo'"
        );
        let refused = attributes.id("network_id").unwrap_err();
        assert_eq!(
            refused.message(),
            "Invalid input for network_id. Reason: 'x' is not a valid UUID."
        );
    }
}
