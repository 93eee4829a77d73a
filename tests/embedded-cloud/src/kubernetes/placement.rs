//! Which node a pod may run on: selectors, required affinity, taints.

use serde_json::{Value, json};

use super::selector::{expressions_match, label_selector_matches};

/// Whether one of the tolerations covers the taint.
fn tolerated(tolerations: &Value, taint: &Value) -> bool {
    tolerations.as_array().is_some_and(|list| {
        list.iter().any(|t| {
            let effect = t["effect"].as_str().unwrap_or_default();
            let key = t["key"].as_str().unwrap_or_default();
            let exists = t["operator"] == "Exists";
            let value = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            (effect.is_empty() || taint["effect"] == effect)
                && (if key.is_empty() {
                    exists
                } else {
                    taint["key"] == key
                })
                && (exists || value(&t["value"]) == value(&taint["value"]))
        })
    })
}

/// The first taint that keeps the pod away.
pub(crate) fn repelled_by<'a>(node: &'a Value, pod_spec: &Value) -> Option<&'a Value> {
    let taints = node["spec"]["taints"].as_array()?;
    taints
        .iter()
        .find(|t| t["effect"] != "PreferNoSchedule" && !tolerated(&pod_spec["tolerations"], t))
}

/// Node selector and required node affinity.
pub(crate) fn selects(node: &Value, pod_spec: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let plain = label_selector_matches(&json!({"matchLabels": pod_spec["nodeSelector"]}), labels);
    let required = &pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ["nodeSelectorTerms"];
    let affine = required.as_array().is_none_or(|terms| {
        terms.iter().any(|term| {
            let by_name = term["matchFields"].as_array().is_none_or(|fields| {
                fields.iter().all(|f| {
                    f["values"]
                        .as_array()
                        .is_some_and(|v| v.contains(&node["metadata"]["name"]))
                        == (f["operator"] == "In")
                })
            });
            by_name && expressions_match(&term["matchExpressions"], labels)
        })
    });
    plain && affine
}

/// The status of a condition of a node.
pub(crate) fn node_ready(node: &Value) -> &str {
    let list = node["status"]["conditions"].as_array();
    list.and_then(|l| l.iter().find(|c| c["type"] == "Ready"))
        .and_then(|c| c["status"].as_str())
        .unwrap_or("Unknown")
}

/// The pod spec of a DaemonSet as its controller makes it: with the tolerations it adds.
pub(crate) fn daemon_pod_spec(template: &Value) -> Value {
    let mut spec = template["spec"].clone();
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    let mut add = |key: &str, effect: &str| {
        tolerations.push(json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": effect}));
    };
    add("not-ready", "NoExecute");
    add("unreachable", "NoExecute");
    for pressure in [
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ] {
        add(pressure, "NoSchedule");
    }
    if spec["hostNetwork"] == true {
        add("network-unavailable", "NoSchedule");
    }
    spec["tolerations"] = tolerations.into();
    spec
}

/// Picks a node for a pod: the eligible one with the fewest pods, or why there is none.
pub(crate) fn choose<'a>(
    nodes: &'a [std::sync::Arc<Value>],
    pod_spec: &Value,
    load: impl Fn(&str) -> usize,
) -> Result<&'a str, String> {
    let mut best: Option<(usize, &str)> = None;
    let mut reasons: Vec<String> = Vec::new();
    for node in nodes {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let why = if node["spec"]["unschedulable"] == true {
            Some("were unschedulable".to_owned())
        } else if !selects(node, pod_spec) {
            Some("didn't match Pod's node affinity/selector".to_owned())
        } else if let Some(taint) = repelled_by(node, pod_spec) {
            Some(format!(
                "had untolerated taint {{{}: }}",
                taint["key"].as_str().unwrap_or_default()
            ))
        } else if node_ready(node) != "True" {
            Some("were not ready".to_owned())
        } else {
            None
        };
        match why {
            Some(why) => reasons.push(why),
            None => {
                let used = load(name);
                if best.is_none_or(|(least, _)| used < least) {
                    best = Some((used, name));
                }
            }
        }
    }
    if let Some((_, name)) = best {
        return Ok(name);
    }
    reasons.sort();
    let mut counted: Vec<(usize, String)> = Vec::new();
    for reason in reasons {
        match counted.last_mut() {
            Some((n, last)) if *last == reason => *n += 1,
            _ => counted.push((1, reason)),
        }
    }
    let list: Vec<String> = counted
        .into_iter()
        .map(|(n, r)| format!("{n} node(s) {r}"))
        .collect();
    Err(format!(
        "0/{} nodes are available: {}.",
        nodes.len(),
        list.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn node(name: &str, taint: Option<&str>) -> Arc<Value> {
        let taints: Vec<Value> = taint
            .iter()
            .map(|t| json!({"key": t, "effect": "NoSchedule"}))
            .collect();
        Arc::new(
            json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        )
    }

    #[test]
    fn taints_repel_and_tolerations_let_in() {
        let nodes = [node("cp", Some("node-role.kubernetes.io/control-plane"))];
        let err = choose(&nodes, &json!({}), |_| 0).unwrap_err();
        assert_eq!(
            err,
            "0/1 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }."
        );
        let spec = json!({"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]});
        assert_eq!(choose(&nodes, &spec, |_| 0).unwrap(), "cp");
    }

    #[test]
    fn affinity_by_field_and_label() {
        let n = node("w", None);
        let by = |field: &str, values: &str| {
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {field: [{"key": "metadata.name", "operator": "In", "values": [values]}]}]}}}})
        };
        assert!(selects(&n, &by("matchFields", "w")));
        assert!(!selects(&n, &by("matchFields", "x")));
        assert!(!selects(&n, &json!({"nodeSelector": {"a": "b"}})));
        assert!(selects(
            &n,
            &json!({"nodeSelector": {"kubernetes.io/hostname": "w"}})
        ));
    }
}
