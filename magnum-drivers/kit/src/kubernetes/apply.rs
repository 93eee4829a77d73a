//! Objects of any kind: server-side apply, get, list, delete.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use super::client::{KubernetesClient, Media};
use super::error::KubernetesError;
use super::object::{ObjectRef, object_ref};

/// Who we are in the fields of an object that was applied.
pub const FIELD_MANAGER: &str = "magnum";

/// Label that tells which set an applied object belongs to, so that what left the set can be found.
pub const APPLY_SET_LABEL: &str = "magnum.openstack.org/apply-set";

/// How an object is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Take fields over that others own. Without it such a field is a conflict.
    pub force: bool,
    /// Check only, change nothing.
    pub dry_run: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            force: true,
            dry_run: false,
        }
    }
}

impl KubernetesClient {
    /// Applies an object as [`FIELD_MANAGER`]: creates it, or changes the fields that we set or stopped setting.
    /// Gives back the object as it is now.
    ///
    /// # Errors
    /// [`KubernetesError::InvalidObject`] for an object without kind or name, [`KubernetesError::UnknownKind`] when
    /// its definition is not there (yet), else as [`KubernetesError`] lists.
    pub async fn apply(
        &self,
        object: &Value,
        options: ApplyOptions,
    ) -> Result<Value, KubernetesError> {
        let reference = object_ref(object)?;
        let path = self.object_path(&reference).await?;
        let mut query = vec![("fieldManager", FIELD_MANAGER)];
        if options.force {
            query.push(("force", "true"));
        }
        if options.dry_run {
            query.push(("dryRun", "All"));
        }
        self.required(
            &format!("apply {reference}"),
            Method::PATCH,
            &path,
            &query,
            Some((Media::Apply, object)),
        )
        .await
    }

    /// One object, if it is there.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn get(&self, object: &ObjectRef) -> Result<Option<Value>, KubernetesError> {
        let path = self.object_path(object).await?;
        self.optional(&format!("get {object}"), Method::GET, &path, &[], None)
            .await
    }

    /// Deletes one object; what it owns is removed in the background. `false` when it was not there.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn delete(&self, object: &ObjectRef) -> Result<bool, KubernetesError> {
        let path = self.object_path(object).await?;
        let query = [("propagationPolicy", "Background")];
        let answer: Option<Value> = self
            .optional(
                &format!("delete {object}"),
                Method::DELETE,
                &path,
                &query,
                None,
            )
            .await?;
        Ok(answer.is_some())
    }

    /// All objects of a kind, in one namespace or in all, that have the labels of `selector` (empty: all).
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        selector: &str,
    ) -> Result<Vec<Value>, KubernetesError> {
        let path = self.collection_path(api_version, kind, namespace).await?;
        let query: &[(&str, &str)] = if selector.is_empty() {
            &[]
        } else {
            &[("labelSelector", selector)]
        };
        self.list_all(&format!("list {kind}"), &path, query).await
    }

    /// Whether a namespace is there.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn has_namespace(&self, name: &str) -> Result<bool, KubernetesError> {
        Ok(self
            .get(&ObjectRef::cluster("v1", "Namespace", name))
            .await?
            .is_some())
    }

    /// The data of a ConfigMap, if it is there.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, KubernetesError> {
        let object = ObjectRef::namespaced("v1", "ConfigMap", namespace, name);
        let Some(value) = self.get(&object).await? else {
            return Ok(None);
        };
        let data = value
            .get("data")
            .filter(|data| !data.is_null())
            .cloned()
            .unwrap_or_else(|| Value::Object(Default::default()));
        serde_json::from_value(data)
            .map(Some)
            .map_err(|error| KubernetesError::Unreadable {
                operation: format!("get {object}"),
                reason: error.to_string(),
            })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::script::Script;
    use super::*;

    #[tokio::test]
    async fn an_object_is_applied_under_our_name() {
        let script = Script::new([
            (200, "{}"),
            (409, r#"{"message":"Apply failed with 1 conflict"}"#),
        ]);
        let client = script.client();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}});
        client
            .apply(&object, ApplyOptions::default())
            .await
            .unwrap();
        let error = client
            .apply(
                &object,
                ApplyOptions {
                    force: false,
                    dry_run: true,
                },
            )
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "apply ConfigMap n/c: conflict: Apply failed with 1 conflict"
        );
        let requests = script.requests();
        assert!(requests[0].starts_with(
            "PATCH https://10.0.0.5:6443/api/v1/namespaces/n/configmaps/c?fieldManager=magnum&force=true application/apply-patch+yaml {"
        ));
        assert!(requests[1].contains("?fieldManager=magnum&dryRun=All "));
    }

    #[tokio::test]
    async fn getting_deleting_and_reading_config_maps() {
        let script = Script::new([
            (200, r#"{"data":{"a":"b"}}"#),
            (200, "{}"),
            (404, "{}"),
            (200, "{}"),
            (404, "{}"),
            (404, "{}"),
        ]);
        let client = script.client();
        assert_eq!(
            client.config_map("n", "c").await.unwrap().unwrap()["a"],
            "b"
        );
        assert!(
            client
                .config_map("n", "c")
                .await
                .unwrap()
                .unwrap()
                .is_empty()
        );
        assert_eq!(client.config_map("n", "c").await.unwrap(), None);
        let object = ObjectRef::namespaced("v1", "ConfigMap", "n", "c");
        assert!(client.delete(&object).await.unwrap());
        assert!(!client.delete(&object).await.unwrap());
        assert!(!client.has_namespace("n").await.unwrap());
    }
}
