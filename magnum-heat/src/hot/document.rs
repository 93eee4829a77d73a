//! A whole template, and edits of it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

use super::{LimitError, Limits, Output, Parameter, ParseError, Resource, Value};

/// The template version written by [`Document::new`]; known to every Heat since 2021.
const VERSION: &str = "2021-04-16";

/// Sections of a document that hold named entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Section {
    /// `parameters`.
    Parameters,
    /// `conditions`.
    Conditions,
    /// `resources`.
    Resources,
    /// `outputs`.
    Outputs,
}

impl Section {
    /// As HOT spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Conditions => "conditions",
            Self::Resources => "resources",
            Self::Outputs => "outputs",
        }
    }
}

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The name is taken.
    #[error("{} {name:?} exists already", .section.as_str())]
    Exists {
        /// Where.
        section: Section,
        /// The name.
        name: String,
    },
    /// There is no such entry.
    #[error("{} has no {name:?}", .section.as_str())]
    Missing {
        /// Where.
        section: Section,
        /// The name.
        name: String,
    },
    /// The name is not one that Heat takes.
    #[error("{name:?} is not a name: 1 to 255 characters, no /")]
    BadName {
        /// The name.
        name: String,
    },
}

/// A HOT template: ordered, lossless, written as JSON. `Debug` shows names and types, no values.
#[derive(Clone, PartialEq)]
pub struct Document(Map<String, Json>);

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self
            .resources()
            .iter()
            .map(|(k, v)| (k, v.get("type").and_then(Json::as_str).unwrap_or_default()));
        f.debug_struct("Document")
            .field("resources", &kinds.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::from_value(Json::deserialize(d)?).map_err(serde::de::Error::custom)
    }
}

impl Document {
    /// An empty document of the version this crate writes.
    pub fn new() -> Self {
        let mut map = Map::new();
        map.insert("heat_template_version".into(), VERSION.into());
        Self(map)
    }

    pub(super) fn from_map(map: Map<String, Json>) -> Self {
        Self(map)
    }

    /// A document of parsed JSON.
    ///
    /// # Errors
    /// [`ParseError`] when it is not a template.
    pub fn from_value(value: Json) -> Result<Self, ParseError> {
        super::parse::from_value(value)
    }

    /// Reads HOT written as JSON or YAML, as Heat reads it.
    ///
    /// # Errors
    /// [`ParseError`] when it is not a template.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        super::parse::from_text(text)
    }

    /// The document as JSON.
    pub fn to_json(&self) -> Json {
        Json::Object(self.0.clone())
    }

    /// The document as JSON text, the same bytes for the same document.
    pub fn to_text(&self) -> String {
        Json::Object(self.0.clone()).to_string()
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.0
            .insert("description".into(), Json::String(text.into()));
        self
    }

    /// `heat_template_version`.
    pub fn version(&self) -> &str {
        self.0
            .get("heat_template_version")
            .and_then(Json::as_str)
            .unwrap_or_default()
    }

    /// Whether there is nothing in it but a version.
    pub(crate) fn is_blank(&self) -> bool {
        self.0.keys().all(|key| key == "heat_template_version")
    }

    /// The raw top level.
    pub(super) fn top(&self) -> &Map<String, Json> {
        &self.0
    }

    /// Entries of a section, in order; empty when the section is absent.
    pub fn section(&self, section: Section) -> &Map<String, Json> {
        static EMPTY: std::sync::LazyLock<Map<String, Json>> = std::sync::LazyLock::new(Map::new);
        self.0
            .get(section.as_str())
            .and_then(Json::as_object)
            .unwrap_or(&EMPTY)
    }

    /// Resources by name, in order.
    pub fn resources(&self) -> &Map<String, Json> {
        self.section(Section::Resources)
    }

    /// A resource.
    pub fn resource(&self, name: &str) -> Option<Resource> {
        self.resources()
            .get(name)?
            .as_object()
            .cloned()
            .map(Resource::from_map)
    }

    /// Whether there is such a resource.
    pub fn has_resource(&self, name: &str) -> bool {
        self.resources().contains_key(name)
    }

    /// Adds a resource at the end.
    ///
    /// # Errors
    /// [`DocumentError`] when the name is taken (by a parameter too: Heat refuses that) or no name.
    pub fn add_resource(
        &mut self,
        name: impl Into<String>,
        resource: impl Into<Resource>,
    ) -> Result<&mut Self, DocumentError> {
        let name = name.into();
        if self.section(Section::Parameters).contains_key(&name) {
            return Err(DocumentError::Exists {
                section: Section::Parameters,
                name,
            });
        }
        self.add(
            Section::Resources,
            name,
            Json::Object(resource.into().into_map()),
        )
    }

    /// Replaces a resource where it stands.
    ///
    /// # Errors
    /// [`DocumentError::Missing`].
    pub fn replace_resource(
        &mut self,
        name: &str,
        resource: impl Into<Resource>,
    ) -> Result<Resource, DocumentError> {
        let new = Json::Object(resource.into().into_map());
        let slot = self.section_mut(Section::Resources).get_mut(name);
        match slot.map(|slot| std::mem::replace(slot, new)) {
            Some(Json::Object(old)) => Ok(Resource::from_map(old)),
            _ => Err(DocumentError::Missing {
                section: Section::Resources,
                name: name.to_owned(),
            }),
        }
    }

    /// Removes a resource; the order of the others stays.
    ///
    /// # Errors
    /// [`DocumentError::Missing`].
    pub fn remove_resource(&mut self, name: &str) -> Result<Resource, DocumentError> {
        match self.remove(Section::Resources, name)? {
            Json::Object(map) => Ok(Resource::from_map(map)),
            _ => Err(DocumentError::Missing {
                section: Section::Resources,
                name: name.to_owned(),
            }),
        }
    }

    /// Adds a parameter.
    ///
    /// # Errors
    /// [`DocumentError`] when the name is taken (by a resource too) or no name.
    pub fn add_parameter(
        &mut self,
        name: impl Into<String>,
        parameter: Parameter,
    ) -> Result<&mut Self, DocumentError> {
        let name = name.into();
        if self.has_resource(&name) {
            return Err(DocumentError::Exists {
                section: Section::Resources,
                name,
            });
        }
        self.add(
            Section::Parameters,
            name,
            Json::Object(parameter.into_map()),
        )
    }

    /// Adds a condition.
    ///
    /// # Errors
    /// [`DocumentError`] when the name is taken or no name.
    pub fn add_condition(
        &mut self,
        name: impl Into<String>,
        condition: impl Into<Value>,
    ) -> Result<&mut Self, DocumentError> {
        self.add(
            Section::Conditions,
            name.into(),
            condition.into().into_json(),
        )
    }

    /// Adds an output.
    ///
    /// # Errors
    /// [`DocumentError`] when the name is taken or no name.
    pub fn add_output(
        &mut self,
        name: impl Into<String>,
        output: impl Into<Output>,
    ) -> Result<&mut Self, DocumentError> {
        self.add(Section::Outputs, name.into(), output.into().into_json())
    }

    /// Sets an output, whether or not there is one of that name.
    ///
    /// # Errors
    /// [`DocumentError::BadName`].
    pub fn set_output(
        &mut self,
        name: impl Into<String>,
        output: impl Into<Output>,
    ) -> Result<&mut Self, DocumentError> {
        let name = checked(name.into())?;
        self.section_mut(Section::Outputs)
            .insert(name, output.into().into_json());
        Ok(self)
    }

    /// Removes an output; the order of the others stays.
    ///
    /// # Errors
    /// [`DocumentError::Missing`].
    pub fn remove_output(&mut self, name: &str) -> Result<(), DocumentError> {
        self.remove(Section::Outputs, name).map(drop)
    }

    /// Checks names, counts and size.
    ///
    /// # Errors
    /// [`LimitError`].
    pub fn check(&self, limits: &Limits) -> Result<(), LimitError> {
        limits.check(self)
    }

    fn add(
        &mut self,
        section: Section,
        name: String,
        value: Json,
    ) -> Result<&mut Self, DocumentError> {
        let name = checked(name)?;
        let entries = self.section_mut(section);
        if entries.contains_key(&name) {
            return Err(DocumentError::Exists { section, name });
        }
        entries.insert(name, value);
        Ok(self)
    }

    fn remove(&mut self, section: Section, name: &str) -> Result<Json, DocumentError> {
        let missing = || DocumentError::Missing {
            section,
            name: name.to_owned(),
        };
        if !self.section(section).contains_key(name) {
            return Err(missing());
        }
        let entries = self.section_mut(section);
        let removed = entries.shift_remove(name).ok_or_else(missing)?;
        if entries.is_empty() && section != Section::Resources {
            self.0.shift_remove(section.as_str());
        }
        Ok(removed)
    }

    fn section_mut(&mut self, section: Section) -> &mut Map<String, Json> {
        let slot = self
            .0
            .entry(section.as_str())
            .or_insert_with(|| Json::Object(Map::new()));
        if !slot.is_object() {
            *slot = Json::Object(Map::new());
        }
        slot.as_object_mut().expect("made an object above")
    }
}

fn checked(name: String) -> Result<String, DocumentError> {
    let good = !name.is_empty() && name.chars().count() <= 255 && !name.contains('/');
    if good {
        Ok(name)
    } else {
        Err(DocumentError::BadName { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::{ParameterType, get_resource, types::Port};

    #[test]
    fn edits_keep_the_order_of_the_rest() {
        let mut doc = Document::new();
        for name in ["a", "b", "c", "d"] {
            doc.add_resource(name, Port::new("net").name(name)).unwrap();
        }
        doc.remove_resource("b").unwrap();
        doc.add_resource("e", Resource::raw("OS::Heat::None"))
            .unwrap();
        let names: Vec<_> = doc.resources().keys().cloned().collect();
        assert_eq!(names, ["a", "c", "d", "e"]);
        let old = doc
            .replace_resource("c", Resource::raw("OS::Heat::TestResource"))
            .unwrap();
        assert_eq!(old.kind(), "OS::Neutron::Port");
        assert_eq!(doc.resources().keys().position(|k| k == "c"), Some(1));
    }

    #[test]
    fn names_are_checked_across_sections() {
        let mut doc = Document::new();
        doc.add_parameter("key", Parameter::new(ParameterType::String))
            .unwrap();
        let error = doc.add_resource("key", Port::new("net")).unwrap_err();
        assert!(matches!(
            error,
            DocumentError::Exists {
                section: Section::Parameters,
                ..
            }
        ));
        assert!(doc.add_resource("a/b", Port::new("net")).is_err());
        assert!(doc.add_resource("", Port::new("net")).is_err());
        doc.add_resource("p", Port::new("net")).unwrap();
        assert!(doc.add_resource("p", Port::new("net")).is_err());
        doc.add_output("o", get_resource("p")).unwrap();
        doc.remove_output("o").unwrap();
        assert!(!doc.to_text().contains("outputs"));
        assert!(doc.remove_resource("zz").is_err());
    }
}
