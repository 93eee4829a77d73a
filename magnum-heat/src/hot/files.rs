//! Texts beside a template, named by their content.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::{Value, get_file};

/// Texts that `get_file` refers to. `Debug` shows names and sizes only.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Files(IndexMap<String, String>);

impl Files {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text under a name made of `stem` and the hash of the content, and gives the function that reads it. The
    /// same text has the same name; another text never replaces it.
    pub fn add(&mut self, stem: &str, content: impl Into<String>) -> Value {
        get_file(&self.add_named(stem, content))
    }

    /// As [`Files::add`], giving the name.
    pub fn add_named(&mut self, stem: &str, content: impl Into<String>) -> String {
        let content = content.into();
        let name = Self::name_for(stem, &content);
        self.0.entry(name.clone()).or_insert(content);
        name
    }

    /// The name that [`Files::add`] gives a text.
    pub fn name_for(stem: &str, content: &str) -> String {
        use std::fmt::Write as _;
        let digest = Sha256::digest(content.as_bytes());
        let mut name = format!("{stem}-");
        for byte in &digest[..10] {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }

    /// Adds or replaces a text under a name of the caller's own.
    pub fn insert(&mut self, name: impl Into<String>, content: impl Into<String>) {
        self.0.insert(name.into(), content.into());
    }

    /// A text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names and texts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.0.values().map(String::len).sum()
    }

    /// Drops the texts that the document does not refer to any more.
    pub fn retain_used(&mut self, document: &super::Document) {
        let mut used = std::collections::HashSet::new();
        collect(&document.to_json(), &mut used);
        self.0.retain(|name, _| used.contains(name));
    }

    /// Whether every text of `old` is here unchanged; new ones may have come.
    pub fn keeps(&self, old: &Self) -> bool {
        old.0
            .iter()
            .all(|(name, text)| self.0.get(name) == Some(text))
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::Object(
            self.0
                .iter()
                .map(|(k, v)| (k.clone(), Json::String(v.clone())))
                .collect(),
        )
    }
}

fn collect(value: &Json, used: &mut std::collections::HashSet<String>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| collect(item, used)),
        Json::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(name) if key == "get_file" || key == "type" => {
                        used.insert(name.to_owned());
                    }
                    _ => collect(value, used),
                }
            }
        }
        _ => {}
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.iter().map(|(k, v)| (k, v.len())))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::{Document, Resource};

    #[test]
    fn names_follow_the_content() {
        let mut files = Files::new();
        let a = files.add_named("script", "one");
        let b = files.add_named("script", "two");
        assert_ne!(a, b);
        assert_eq!(files.add_named("script", "one"), a);
        assert_eq!(files.len(), 2);
        let old = files.clone();
        files.add("script", "three");
        assert!(files.keeps(&old) && !old.keeps(&files));
        let mut doc = Document::new();
        doc.add_resource("x", Resource::raw("T").property("p", get_file(&b)))
            .unwrap();
        files.retain_used(&doc);
        assert_eq!(
            files.iter().map(|(k, _)| k.to_owned()).collect::<Vec<_>>(),
            [b]
        );
    }
}
