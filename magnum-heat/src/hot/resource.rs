//! One resource of a document.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::Value;

/// Typed properties of one resource type.
pub trait Properties {
    /// The type: `OS::Nova::Server`.
    const TYPE: &'static str;
    /// The properties in order; unset ones are absent.
    fn into_properties(self) -> Map<String, Json>;
}

/// A resource: type, properties and what stands beside them. Ordered and lossless; `Debug` shows no values.
#[derive(Clone, PartialEq)]
pub struct Resource(Map<String, Json>);

impl<P: Properties> From<P> for Resource {
    fn from(properties: P) -> Self {
        Self::new(properties)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("type", &self.kind())
            .field(
                "properties",
                &self
                    .properties()
                    .map(|p| p.keys().collect::<Vec<_>>())
                    .unwrap_or_default(),
            )
            .finish_non_exhaustive()
    }
}

impl Resource {
    /// A resource of typed properties.
    pub fn new<P: Properties>(properties: P) -> Self {
        let mut resource = Self::raw(P::TYPE);
        let properties = properties.into_properties();
        if !properties.is_empty() {
            resource
                .0
                .insert("properties".into(), Json::Object(properties));
        }
        resource
    }

    /// A resource of any type, without properties yet.
    pub fn raw(kind: impl Into<String>) -> Self {
        let mut map = Map::new();
        map.insert("type".into(), Json::String(kind.into()));
        Self(map)
    }

    /// A resource of parsed JSON.
    pub(super) fn from_map(map: Map<String, Json>) -> Self {
        Self(map)
    }

    pub(super) fn into_map(self) -> Map<String, Json> {
        self.0
    }

    /// Sets a property.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let properties = self
            .0
            .entry("properties")
            .or_insert_with(|| Json::Object(Map::new()));
        if let Some(map) = properties.as_object_mut() {
            map.insert(name.into(), value.into().into_json());
        }
        self
    }

    /// Waits for these resources; needed only where no function refers to them.
    #[must_use]
    pub fn depends_on<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<Json> = names.into_iter().map(|n| Json::String(n.into())).collect();
        if names.is_empty() {
            self
        } else {
            self.with("depends_on", Json::Array(names))
        }
    }

    /// Exists only where the condition holds.
    #[must_use]
    pub fn condition(self, condition: impl Into<Value>) -> Self {
        self.with("condition", condition.into().into_json())
    }

    /// `Delete` (Heat's default) or `Retain` or `Snapshot`.
    #[must_use]
    pub fn deletion_policy(self, policy: impl Into<Value>) -> Self {
        self.with("deletion_policy", policy.into().into_json())
    }

    /// Update policy of resource groups and the like.
    #[must_use]
    pub fn update_policy(self, policy: impl Into<Value>) -> Self {
        self.with("update_policy", policy.into().into_json())
    }

    /// Metadata of the resource in Heat.
    #[must_use]
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.with("metadata", metadata.into().into_json())
    }

    /// Stands for something that exists already.
    #[must_use]
    pub fn external_id(self, id: impl Into<Value>) -> Self {
        self.with("external_id", id.into().into_json())
    }

    fn with(mut self, key: &str, value: Json) -> Self {
        self.0.insert(key.to_owned(), value);
        self
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        self.0
            .get("type")
            .and_then(Json::as_str)
            .unwrap_or_default()
    }

    /// Its properties.
    pub fn properties(&self) -> Option<&Map<String, Json>> {
        self.0.get("properties").and_then(Json::as_object)
    }

    /// One property.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.properties()?.get(name)
    }
}
