//! What happens to nodes after they joined: readiness, the cloud provider, loss and removal.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::node_api::NodeApi;
use super::registration::NO_CNI;
use super::serving::post_serving_request;
use super::shared::Shared;
use super::state::{NodeRecord, Phase};
use crate::kubernetes::{CoreHandle, Identity, Key, now};

/// Network add-ons we know, as (namespace, DaemonSet).
const CNI: [(&str, &str); 5] = [
    ("kube-flannel", "kube-flannel-ds"),
    ("kube-system", "kube-flannel-ds"),
    ("kube-system", "cilium"),
    ("kube-system", "calico-node"),
    ("calico-system", "calico-node"),
];

/// Milliseconds between a node's NotReady and its removal by the cloud provider.
const REMOVE_AFTER: i64 = 2000;

/// Nodes on which a pod of one of these DaemonSets is ready.
fn nodes_with(core: &CoreHandle, sets: &[(&str, &str)]) -> BTreeSet<String> {
    let mut nodes = BTreeSet::new();
    for (namespace, name) in sets {
        let Some(set) = core
            .store
            .get(&Key::new("daemonsets.apps", namespace, name))
        else {
            continue;
        };
        for pod in core.store.list("pods", Some(namespace)).1 {
            let owned = pod["metadata"]["ownerReferences"][0]["uid"] == set["metadata"]["uid"];
            let conditions = pod["status"]["conditions"].as_array();
            let ready = conditions.is_some_and(|c| {
                c.iter()
                    .any(|c| c["type"] == "Ready" && c["status"] == "True")
            });
            if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|_| owned && ready) {
                nodes.insert(node.to_owned());
            }
        }
    }
    nodes
}

/// One look at one cluster.
pub(crate) async fn tick(shared: &Arc<Shared>, cluster: &Arc<Cluster>, heartbeat: bool) {
    let records: Vec<NodeRecord> = shared
        .state()
        .servers
        .values()
        .filter(|r| r.cluster_id == cluster.id)
        .cloned()
        .collect();
    if records.iter().all(|r| r.deleted) {
        end(shared, cluster).await;
        return;
    }
    let Some(record) = shared.state().clusters.get(&cluster.id).cloned() else {
        return;
    };
    shared.refresh_route(&record, cluster);
    let core = cluster.core();
    let with_cni = nodes_with(core, &CNI);
    let provider = nodes_with(
        core,
        &[("kube-system", "openstack-cloud-controller-manager")],
    );
    let alive = |r: &NodeRecord| r.phase == Phase::Joined && r.away_since.is_none() && !r.broken;
    let control_plane = records
        .iter()
        .any(|r| alive(r) && r.role.is_some_and(|r| r.is_control_plane()));
    cluster.set_up(control_plane);
    if !control_plane {
        return;
    }
    let clock = chrono::Utc::now().timestamp_millis();
    let grace = i64::try_from(shared.config.node_grace.as_millis()).unwrap_or(i64::MAX);
    for r in records.iter().filter(|r| r.phase == Phase::Joined) {
        let key = Key::new("nodes", "", &r.node_name);
        let Some(node) = core.store.get(&key) else {
            if r.deleted {
                forget(shared, cluster, r);
            }
            continue;
        };
        if node["metadata"]["annotations"]["simulator/server-id"] != r.server_id.as_str() {
            continue;
        }
        let away = if r.broken {
            Some(i64::MAX)
        } else {
            r.away_since.map(|since| clock - since)
        };
        match away {
            None => {
                let networked = !r.needs_cni || with_cni.contains(&r.node_name) || was_ready(&node);
                let (status, reason, message) = match (r.never_ready, networked) {
                    (true, _) => ("False", "KubeletNotReady", "PLEG is not healthy: scripted"),
                    (false, false) => ("False", "KubeletNotReady", NO_CNI),
                    (false, true) => ("True", "KubeletReady", "kubelet is posting ready status"),
                };
                let waits = !provider.is_empty() && has_taint(&node, UNINITIALIZED);
                if waits || !is_settled(&node, status, message) {
                    edit_node(core, &key, |n| {
                        set_ready(n, status, reason, message);
                        if waits {
                            initialise(n, r);
                        }
                    });
                }
                if heartbeat {
                    renew_lease(core, &r.node_name);
                }
                let initialised = !r.external || !has_taint(&node, UNINITIALIZED);
                if r.serving_csr && !r.serving_posted && initialised {
                    let identity =
                        Identity::new(&format!("system:node:{}", r.node_name), &["system:nodes"]);
                    let api = NodeApi::Local {
                        core: core.clone(),
                        identity,
                    };
                    if post_serving_request(&api, r).await {
                        shared.change_node(&r.server_id, |r| r.serving_posted = true);
                    }
                }
            }
            Some(time) if time >= grace => {
                let message = "Kubelet stopped posting node status.";
                if !is_settled(&node, "Unknown", message) {
                    edit_node(core, &key, |n| {
                        set_ready(n, "Unknown", "NodeStatusUnknown", message);
                    });
                }
                if r.deleted && r.external && !provider.is_empty() && time >= grace + REMOVE_AFTER {
                    let _ = core.store.edit(&key, |_| Ok(None));
                }
            }
            Some(_) => {}
        }
    }
    for r in records
        .iter()
        .filter(|r| r.deleted && r.phase != Phase::Joined)
    {
        forget(shared, cluster, r);
    }
}

fn forget(shared: &Shared, cluster: &Cluster, record: &NodeRecord) {
    shared.change(|s| {
        s.servers.remove(&record.server_id);
        if let Some(c) = s.clusters.get_mut(&cluster.id) {
            c.members.retain(|m| *m != record.node_name);
        }
    });
}

/// The last server is gone: the cluster is no more.
async fn end(shared: &Shared, cluster: &Cluster) {
    tracing::info!(cluster = cluster.id, "the last server is gone");
    shared.clusters.write().await.remove(&cluster.id);
    shared.routes.remove(&cluster.id);
    cluster.set_up(false);
    shared.change(|s| {
        s.clusters.remove(&cluster.id);
        s.servers
            .retain(|_, r| r.cluster_id != cluster.id || !r.deleted);
    });
    if let Some(journal) = &shared.journal {
        let _ = std::fs::remove_file(journal.objects(&cluster.id));
    }
}

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

fn has_taint(node: &Value, key: &str) -> bool {
    node["spec"]["taints"]
        .as_array()
        .is_some_and(|t| t.iter().any(|t| t["key"] == key))
}

fn was_ready(node: &Value) -> bool {
    // Once the network add-on has written its configuration it stays on the node's disk.
    node["metadata"]["annotations"]["simulator/network"] == "configured"
}

fn edit_node(core: &CoreHandle, key: &Key, edit: impl FnOnce(&mut Value)) {
    let result = core.store.edit(key, |old| {
        Ok(old.map(|o| {
            let mut o = o.clone();
            edit(&mut o);
            o
        }))
    });
    if let Err(error) = result {
        tracing::warn!(node = key.name, error = error.message, "node status");
    }
}

/// Whether condition and taints are as they should be; spares the copy of a node that is.
fn is_settled(node: &Value, status: &str, message: &str) -> bool {
    let list = node["status"]["conditions"].as_array();
    let ready = list.and_then(|l| l.iter().find(|c| c["type"] == "Ready"));
    let tainted = |key: &str| has_taint(node, &format!("node.kubernetes.io/{key}"));
    let taints = match status {
        "True" => !tainted("not-ready") && !tainted("unreachable"),
        "False" => tainted("not-ready"),
        _ => tainted("unreachable"),
    };
    taints && ready.is_some_and(|c| c["status"] == status && c["message"] == message)
}

/// Sets the Ready condition and the taints that follow from it.
fn set_ready(node: &mut Value, status: &str, reason: &str, message: &str) {
    let old = node["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let same = old
        .iter()
        .any(|c| c["type"] == "Ready" && c["status"] == status && c["message"] == message);
    if !same {
        let at = now();
        let list: Vec<Value> = old
            .into_iter()
            .map(|mut c| {
                let ready = c["type"] == "Ready";
                let wanted = if ready {
                    status
                } else if status == "Unknown" {
                    "Unknown"
                } else {
                    "False"
                };
                if c["status"] != wanted {
                    c["lastTransitionTime"] = at.clone().into();
                }
                c["status"] = wanted.into();
                c["lastHeartbeatTime"] = at.clone().into();
                if ready {
                    c["reason"] = reason.into();
                    c["message"] = message.into();
                }
                c
            })
            .collect();
        node["status"]["conditions"] = list.into();
    }
    if status == "True" && !was_ready(node) {
        node["metadata"]["annotations"]["simulator/network"] = "configured".into();
    }
    let mut taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let wanted: &[(&str, &str)] = match status {
        "True" => &[],
        "False" => &[("not-ready", "NoSchedule")],
        _ => &[("unreachable", "NoSchedule"), ("unreachable", "NoExecute")],
    };
    let is = |t: &Value, key: &str, effect: &str| {
        t["key"] == format!("node.kubernetes.io/{key}") && t["effect"] == effect
    };
    let ours = [
        ("not-ready", "NoSchedule"),
        ("unreachable", "NoSchedule"),
        ("unreachable", "NoExecute"),
    ];
    taints.retain(|t| {
        !ours
            .iter()
            .any(|(k, e)| is(t, k, e) && !wanted.contains(&(*k, *e)))
    });
    for (key, effect) in wanted {
        if !taints.iter().any(|t| is(t, key, effect)) {
            taints.push(json!({"key": format!("node.kubernetes.io/{key}"), "effect": effect, "timeAdded": now()}));
        }
    }
    set_taints(node, taints);
}

fn set_taints(node: &mut Value, taints: Vec<Value>) {
    if taints.is_empty() {
        if let Some(spec) = node["spec"].as_object_mut() {
            spec.shift_remove("taints");
        }
    } else {
        node["spec"]["taints"] = taints.into();
    }
}

/// What the cloud-controller-manager does with a new node.
fn initialise(node: &mut Value, record: &NodeRecord) {
    if !has_taint(node, UNINITIALIZED) {
        return;
    }
    let provider_id = &mut node["spec"]["providerID"];
    if provider_id.is_null() {
        *provider_id = format!("openstack:///{}", record.server_id).into();
    }
    let labels = &mut node["metadata"]["labels"];
    if !record.flavor.is_empty() {
        labels["node.kubernetes.io/instance-type"] = record.flavor.clone().into();
    }
    if !record.zone.is_empty() {
        labels["topology.kubernetes.io/zone"] = record.zone.clone().into();
    }
    labels["topology.kubernetes.io/region"] = "RegionOne".into();
    let mut taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    taints.retain(|t| t["key"] != UNINITIALIZED);
    set_taints(node, taints);
}

fn renew_lease(core: &CoreHandle, node: &str) {
    let key = Key::new("leases.coordination.k8s.io", "kube-node-lease", node);
    let time = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    let _ = core.store.edit_volatile(&key, |old| {
        let mut lease = old.cloned().unwrap_or_else(|| {
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": node, "namespace": "kube-node-lease", "uid": uuid::Uuid::new_v4().to_string(), "creationTimestamp": now()},
                "spec": {"holderIdentity": node, "leaseDurationSeconds": 40}})
        });
        lease["spec"]["renewTime"] = time.into();
        Ok(Some(lease))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_follow_the_condition() {
        let mut node = json!({"metadata": {"annotations": {}}, "spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]},
            "status": {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]}});
        let keys = |n: &Value| {
            let list = n["spec"]["taints"].as_array().unwrap();
            list.iter()
                .map(|t| t["key"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        set_ready(&mut node, "False", "r", "m");
        assert_eq!(keys(&node), ["x", "node.kubernetes.io/not-ready"]);
        set_ready(&mut node, "Unknown", "r", "gone");
        assert_eq!(keys(&node).len(), 3);
        assert_eq!(node["status"]["conditions"][0]["status"], "Unknown");
        set_ready(&mut node, "True", "r", "back");
        assert_eq!(keys(&node), ["x"]);
        assert_eq!(node["status"]["conditions"][0]["status"], "False");
    }
}
