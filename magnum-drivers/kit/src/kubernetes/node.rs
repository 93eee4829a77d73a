//! Nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use chrono::{DateTime, Utc};
use http::Method;
use magnum_core::Taint;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::client::{KubernetesClient, Media};
use super::error::KubernetesError;
use super::object::{Metadata, path_segment};

/// Taint of a node that the cloud provider has not looked at yet.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// A node as the API shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Unique id of the object; a node that registers anew has another.
    pub uid: String,
    /// Version of the object, for conditional changes.
    pub resource_version: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Taints. Those with an effect that we do not know are left out.
    pub taints: Vec<Taint>,
    /// Whether new pods are kept away.
    pub unschedulable: bool,
    /// `openstack:///<server id>`.
    pub provider_id: Option<String>,
    /// The condition `Ready`.
    pub ready: NodeReady,
    /// Addresses within the cluster's network.
    pub internal_addresses: Vec<IpAddr>,
    /// Version of the kubelet.
    pub kubelet_version: String,
    /// When the object was made.
    pub created: Option<DateTime<Utc>>,
}

/// The condition `Ready` of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeReady {
    /// True.
    Ready,
    /// False, with the kubelet's reason.
    NotReady(String),
    /// The kubelet has not been heard of.
    Unknown(String),
}

impl Node {
    /// Whether the node is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready == NodeReady::Ready
    }

    /// Whether the cloud provider has not initialised the node yet.
    #[must_use]
    pub fn is_uninitialized(&self) -> bool {
        self.taints.iter().any(|taint| taint.key == UNINITIALIZED)
    }

    /// Whether it is a control plane node.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        self.labels
            .contains_key("node-role.kubernetes.io/control-plane")
    }

    /// Id of the server, from the provider id.
    #[must_use]
    pub fn server_id(&self) -> Option<&str> {
        self.provider_id
            .as_deref()?
            .strip_prefix("openstack://")?
            .rsplit('/')
            .next()
            .filter(|id| !id.is_empty())
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawNode::deserialize(deserializer).map(Self::from)
    }
}

#[derive(Deserialize)]
struct RawNode {
    metadata: Metadata,
    #[serde(default)]
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawSpec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    unschedulable: bool,
    taints: Vec<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawStatus {
    conditions: Vec<RawCondition>,
    addresses: Vec<RawAddress>,
    node_info: RawInfo,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawAddress {
    #[serde(rename = "type")]
    kind: String,
    address: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawInfo {
    kubelet_version: String,
}

impl From<RawNode> for Node {
    fn from(raw: RawNode) -> Self {
        let ready = raw
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == "Ready");
        let words =
            |condition: &RawCondition| format!("{}: {}", condition.reason, condition.message);
        Self {
            name: raw.metadata.name,
            uid: raw.metadata.uid,
            resource_version: raw.metadata.resource_version,
            labels: raw.metadata.labels,
            taints: raw.spec.taints.into_iter().filter_map(read_taint).collect(),
            unschedulable: raw.spec.unschedulable,
            provider_id: raw.spec.provider_id.filter(|id| !id.is_empty()),
            ready: match ready {
                Some(condition) if condition.status == "True" => NodeReady::Ready,
                Some(condition) if condition.status == "False" => {
                    NodeReady::NotReady(words(condition))
                }
                Some(condition) => NodeReady::Unknown(words(condition)),
                None => NodeReady::Unknown("no condition Ready yet".to_owned()),
            },
            internal_addresses: raw
                .status
                .addresses
                .iter()
                .filter(|address| address.kind == "InternalIP")
                .filter_map(|address| address.address.parse().ok())
                .collect(),
            kubelet_version: raw.status.node_info.kubelet_version,
            created: raw.metadata.creation_timestamp,
        }
    }
}

/// A taint without what the API adds (`timeAdded`).
fn read_taint(mut value: Value) -> Option<Taint> {
    value
        .as_object_mut()?
        .retain(|key, _| matches!(key.as_str(), "key" | "value" | "effect"));
    serde_json::from_value(value).ok()
}

fn path(name: &str) -> Result<String, KubernetesError> {
    Ok(format!("/api/v1/nodes/{}", path_segment(name)?))
}

impl KubernetesClient {
    /// All nodes.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn nodes(&self) -> Result<Vec<Node>, KubernetesError> {
        self.list_all("list nodes", "/api/v1/nodes", &[]).await
    }

    /// One node, if it has registered.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn node(&self, name: &str) -> Result<Option<Node>, KubernetesError> {
        self.optional(
            &format!("get node {name}"),
            Method::GET,
            &path(name)?,
            &[],
            None,
        )
        .await
    }

    /// Deletes a node's object. `false` when there was none.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn delete_node(&self, name: &str) -> Result<bool, KubernetesError> {
        let operation = format!("delete node {name}");
        Ok(self
            .optional::<Value>(&operation, Method::DELETE, &path(name)?, &[], None)
            .await?
            .is_some())
    }

    /// Keeps new pods away from a node, or lets them in again. `None` when there is no such node.
    ///
    /// # Errors
    /// As [`KubernetesError`] lists.
    pub async fn set_unschedulable(
        &self,
        name: &str,
        unschedulable: bool,
    ) -> Result<Option<Node>, KubernetesError> {
        let operation = if unschedulable {
            format!("cordon node {name}")
        } else {
            format!("uncordon node {name}")
        };
        let patch = json!({"spec": {"unschedulable": unschedulable}});
        self.optional(
            &operation,
            Method::PATCH,
            &path(name)?,
            &[],
            Some((Media::MergePatch, &patch)),
        )
        .await
    }

    /// Sends a merge patch to a node, as [`settings_patch`](super::settings_patch) makes one.
    ///
    /// # Errors
    /// [`KubernetesError::Conflict`] when the node changed since it was read: read it again and make a new patch.
    pub async fn patch_node(&self, name: &str, patch: &Value) -> Result<Node, KubernetesError> {
        let operation = format!("patch node {name}");
        self.required(
            &operation,
            Method::PATCH,
            &path(name)?,
            &[],
            Some((Media::MergePatch, patch)),
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::Script;
    use super::*;

    const NODE: &str = r#"{"metadata": {"name": "n", "uid": "u", "resourceVersion": "7", "labels": {"node-role.kubernetes.io/control-plane": ""},
        "creationTimestamp": "2026-12-01T04:50:00Z"},
        "spec": {"providerID": "openstack:///11111111-2222-3333-4444-555555555555", "taints": [
            {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-12-01T04:50:00Z"},
            {"key": "x", "effect": "Strange"}]},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "cni"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.21"}, {"type": "Hostname", "address": "n"}],
            "nodeInfo": {"kubeletVersion": "v1.36.1"}}}"#;

    #[test]
    fn a_node_is_read() {
        let node: Node = serde_json::from_str(NODE).unwrap();
        assert_eq!(
            node.ready,
            NodeReady::NotReady("KubeletNotReady: cni".into())
        );
        assert!(!node.is_ready() && node.is_uninitialized() && node.is_control_plane());
        assert_eq!(node.taints.len(), 2);
        assert_eq!(
            node.server_id(),
            Some("11111111-2222-3333-4444-555555555555")
        );
        assert_eq!(
            node.internal_addresses,
            ["10.0.0.21".parse::<IpAddr>().unwrap()]
        );
    }

    #[test]
    fn the_server_id_of_a_regional_provider_id() {
        let mut node: Node = serde_json::from_str(NODE).unwrap();
        node.provider_id = Some("openstack://RegionOne/abc".into());
        assert_eq!(node.server_id(), Some("abc"));
        node.provider_id = Some("aws:///x".into());
        assert_eq!(node.server_id(), None);
    }

    #[tokio::test]
    async fn reading_cordoning_and_deleting() {
        let script = Script::new([
            (200, NODE),
            (404, "{}"),
            (200, NODE),
            (200, "{}"),
            (404, "{}"),
        ]);
        let client = script.client();
        assert_eq!(client.node("n").await.unwrap().unwrap().name, "n");
        assert_eq!(client.node("n").await.unwrap(), None);
        assert!(client.set_unschedulable("n", true).await.unwrap().is_some());
        assert!(client.delete_node("n").await.unwrap());
        assert!(!client.delete_node("n").await.unwrap());
        assert!(client.node("../secrets").await.is_err());
        assert!(script.requests()[2].ends_with(r#"{"spec":{"unschedulable":true}}"#));
    }
}
