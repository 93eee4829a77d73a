//! Pods on a node, and their eviction.

use chrono::{DateTime, Utc};
use http::Method;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::client::{KubernetesClient, Media};
use super::error::KubernetesError;
use super::object::{Metadata, path_segment};

/// A pod as far as a drain has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Unique id.
    pub uid: String,
    /// Kind of the controller that made it, if one did.
    pub controller: Option<String>,
    /// Whether it is the image of a static pod, which the API cannot remove.
    pub mirror: bool,
    /// Whether it has run to its end.
    pub finished: bool,
    /// Whether it is ready.
    pub ready: bool,
    /// Since when it is being deleted.
    pub deleting_since: Option<DateTime<Utc>>,
}

/// What became of an eviction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// The pod is going.
    Accepted,
    /// There was no such pod any more.
    Gone,
    /// A disruption budget does not allow it now.
    Blocked(String),
}

#[derive(Deserialize)]
struct RawPod {
    metadata: Metadata,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawStatus {
    phase: String,
    conditions: Vec<RawCondition>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawPod::deserialize(deserializer)?;
        let metadata = raw.metadata;
        Ok(Self {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: metadata.uid,
            controller: metadata
                .owner_references
                .into_iter()
                .find(|owner| owner.controller)
                .map(|owner| owner.kind),
            mirror: metadata
                .annotations
                .contains_key("kubernetes.io/config.mirror"),
            finished: matches!(raw.status.phase.as_str(), "Succeeded" | "Failed"),
            ready: raw
                .status
                .conditions
                .iter()
                .any(|c| c.kind == "Ready" && c.status == "True"),
            deleting_since: metadata.deletion_timestamp,
        })
    }
}

fn path(pod: &Pod) -> Result<String, KubernetesError> {
    Ok(format!(
        "/api/v1/namespaces/{}/pods/{}",
        path_segment(&pod.namespace)?,
        path_segment(&pod.name)?
    ))
}

impl KubernetesClient {
    /// The pods on a node, in all namespaces.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn pods_on(&self, node: &str) -> Result<Vec<Pod>, KubernetesError> {
        let selector = format!("spec.nodeName={}", path_segment(node)?);
        self.list_all(
            &format!("list pods of node {node}"),
            "/api/v1/pods",
            &[("fieldSelector", &selector)],
        )
        .await
    }

    /// One pod.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn pod(&self, namespace: &str, name: &str) -> Result<Option<Pod>, KubernetesError> {
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}",
            path_segment(namespace)?,
            path_segment(name)?
        );
        self.optional(
            &format!("get pod {namespace}/{name}"),
            Method::GET,
            &path,
            &[],
            None,
        )
        .await
    }

    /// Asks for the eviction of a pod, which respects disruption budgets.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists; a budget that does not allow it is [`Eviction::Blocked`].
    pub async fn evict(&self, pod: &Pod) -> Result<Eviction, KubernetesError> {
        let operation = format!("evict pod {}/{}", pod.namespace, pod.name);
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        });
        let path = format!("{}/eviction", path(pod)?);
        match self
            .optional::<Value>(
                &operation,
                Method::POST,
                &path,
                &[],
                Some((Media::Json, &body)),
            )
            .await
        {
            Ok(Some(_)) => Ok(Eviction::Accepted),
            // Conflict: the name belongs to another pod by now.
            Ok(None) | Err(KubernetesError::Conflict { .. }) => Ok(Eviction::Gone),
            Err(KubernetesError::Busy { message, .. }) => Ok(Eviction::Blocked(message)),
            Err(error) => Err(error),
        }
    }

    /// Deletes a pod without asking disruption budgets. `false` when there was none.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn delete_pod(&self, pod: &Pod, grace_seconds: u32) -> Result<bool, KubernetesError> {
        let operation = format!("delete pod {}/{}", pod.namespace, pod.name);
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": grace_seconds,
            "preconditions": {"uid": pod.uid},
        });
        match self
            .optional::<Value>(
                &operation,
                Method::DELETE,
                &path(pod)?,
                &[],
                Some((Media::Json, &body)),
            )
            .await
        {
            Ok(answer) => Ok(answer.is_some()),
            Err(KubernetesError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    #[test]
    fn a_pod_is_read() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": {"kubernetes.io/config.mirror": "x"},
                "ownerReferences": [{"kind": "Node", "name": "x", "controller": true}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap();
        assert!(pod.mirror && pod.ready && !pod.finished);
        assert_eq!(pod.controller.as_deref(), Some("Node"));
    }

    #[tokio::test]
    async fn evictions_accepted_gone_blocked() {
        let pod: Pod = serde_json::from_value(
            json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}}),
        )
        .unwrap();
        let script = Script::new([
            (201, "{}"),
            (404, "{}"),
            (429, r#"{"message":"budget"}"#),
            (403, "{}"),
        ]);
        let client = script.client();
        assert_eq!(client.evict(&pod).await.unwrap(), Eviction::Accepted);
        assert_eq!(client.evict(&pod).await.unwrap(), Eviction::Gone);
        assert_eq!(
            client.evict(&pod).await.unwrap(),
            Eviction::Blocked("budget".into())
        );
        assert!(client.evict(&pod).await.is_err());
        assert!(
            script.requests()[0]
                .starts_with("POST https://10.0.0.5:6443/api/v1/namespaces/n/pods/p/eviction ")
        );
    }
}
