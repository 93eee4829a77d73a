//! One add-on.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::error::AddonError;
use super::phase::AddonPhase;
use super::readiness::{Coverage, ReadinessTest};
use crate::kubernetes::{APPLY_SET_LABEL, ObjectRef, object_ref};

/// Objects that are applied together, and what is known of them.
///
/// An object may be a Secret, so `Debug` names objects and shows no content.
#[derive(Clone, PartialEq)]
pub struct Addon {
    /// Name, a DNS label: also the value of [`APPLY_SET_LABEL`] on every object.
    pub name: String,
    /// Version of the component.
    pub version: String,
    /// Where the component comes from.
    pub source: String,
    /// When it is applied.
    pub phase: AddonPhase,
    /// The images that nodes pull for it, sorted.
    pub images: Vec<String>,
    /// The objects, in the order in which they are applied.
    pub objects: Vec<Value>,
    /// How it is known that it works. Empty: once applied it counts as working.
    pub readiness: Vec<ReadinessTest>,
}

impl fmt::Debug for Addon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects: Vec<String> = self
            .objects
            .iter()
            .map(|object| object_ref(object).map_or_else(|_| "?".into(), |r| r.to_string()))
            .collect();
        f.debug_struct("Addon")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("phase", &self.phase)
            .field("objects", &objects)
            .finish_non_exhaustive()
    }
}

impl Addon {
    /// An add-on from manifests: YAML documents, each one object or a `List`.
    ///
    /// Images are collected from the objects; every DaemonSet and Deployment becomes part of the readiness test.
    ///
    /// # Errors
    /// [`AddonError::Manifest`] when a document is no object with kind and name.
    pub fn from_manifests(
        name: impl Into<String>,
        version: impl Into<String>,
        source: impl Into<String>,
        phase: AddonPhase,
        manifests: &str,
    ) -> Result<Self, AddonError> {
        let name = name.into();
        let fail = |reason: String| AddonError::Manifest {
            addon: name.clone(),
            reason,
        };
        let documents = read_yaml(manifests).map_err(fail)?;
        let mut objects = Vec::new();
        for document in documents {
            flatten(document, &mut objects);
        }
        if objects.is_empty() {
            return Err(fail("it holds no object".to_owned()));
        }
        let coverage = if phase.is_required() {
            Coverage::One
        } else {
            Coverage::Every
        };
        let mut readiness = Vec::new();
        for object in &mut objects {
            let reference = object_ref(object).map_err(|error| fail(error.to_string()))?;
            label(object, &name)
                .ok_or_else(|| fail(format!("{reference} has strange metadata")))?;
            readiness.extend(ReadinessTest::of(reference, coverage));
        }
        let mut images = BTreeSet::new();
        objects
            .iter()
            .for_each(|object| collect_images(object, &mut images));
        Ok(Self {
            version: version.into(),
            source: source.into(),
            phase,
            images: images.into_iter().collect(),
            objects,
            readiness,
            name,
        })
    }

    /// References of the objects, in order.
    #[must_use]
    pub fn references(&self) -> Vec<ObjectRef> {
        self.objects
            .iter()
            .filter_map(|object| object_ref(object).ok())
            .collect()
    }

    /// The objects as YAML documents, secrets included, for those who apply them by other means.
    ///
    /// # Errors
    /// [`AddonError::Manifest`] when an object cannot be written.
    pub fn to_yaml(&self) -> Result<String, AddonError> {
        serde_saphyr::to_string_multiple(&self.objects).map_err(|error| AddonError::Manifest {
            addon: self.name.clone(),
            reason: error.to_string(),
        })
    }
}

/// Reads YAML documents. `0644` is octal, as Kubernetes reads it; `y`, `n`, `on`, `off` are text, so that a name never
/// becomes a boolean. Errors tell the place and show no content.
fn read_yaml(text: &str) -> Result<Vec<Value>, String> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| error.to_string())
}

/// Takes lists apart and leaves empty documents out.
fn flatten(document: Value, objects: &mut Vec<Value>) {
    match document {
        Value::Null => {}
        Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
            if let Some(Value::Array(items)) = list.remove("items") {
                items.into_iter().for_each(|item| flatten(item, objects));
            }
        }
        object => objects.push(object),
    }
}

fn label(object: &mut Value, name: &str) -> Option<()> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let labels = metadata
        .entry("labels")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    labels
        .as_object_mut()?
        .insert(APPLY_SET_LABEL.to_owned(), name.into());
    Some(())
}

/// Images of containers, wherever a pod template lies.
fn collect_images(value: &Value, images: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("containers" | "initContainers", Value::Array(containers)) => {
                        images.extend(
                            containers
                                .iter()
                                .filter_map(|each| each["image"].as_str())
                                .map(str::to_owned),
                        );
                    }
                    _ => collect_images(value, images),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_images(item, images)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFESTS: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: s, namespace: n}
  data: {key: dG9wc2VjcmV0}
---
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: n, labels: {a: b}}
spec: {template: {spec: {containers: [{name: c, image: "example.org/c:1"}], initContainers: [{name: i, image: "example.org/i:1"}]}}}
"#;

    fn addon() -> Addon {
        Addon::from_manifests(
            "thing",
            "v1",
            "https://example.org",
            AddonPhase::Extras,
            MANIFESTS,
        )
        .unwrap()
    }

    #[test]
    fn manifests_become_labelled_objects_with_images_and_a_test() {
        let addon = addon();
        assert_eq!(addon.images, ["example.org/c:1", "example.org/i:1"]);
        assert_eq!(addon.objects.len(), 2);
        assert!(
            addon
                .objects
                .iter()
                .all(|object| object["metadata"]["labels"][APPLY_SET_LABEL] == "thing")
        );
        assert_eq!(addon.objects[1]["metadata"]["labels"]["a"], "b");
        assert_eq!(addon.readiness.len(), 1);
    }

    #[test]
    fn exported_yaml_reads_back() {
        let addon = addon();
        let back = Addon::from_manifests(
            "thing",
            "v1",
            "https://example.org",
            AddonPhase::Extras,
            &addon.to_yaml().unwrap(),
        );
        assert_eq!(back.unwrap(), addon);
    }

    #[test]
    fn ms_04_debug_names_objects_only() {
        let text = format!("{:?}", addon());
        assert!(
            text.contains("Secret n/s") && !text.contains("dG9wc2VjcmV0"),
            "{text}"
        );
    }

    #[test]
    fn modes_are_octal_and_short_names_stay_names() {
        let text =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n, namespace: on}\nmode: 0644\n";
        let addon = Addon::from_manifests("thing", "v1", "x", AddonPhase::Extras, text).unwrap();
        assert_eq!(addon.objects[0]["mode"], 0o644);
        assert_eq!(
            addon.references()[0],
            ObjectRef::namespaced("v1", "ConfigMap", "on", "n")
        );
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bad in [
            "",
            "just text",
            "kind: Secret",
            "a: [",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: x, labels: 3}",
        ] {
            let result = Addon::from_manifests("thing", "v1", "x", AddonPhase::Extras, bad);
            assert!(matches!(result, Err(AddonError::Manifest { .. })), "{bad}");
        }
    }
}
