//! From a kind to its place in the API.

use http::Method;
use serde::Deserialize;

use super::client::KubernetesClient;
use super::error::KubernetesError;
use super::object::{ObjectRef, path_segment};

/// Where objects of a kind are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceName {
    /// The name in paths, for instance `daemonsets`.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// Kinds that every cluster has, known without asking.
const KNOWN: &[(&str, &str, &str, bool)] = &[
    ("v1", "ConfigMap", "configmaps", true),
    ("v1", "Endpoints", "endpoints", true),
    ("v1", "Namespace", "namespaces", false),
    ("v1", "Node", "nodes", false),
    ("v1", "PersistentVolume", "persistentvolumes", false),
    (
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        true,
    ),
    ("v1", "Pod", "pods", true),
    ("v1", "Secret", "secrets", true),
    ("v1", "Service", "services", true),
    ("v1", "ServiceAccount", "serviceaccounts", true),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    ),
    (
        "apiregistration.k8s.io/v1",
        "APIService",
        "apiservices",
        false,
    ),
    ("apps/v1", "DaemonSet", "daemonsets", true),
    ("apps/v1", "Deployment", "deployments", true),
    ("apps/v1", "StatefulSet", "statefulsets", true),
    ("batch/v1", "CronJob", "cronjobs", true),
    ("batch/v1", "Job", "jobs", true),
    (
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        false,
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "networkpolicies",
        true,
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        true,
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        "clusterroles",
        false,
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        false,
    ),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", true),
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "rolebindings",
        true,
    ),
    (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        "priorityclasses",
        false,
    ),
    ("storage.k8s.io/v1", "CSIDriver", "csidrivers", false),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses", false),
];

fn known(api_version: &str, kind: &str) -> Option<ResourceName> {
    KNOWN
        .iter()
        .find(|(version, name, ..)| *version == api_version && *name == kind)
        .map(|(_, _, plural, namespaced)| ResourceName {
            plural: (*plural).to_owned(),
            namespaced: *namespaced,
        })
}

/// Path of a group and version.
fn group_path(api_version: &str) -> Result<String, KubernetesError> {
    match api_version.split_once('/') {
        None => Ok(format!("/api/{}", path_segment(api_version)?)),
        Some((group, version)) => Ok(format!(
            "/apis/{}/{}",
            path_segment(group)?,
            path_segment(version)?
        )),
    }
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    kind: String,
    namespaced: bool,
}

impl KubernetesClient {
    /// Where objects of a kind are found: from a table, else from the cluster's own discovery, whose answers are
    /// kept.
    ///
    /// # Errors
    /// [`KubernetesError::UnknownKind`] when the cluster does not have it (yet).
    pub async fn resource_name(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<ResourceName, KubernetesError> {
        if let Some(name) = known(api_version, kind) {
            return Ok(name);
        }
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(name) = self
            .learned
            .lock()
            .ok()
            .and_then(|learned| learned.get(&key).cloned())
        {
            return Ok(name);
        }
        let operation = format!("discover {api_version}");
        let list: Option<ResourceList> = self
            .optional(
                &operation,
                Method::GET,
                &group_path(api_version)?,
                &[],
                None,
            )
            .await?;
        // Subresources carry their parent's kind or their own; their names have a slash.
        let found = list
            .and_then(|list| {
                list.resources
                    .into_iter()
                    .find(|each| each.kind == kind && !each.name.contains('/'))
            })
            .map(|resource| ResourceName {
                plural: resource.name,
                namespaced: resource.namespaced,
            })
            .ok_or_else(|| KubernetesError::UnknownKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            })?;
        if let Ok(mut learned) = self.learned.lock() {
            learned.insert(key, found.clone());
        }
        Ok(found)
    }

    /// Path of a kind's collection, in a namespace or over all of them.
    pub(crate) async fn collection_path(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<String, KubernetesError> {
        let name = self.resource_name(api_version, kind).await?;
        let group = group_path(api_version)?;
        match namespace {
            Some(namespace) if name.namespaced => Ok(format!(
                "{group}/namespaces/{}/{}",
                path_segment(namespace)?,
                name.plural
            )),
            _ => Ok(format!("{group}/{}", name.plural)),
        }
    }

    /// Path of one object. An object of a namespaced kind without a namespace is refused: silently taking `default`
    /// is never what was meant.
    pub(crate) async fn object_path(&self, object: &ObjectRef) -> Result<String, KubernetesError> {
        let name = self
            .resource_name(&object.api_version, &object.kind)
            .await?;
        if name.namespaced && object.namespace.is_none() {
            return Err(KubernetesError::InvalidObject {
                reason: format!("{object} has no namespace"),
            });
        }
        let collection = self
            .collection_path(
                &object.api_version,
                &object.kind,
                object.namespace.as_deref(),
            )
            .await?;
        Ok(format!("{collection}/{}", path_segment(&object.name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    #[tokio::test]
    async fn usual_kinds_are_known_without_a_request() {
        let script = Script::new([]);
        let client = script.client();
        let object = ObjectRef::namespaced("apps/v1", "DaemonSet", "kube-system", "d");
        assert_eq!(
            client.object_path(&object).await.unwrap(),
            "/apis/apps/v1/namespaces/kube-system/daemonsets/d"
        );
        let object = ObjectRef::cluster("v1", "Namespace", "x");
        assert_eq!(
            client.object_path(&object).await.unwrap(),
            "/api/v1/namespaces/x"
        );
        let object = ObjectRef::cluster("v1", "Secret", "x");
        assert!(client.object_path(&object).await.is_err());
        assert!(script.requests().is_empty());
    }

    #[tokio::test]
    async fn other_kinds_are_discovered_once() {
        let list = r#"{"resources":[{"name":"things/status","kind":"Thing","namespaced":true},{"name":"things","kind":"Thing","namespaced":true}]}"#;
        let script = Script::new([(200, list), (404, "{}")]);
        let client = script.client();
        let object = ObjectRef::namespaced("example.org/v1", "Thing", "n", "x");
        for _ in 0..2 {
            let path = client.clone().object_path(&object).await.unwrap();
            assert_eq!(path, "/apis/example.org/v1/namespaces/n/things/x");
        }
        assert_eq!(script.requests().len(), 1);
        let error = client
            .resource_name("example.org/v2", "Thing")
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the cluster has no kind Thing in example.org/v2"
        );
    }
}
