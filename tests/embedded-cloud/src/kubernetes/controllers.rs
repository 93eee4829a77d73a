//! The controller loop: workloads, scheduling, and what kubelets report of their pods.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::core::Core;
use super::error::ApiError;
use super::objects::key_of;
use super::placement::{choose, node_ready};
use super::workloads::{self, Snapshot};
use super::{eviction, now};

/// Time a container takes to start.
const START: Duration = Duration::from_millis(200);

fn matters(table: &str) -> bool {
    matches!(
        table,
        "nodes"
            | "pods"
            | "daemonsets.apps"
            | "deployments.apps"
            | "replicasets.apps"
            | "statefulsets.apps"
            | "poddisruptionbudgets.policy"
    )
}

/// Runs until stopped.
pub(crate) async fn run(core: Arc<Core>, mut stopped: watch::Receiver<bool>) {
    let mut changes = core.store.subscribe();
    let mut starting: HashMap<String, i64> = HashMap::new();
    let mut dirty = true;
    loop {
        if dirty {
            // Let a burst of writes pass before looking.
            tokio::time::sleep(Duration::from_millis(20)).await;
            while !matches!(
                changes.try_recv(),
                Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed)
            ) {}
            if let Err(refusal) = pass(&core, &mut starting) {
                tracing::warn!(error = refusal.message, "controller pass");
            }
        }
        let wait = if starting.is_empty() {
            Duration::from_secs(30)
        } else {
            Duration::from_millis(100)
        };
        dirty = tokio::select! {
            change = changes.recv() => change.map_or(true, |c| matters(&c.key.table)),
            () = tokio::time::sleep(wait) => true,
            _ = stopped.changed() => return,
        };
    }
}

fn pass(core: &Core, starting: &mut HashMap<String, i64>) -> Result<(), ApiError> {
    for object in core.store.list("deployments.apps", None).1 {
        workloads::deployment(core, &object)?;
    }
    let seen = Snapshot::take(core);
    for set in core.store.list("daemonsets.apps", None).1 {
        workloads::daemon_set(core, &seen, &set)?;
    }
    for table in ["replicasets.apps", "statefulsets.apps"] {
        for set in core.store.list(table, None).1 {
            workloads::replicas(core, &seen, table, &set)?;
        }
    }
    let seen = Snapshot::take(core);
    schedule(core, &seen)?;
    run_pods(core, starting)?;
    eviction::refresh(core);
    Ok(())
}

fn change_pod(core: &Core, pod: &Value, change: impl FnOnce(&mut Value)) -> Result<(), ApiError> {
    core.store.edit(&key_of("pods", pod), |old| {
        Ok(old.map(|o| {
            let mut o = o.clone();
            change(&mut o);
            o
        }))
    })?;
    Ok(())
}

fn set_condition(pod: &mut Value, kind: &str, status: &str, reason: &str, message: &str) {
    let mut condition = json!({"type": kind, "status": status, "lastTransitionTime": now()});
    if !reason.is_empty() {
        condition["reason"] = reason.into();
        condition["message"] = message.into();
    }
    if !pod["status"]["conditions"].is_array() {
        pod["status"]["conditions"] = json!([]);
    }
    let Some(list) = pod["status"]["conditions"].as_array_mut() else {
        return;
    };
    match list.iter_mut().find(|c| c["type"] == kind) {
        Some(old) if old["status"] == status && old["message"] == condition["message"] => {}
        Some(old) => *old = condition,
        None => list.push(condition),
    }
}

fn schedule(core: &Core, seen: &Snapshot) -> Result<(), ApiError> {
    let mut load: HashMap<String, usize> = HashMap::new();
    for pod in &seen.pods {
        if let Some(node) = pod["spec"]["nodeName"].as_str() {
            *load.entry(node.to_owned()).or_default() += 1;
        }
    }
    for pod in seen
        .pods
        .iter()
        .filter(|p| p["spec"]["nodeName"].as_str().is_none_or(str::is_empty))
    {
        match choose(&seen.nodes, &pod["spec"], |n| {
            load.get(n).copied().unwrap_or(0)
        }) {
            Ok(node) => {
                *load.entry(node.to_owned()).or_default() += 1;
                change_pod(core, pod, |p| {
                    p["spec"]["nodeName"] = node.into();
                    set_condition(p, "PodScheduled", "True", "", "");
                })?;
            }
            Err(why) => change_pod(core, pod, |p| {
                set_condition(p, "PodScheduled", "False", "Unschedulable", &why);
            })?,
        }
    }
    Ok(())
}

/// What the kubelets do: start pods, report them, and lose those of lost nodes.
fn run_pods(core: &Core, starting: &mut HashMap<String, i64>) -> Result<(), ApiError> {
    let seen = Snapshot::take(core);
    let nodes: HashMap<&str, &Value> = seen
        .nodes
        .iter()
        .filter_map(|n| Some((n["metadata"]["name"].as_str()?, n.as_ref())))
        .collect();
    let clock = Utc::now().timestamp_millis();
    let mut still: HashMap<String, i64> = HashMap::new();
    for (index, pod) in seen.pods.iter().enumerate() {
        let Some(name) = pod["spec"]["nodeName"].as_str().filter(|n| !n.is_empty()) else {
            continue;
        };
        let Some(node) = nodes.get(name) else {
            core.store.edit(&key_of("pods", pod), |_| Ok(None))?;
            continue;
        };
        let host = pod["spec"]["hostNetwork"] == true;
        let state = node_ready(node);
        if state == "Unknown" {
            if eviction::is_ready(pod) {
                change_pod(core, pod, |p| {
                    set_condition(p, "Ready", "False", "NodeLost", "the node is not reachable");
                })?;
            }
            continue;
        }
        if eviction::is_ready(pod) || !(host || state == "True") {
            continue;
        }
        let uid = pod["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let since = starting.get(&uid).copied().unwrap_or(clock);
        if clock - since < i64::try_from(START.as_millis()).unwrap_or(0) {
            still.insert(uid, since);
            continue;
        }
        let ip = if host {
            internal_ip(node)
        } else {
            format!("10.244.{}.{}", index / 250, index % 250 + 2)
        };
        change_pod(core, pod, |p| report_running(p, &ip, node))?;
    }
    *starting = still;
    Ok(())
}

fn internal_ip(node: &Value) -> String {
    let list = node["status"]["addresses"].as_array();
    let found = list.and_then(|l| l.iter().find(|a| a["type"] == "InternalIP"));
    found
        .and_then(|a| a["address"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// Makes a pod Running and Ready.
pub(crate) fn report_running(pod: &mut Value, ip: &str, node: &Value) {
    let containers: Vec<Value> = pod["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| {
            json!({
                "name": c["name"], "image": c["image"], "imageID": c["image"], "ready": true, "started": true,
                "restartCount": 0, "containerID": "containerd://simulated", "state": {"running": {"startedAt": now()}},
            })
        })
        .collect();
    let status = &mut pod["status"];
    status["phase"] = "Running".into();
    status["hostIP"] = internal_ip(node).into();
    status["podIP"] = ip.into();
    status["podIPs"] = json!([{"ip": ip}]);
    status["startTime"] = now().into();
    status["containerStatuses"] = containers.into();
    for kind in ["PodScheduled", "Initialized", "ContainersReady", "Ready"] {
        set_condition(pod, kind, "True", "", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::core::for_tests;
    use crate::kubernetes::store::Key;

    fn node(core: &Core, name: &str, ready: &str) {
        let object = json!({"metadata": {"labels": {}}, "status": {
            "conditions": [{"type": "Ready", "status": ready}], "addresses": [{"type": "InternalIP", "address": "10.0.0.4"}]}});
        core.ensure("nodes", "", name, &object).unwrap();
    }

    fn settle(core: &Core) {
        let mut starting = HashMap::new();
        for _ in 0..4 {
            pass(core, &mut starting).unwrap();
            std::thread::sleep(START);
        }
    }

    fn template(host: bool) -> Value {
        json!({"metadata": {"labels": {"app": "x"}}, "spec": {"hostNetwork": host, "containers": [{"name": "c", "image": "i"}]}})
    }

    #[test]
    fn a_daemon_set_runs_on_every_node_and_only_host_network_before_ready() {
        let core = for_tests();
        node(&core, "a", "True");
        node(&core, "b", "False");
        for (name, host) in [("host", true), ("net", false)] {
            let set = json!({"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template(host)}});
            core.ensure("daemonsets.apps", "default", name, &set)
                .unwrap();
        }
        settle(&core);
        let status = |name: &str| {
            core.store
                .get(&Key::new("daemonsets.apps", "default", name))
                .unwrap()["status"]
                .clone()
        };
        assert_eq!(status("host")["numberReady"], 2);
        assert_eq!(status("host")["observedGeneration"], 1);
        assert_eq!(
            (
                &status("net")["desiredNumberScheduled"],
                &status("net")["numberReady"]
            ),
            (&json!(2), &json!(1))
        );
    }

    #[test]
    fn a_deployment_moves_off_a_node_that_is_gone() {
        let core = for_tests();
        node(&core, "a", "True");
        let object = json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template(false)}});
        core.ensure("deployments.apps", "default", "d", &object)
            .unwrap();
        settle(&core);
        let ready = || {
            core.store
                .get(&Key::new("deployments.apps", "default", "d"))
                .unwrap()["status"]["readyReplicas"]
                .clone()
        };
        assert_eq!(ready(), 2);
        node(&core, "b", "True");
        core.store
            .edit(&Key::new("nodes", "", "a"), |_| Ok(None))
            .unwrap();
        settle(&core);
        settle(&core);
        assert_eq!(ready(), 2);
        assert!(
            core.store
                .list("pods", None)
                .1
                .iter()
                .all(|p| p["spec"]["nodeName"] == "b")
        );
    }
}
