//! Labels and taints of a node: what has to change.

use std::collections::{BTreeMap, BTreeSet};

use magnum_core::Taint;
use serde_json::{Map, Value, json};

use super::node::Node;

/// What a node's labels and taints shall be, and which of the present ones may go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSettings {
    /// Labels that shall be there.
    pub labels: BTreeMap<String, String>,
    /// Keys of labels that we set before; those not in `labels` are removed.
    pub owned_labels: BTreeSet<String>,
    /// Taints that shall be there.
    pub taints: Vec<Taint>,
    /// Keys of taints that we set before; those not in `taints` are removed.
    pub owned_taints: BTreeSet<String>,
}

/// The merge patch that brings `node` to `wanted`, or `None` when there is nothing to do.
///
/// A list cannot be merged, so a change of taints names the version of the node that was read: the cluster answers
/// with a conflict when somebody else changed it meanwhile. Taints of others stay.
#[must_use]
pub fn settings_patch(node: &Node, wanted: &NodeSettings) -> Option<Value> {
    let mut labels = Map::new();
    for (key, value) in &wanted.labels {
        if node.labels.get(key) != Some(value) {
            labels.insert(key.clone(), value.clone().into());
        }
    }
    for key in &wanted.owned_labels {
        if node.labels.contains_key(key) && !wanted.labels.contains_key(key) {
            labels.insert(key.clone(), Value::Null);
        }
    }
    let ours = |taint: &Taint| {
        wanted.owned_taints.contains(&taint.key)
            || wanted
                .taints
                .iter()
                .any(|other| other.key == taint.key && other.effect == taint.effect)
    };
    let mut taints: Vec<Taint> = node
        .taints
        .iter()
        .filter(|taint| !ours(taint))
        .cloned()
        .collect();
    taints.extend(wanted.taints.iter().cloned());
    let same =
        taints.len() == node.taints.len() && taints.iter().all(|taint| node.taints.contains(taint));
    let mut patch = Map::new();
    let mut metadata = Map::new();
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), labels.into());
    }
    if !same {
        metadata.insert(
            "resourceVersion".to_owned(),
            node.resource_version.clone().into(),
        );
        patch.insert("spec".to_owned(), json!({ "taints": taints }));
    }
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), metadata.into());
    }
    (!patch.is_empty()).then(|| patch.into())
}

#[cfg(test)]
mod tests {
    use magnum_core::TaintEffect;

    use super::*;

    fn node() -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "resourceVersion": "7", "labels": {"disk": "hdd", "old": "1", "kubernetes.io/os": "linux"}},
            "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, {"key": "gone", "effect": "NoSchedule"}]},
        }))
        .unwrap()
    }

    fn taint(key: &str) -> Taint {
        Taint {
            key: key.into(),
            value: String::new(),
            effect: TaintEffect::NoSchedule,
        }
    }

    #[test]
    fn only_what_is_ours_changes() {
        let wanted = NodeSettings {
            labels: [("disk".to_owned(), "ssd".to_owned())].into(),
            owned_labels: ["disk".to_owned(), "old".to_owned()].into(),
            taints: vec![taint("gpu")],
            owned_taints: ["gone".to_owned()].into(),
        };
        let patch = settings_patch(&node(), &wanted).unwrap();
        assert_eq!(
            patch["metadata"]["labels"],
            json!({"disk": "ssd", "old": null})
        );
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let keys: Vec<&str> = patch["spec"]["taints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|taint| taint["key"].as_str().unwrap())
            .collect();
        assert_eq!(keys, ["node.kubernetes.io/not-ready", "gpu"]);
    }

    #[test]
    fn nothing_to_do_is_no_patch() {
        assert_eq!(settings_patch(&node(), &NodeSettings::default()), None);
        let wanted = NodeSettings {
            taints: vec![taint("gone")],
            ..NodeSettings::default()
        };
        assert_eq!(settings_patch(&node(), &wanted), None);
    }

    #[test]
    fn labels_alone_do_not_depend_on_the_version() {
        let wanted = NodeSettings {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            ..NodeSettings::default()
        };
        assert_eq!(
            settings_patch(&node(), &wanted),
            Some(json!({"metadata": {"labels": {"a": "b"}}}))
        );
    }
}
