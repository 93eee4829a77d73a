//! What every object has.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::error::KubernetesError;

/// Metadata, as much as is used.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) creation_timestamp: Option<DateTime<Utc>>,
    pub(crate) deletion_timestamp: Option<DateTime<Utc>>,
    pub(crate) owner_references: Vec<OwnerReference>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OwnerReference {
    pub(crate) kind: String,
    pub(crate) controller: bool,
}

/// Names one object of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Group and version, `v1` for the core group.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; absent for kinds that have none.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// An object in a namespace.
    pub fn namespaced(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::cluster(api_version, kind, name)
        }
    }

    /// An object of the whole cluster.
    pub fn cluster(api_version: &str, kind: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// The reference of an object, from the object itself.
///
/// # Errors
/// [`KubernetesError::InvalidObject`] when `apiVersion`, `kind` or `metadata.name` is missing.
pub fn object_ref(object: &Value) -> Result<ObjectRef, KubernetesError> {
    let field = |value: &Value, name: &str| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .ok_or_else(|| KubernetesError::InvalidObject {
                reason: format!("{name} is missing"),
            })
    };
    let metadata = &object["metadata"];
    Ok(ObjectRef {
        api_version: field(&object["apiVersion"], "apiVersion")?,
        kind: field(&object["kind"], "kind")?,
        name: field(&metadata["name"], "metadata.name")?,
        namespace: metadata["namespace"]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
    })
}

/// Checks that `name` is one segment of a path.
pub(crate) fn path_segment(name: &str) -> Result<&str, KubernetesError> {
    let fits = !name.is_empty()
        && name != "."
        && name != ".."
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte));
    if fits {
        Ok(name)
    } else {
        Err(KubernetesError::InvalidObject {
            reason: format!("{name:?} is no name of an object"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_read_from_the_object() {
        let object = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "n"}});
        let reference = object_ref(&object).unwrap();
        assert_eq!(
            reference,
            ObjectRef::namespaced("apps/v1", "DaemonSet", "n", "d")
        );
        assert_eq!(reference.to_string(), "DaemonSet n/d");
        assert!(object_ref(&json!({"kind": "Node", "metadata": {"name": "n"}})).is_err());
    }

    #[test]
    fn a_name_never_leaves_its_place_in_the_path() {
        assert!(path_segment("system:node:x.y-z").is_ok());
        for name in ["", "..", "a/b", "a?b", "a%2fb", "a b"] {
            assert!(path_segment(name).is_err(), "{name}");
        }
    }
}
