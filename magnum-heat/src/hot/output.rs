//! Parameters and outputs.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::Value;

/// Type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ParameterType {
    String,
    Number,
    Boolean,
    Json,
    CommaDelimitedList,
}

impl ParameterType {
    fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Json => "json",
            Self::CommaDelimitedList => "comma_delimited_list",
        }
    }
}

/// A parameter of a document. `Debug` shows no values.
#[derive(Clone, PartialEq)]
pub struct Parameter(Map<String, Json>);

impl Parameter {
    /// A parameter of this type that must be given.
    pub fn new(kind: ParameterType) -> Self {
        let mut map = Map::new();
        map.insert("type".into(), kind.as_str().into());
        Self(map)
    }

    /// With a default, so that it may be left out.
    #[must_use]
    pub fn default_value(self, value: impl Into<Value>) -> Self {
        self.with("default", value.into().into_json())
    }

    /// With a description.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with("description", Json::String(text.into()))
    }

    /// Never shown by Heat.
    #[must_use]
    pub fn hidden(self) -> Self {
        self.with("hidden", Json::Bool(true))
    }

    /// With a constraint, as HOT writes it: `{"allowed_values": [..]}`.
    #[must_use]
    pub fn constraint(mut self, constraint: impl Into<Value>) -> Self {
        let list = self
            .0
            .entry("constraints")
            .or_insert_with(|| Json::Array(Vec::new()));
        if let Some(list) = list.as_array_mut() {
            list.push(constraint.into().into_json());
        }
        self
    }

    fn with(mut self, key: &str, value: Json) -> Self {
        self.0.insert(key.to_owned(), value);
        self
    }

    pub(super) fn into_map(self) -> Map<String, Json> {
        self.0
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Parameter")
            .field(&self.0.get("type"))
            .finish()
    }
}

/// An output of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    value: Value,
    description: Option<String>,
    condition: Option<Value>,
}

impl Output {
    /// An output of this value.
    pub fn new(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            description: None,
            condition: None,
        }
    }

    /// With a description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Exists only where the condition holds.
    #[must_use]
    pub fn condition(mut self, condition: impl Into<Value>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    pub(super) fn into_json(self) -> Json {
        let mut map = Map::new();
        if let Some(text) = self.description {
            map.insert("description".into(), text.into());
        }
        if let Some(condition) = self.condition {
            map.insert("condition".into(), condition.into_json());
        }
        map.insert("value".into(), self.value.into_json());
        Json::Object(map)
    }
}

impl From<Value> for Output {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}
