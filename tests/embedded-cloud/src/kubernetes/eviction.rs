//! Evictions and the PodDisruptionBudgets they honour.

use serde_json::{Value, json};

use super::core::Core;
use super::error::ApiError;
use super::objects::key_of;
use super::selector::label_selector_matches;
use super::store::Key;

/// Whether a pod counts as healthy.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let list = pod["status"]["conditions"].as_array();
    list.is_some_and(|l| {
        l.iter()
            .any(|c| c["type"] == "Ready" && c["status"] == "True")
    })
}

/// What a budget says now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget {
    expected: u64,
    healthy: u64,
    desired: u64,
}

impl Budget {
    fn allowed(self) -> u64 {
        if self.expected == 0 {
            0
        } else {
            self.healthy.saturating_sub(self.desired)
        }
    }
}

/// A number or a percentage, rounded up.
fn scaled(value: &Value, of: u64) -> Option<u64> {
    if let Some(n) = value.as_u64() {
        return Some(n);
    }
    let percent: u64 = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    Some((of * percent).div_ceil(100))
}

fn budget(core: &Core, pdb: &Value) -> Budget {
    let namespace = pdb["metadata"]["namespace"].as_str().unwrap_or_default();
    let pods = core.store.list("pods", Some(namespace)).1;
    let mine: Vec<_> = pods
        .iter()
        .filter(|p| label_selector_matches(&pdb["spec"]["selector"], &p["metadata"]["labels"]))
        .collect();
    let mut owners: Vec<&Value> = Vec::new();
    let mut expected = 0;
    for pod in &mine {
        let owner = pod["metadata"]["ownerReferences"]
            .as_array()
            .and_then(|o| o.iter().find(|o| o["controller"] == true));
        match owner {
            Some(owner) if owners.iter().any(|o| o["uid"] == owner["uid"]) => {}
            Some(owner) => {
                owners.push(owner);
                let name = owner["name"].as_str().unwrap_or_default();
                let table = match owner["kind"].as_str() {
                    Some("ReplicaSet") => "replicasets.apps",
                    Some("StatefulSet") => "statefulsets.apps",
                    _ => "",
                };
                let set = core.store.get(&Key::new(table, namespace, name));
                let wanted = set.and_then(|s| s["spec"]["replicas"].as_u64());
                let present = mine.iter().filter(|p| {
                    p["metadata"]["ownerReferences"]
                        .as_array()
                        .is_some_and(|o| o.iter().any(|o| o["uid"] == owner["uid"]))
                });
                expected += wanted.unwrap_or_else(|| present.count() as u64);
            }
            None => expected += 1,
        }
    }
    let healthy = mine.iter().filter(|p| is_ready(p)).count() as u64;
    let desired = match scaled(&pdb["spec"]["minAvailable"], expected) {
        Some(min) => min,
        None => {
            expected.saturating_sub(scaled(&pdb["spec"]["maxUnavailable"], expected).unwrap_or(1))
        }
    };
    Budget {
        expected,
        healthy,
        desired,
    }
}

/// Evicts a pod, or answers 429 when a budget forbids it.
pub(crate) fn evict(
    core: &Core,
    namespace: &str,
    name: &str,
    options: &Value,
) -> Result<Value, ApiError> {
    let key = Key::new("pods", namespace, name);
    let pod = core
        .store
        .get(&key)
        .ok_or_else(|| ApiError::not_found("", "pods", name))?;
    let budgets = core
        .store
        .list("poddisruptionbudgets.policy", Some(namespace))
        .1;
    let covering: Vec<_> = budgets
        .iter()
        .filter(|b| label_selector_matches(&b["spec"]["selector"], &pod["metadata"]["labels"]))
        .collect();
    if covering.len() > 1 {
        return Err(ApiError::new(
            500,
            "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    if let Some(pdb) = covering.first() {
        let now = budget(core, pdb);
        let unhealthy_is_free = !is_ready(&pod) && now.healthy >= now.desired;
        if now.allowed() == 0 && !unhealthy_is_free {
            let budget = pdb["metadata"]["name"].as_str().unwrap_or_default();
            let why = format!(
                "The disruption budget {budget} needs {} healthy pods and has {} currently",
                now.desired, now.healthy
            );
            return Err(ApiError::new(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
            )
            .with_details(json!({"causes": [{"reason": "DisruptionBudget", "message": why}]})));
        }
    }
    if !options["dryRun"].is_array() {
        core.store.edit(&key, |_| Ok(None))?;
    }
    Ok(
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
    )
}

/// Brings the status of all budgets up to date.
pub(crate) fn refresh(core: &Core) {
    for pdb in core.store.list("poddisruptionbudgets.policy", None).1 {
        let now = budget(core, &pdb);
        let status = json!({
            "observedGeneration": pdb["metadata"]["generation"], "disruptionsAllowed": now.allowed(),
            "currentHealthy": now.healthy, "desiredHealthy": now.desired, "expectedPods": now.expected,
        });
        let _ = core
            .store
            .edit(&key_of("poddisruptionbudgets.policy", &pdb), |old| {
                Ok(old.map(|o| {
                    let mut o = o.clone();
                    o["status"] = status;
                    o
                }))
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::core::for_tests;

    fn pod(core: &Core, name: &str, ready: bool) {
        let state = if ready { "True" } else { "False" };
        let object = json!({"metadata": {"labels": {"app": "x"}}, "status": {"conditions": [{"type": "Ready", "status": state}]}});
        core.ensure("pods", "default", name, &object).unwrap();
    }

    #[test]
    fn a_budget_forbids_the_last_healthy_pod() {
        let core = for_tests();
        pod(&core, "a", true);
        pod(&core, "b", true);
        let pdb =
            json!({"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "x"}}}});
        core.ensure("poddisruptionbudgets.policy", "default", "x", &pdb)
            .unwrap();
        evict(&core, "default", "a", &Value::Null).unwrap();
        // One of one left; half of one, rounded up, must stay.
        let err = evict(&core, "default", "b", &Value::Null).unwrap_err();
        assert_eq!(err.code, 429);
        assert_eq!(
            err.details.unwrap()["causes"][0]["reason"],
            "DisruptionBudget"
        );
        refresh(&core);
        let status = core
            .store
            .get(&Key::new("poddisruptionbudgets.policy", "default", "x"))
            .unwrap()["status"]
            .clone();
        assert_eq!(status["disruptionsAllowed"], 0);
    }
}
