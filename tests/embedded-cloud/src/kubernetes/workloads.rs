//! The pods of DaemonSets, Deployments and StatefulSets.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::core::Core;
use super::error::ApiError;
use super::eviction::is_ready;
use super::objects::{child_name, collect_garbage, key_of};
use super::placement::{daemon_pod_spec, repelled_by, selects};
use super::store::Key;

/// One look at everything the controllers need.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) nodes: Vec<Arc<Value>>,
    pub(crate) pods: Vec<Arc<Value>>,
    by_owner: BTreeMap<String, Vec<Arc<Value>>>,
}

impl Snapshot {
    pub(crate) fn take(core: &Core) -> Self {
        let nodes = core.store.list("nodes", None).1;
        let pods = core.store.list("pods", None).1;
        let mut by_owner: BTreeMap<String, Vec<Arc<Value>>> = BTreeMap::new();
        for pod in &pods {
            for owner in pod["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten()
            {
                by_owner
                    .entry(owner["uid"].as_str().unwrap_or_default().to_owned())
                    .or_default()
                    .push(pod.clone());
            }
        }
        Self {
            nodes,
            pods,
            by_owner,
        }
    }

    fn owned(&self, owner: &Value) -> &[Arc<Value>] {
        let uid = owner["metadata"]["uid"].as_str().unwrap_or_default();
        self.by_owner
            .get(uid)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }
}

/// A short stable hash of a template.
fn template_hash(template: &Value) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in template.to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:010x}", hash & 0xff_ffff_ffff)
}

fn owner_reference(owner: &Value) -> Value {
    json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }])
}

fn create_pod(
    core: &Core,
    owner: &Value,
    name: &str,
    label: (&str, &str),
    spec: &Value,
) -> Result<(), ApiError> {
    let template = &owner["spec"]["template"];
    let mut metadata = json!({
        "labels": template["metadata"]["labels"], "ownerReferences": owner_reference(owner),
    });
    if template["metadata"]["annotations"].is_object() {
        metadata["annotations"] = template["metadata"]["annotations"].clone();
    }
    metadata["labels"][label.0] = label.1.into();
    let namespace = owner["metadata"]["namespace"].as_str().unwrap_or_default();
    let pod = json!({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}});
    core.ensure("pods", namespace, name, &pod)
}

fn delete(core: &Core, table: &str, object: &Value) {
    if let Ok(Some(gone)) = core.store.edit(&key_of(table, object), |_| Ok(None)) {
        collect_garbage(core, &gone);
    }
}

fn set_status(core: &Core, table: &str, object: &Value, status: Value) -> Result<(), ApiError> {
    core.store.edit(&key_of(table, object), |old| {
        Ok(old.map(|o| {
            let mut o = o.clone();
            o["status"] = status;
            o
        }))
    })?;
    Ok(())
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// One pod on every node the set selects and whose taints it tolerates.
pub(crate) fn daemon_set(core: &Core, seen: &Snapshot, set: &Value) -> Result<(), ApiError> {
    let hash = template_hash(&set["spec"]["template"]);
    let spec = daemon_pod_spec(&set["spec"]["template"]);
    let mine = seen.owned(set);
    let (mut desired, mut current, mut updated, mut ready, mut misplaced) = (0, 0, 0, 0, 0);
    for node in &seen.nodes {
        let here: Vec<_> = mine
            .iter()
            .filter(|p| p["spec"]["nodeName"] == node["metadata"]["name"])
            .collect();
        if !selects(node, &spec)
            || repelled_by(node, &spec)
                .is_some_and(|t| here.is_empty() || t["effect"] == "NoExecute")
        {
            misplaced += here.len();
            here.iter().for_each(|p| delete(core, "pods", p));
            continue;
        }
        desired += 1;
        let (fresh, stale): (Vec<&&Arc<Value>>, Vec<&&Arc<Value>>) = here
            .iter()
            .partition(|p| p["metadata"]["labels"]["controller-revision-hash"] == hash.as_str());
        stale.iter().for_each(|p| delete(core, "pods", p));
        fresh.iter().skip(1).for_each(|p| delete(core, "pods", p));
        match fresh.first() {
            Some(pod) => {
                current += 1;
                updated += 1;
                ready += usize::from(is_ready(pod));
            }
            None => {
                let mut spec = spec.clone();
                spec["nodeName"] = node["metadata"]["name"].clone();
                create_pod(
                    core,
                    set,
                    &child_name(name_of(set)),
                    ("controller-revision-hash", &hash),
                    &spec,
                )?;
            }
        }
    }
    let status = json!({
        "currentNumberScheduled": current, "desiredNumberScheduled": desired, "numberMisscheduled": misplaced,
        "numberReady": ready, "numberAvailable": ready, "numberUnavailable": desired - ready.min(desired),
        "updatedNumberScheduled": updated, "observedGeneration": set["metadata"]["generation"],
    });
    set_status(core, "daemonsets.apps", set, status)
}

/// A ReplicaSet per template; the old ones go when the new one is ready.
pub(crate) fn deployment(core: &Core, deployment: &Value) -> Result<(), ApiError> {
    let namespace = deployment["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default();
    let hash = template_hash(&deployment["spec"]["template"]);
    let wanted = format!("{}-{hash}", name_of(deployment));
    let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let uid = &deployment["metadata"]["uid"];
    let all = core.store.list("replicasets.apps", Some(namespace)).1;
    let mine = all
        .iter()
        .filter(|s| s["metadata"]["ownerReferences"][0]["uid"] == *uid);
    let (current, old): (Vec<&Arc<Value>>, Vec<&Arc<Value>>) =
        mine.partition(|s| name_of(s) == wanted);
    if current.is_empty() {
        let mut template = deployment["spec"]["template"].clone();
        template["metadata"]["labels"]["pod-template-hash"] = hash.as_str().into();
        let mut selector = deployment["spec"]["selector"].clone();
        selector["matchLabels"]["pod-template-hash"] = hash.as_str().into();
        let set = json!({
            "metadata": {"labels": template["metadata"]["labels"], "ownerReferences": owner_reference(deployment)},
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        });
        core.ensure("replicasets.apps", namespace, &wanted, &set)?;
    }
    let key = Key::new("replicasets.apps", namespace, &wanted);
    let set = core.store.edit(&key, |old| {
        Ok(old.map(|o| {
            let mut o = o.clone();
            o["spec"]["replicas"] = replicas.into();
            o
        }))
    })?;
    let set = set.unwrap_or_default();
    let number = |o: &Value, field: &str| o["status"][field].as_u64().unwrap_or(0);
    let (updated, ready) = (number(&set, "replicas"), number(&set, "readyReplicas"));
    if ready >= replicas {
        old.iter().for_each(|s| delete(core, "replicasets.apps", s));
    }
    let total = updated + old.iter().map(|s| number(s, "replicas")).sum::<u64>();
    let available = if ready >= replicas { "True" } else { "False" };
    let status = json!({
        "observedGeneration": deployment["metadata"]["generation"], "replicas": total, "updatedReplicas": updated,
        "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": replicas.saturating_sub(ready),
        "conditions": [
            {"type": "Available", "status": available, "reason": "MinimumReplicasAvailable"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ],
    });
    set_status(core, "deployments.apps", deployment, status)
}

/// Keeps the number of pods of a ReplicaSet or StatefulSet (whose pods are numbered).
pub(crate) fn replicas(
    core: &Core,
    seen: &Snapshot,
    table: &str,
    set: &Value,
) -> Result<(), ApiError> {
    let numbered = table.starts_with("statefulsets");
    let wanted = usize::try_from(set["spec"]["replicas"].as_u64().unwrap_or(1)).unwrap_or(0);
    let mine = seen.owned(set);
    let hash = template_hash(&set["spec"]["template"]);
    let label = if numbered {
        "controller-revision-hash"
    } else {
        "pod-template-hash"
    };
    let hash = set["spec"]["template"]["metadata"]["labels"][label]
        .as_str()
        .unwrap_or(&hash)
        .to_owned();
    let spec = &set["spec"]["template"]["spec"];
    if numbered {
        for i in 0..wanted {
            create_pod(
                core,
                set,
                &format!("{}-{i}", name_of(set)),
                (label, &hash),
                spec,
            )?;
        }
    } else {
        for _ in mine.len()..wanted {
            create_pod(core, set, &child_name(name_of(set)), (label, &hash), spec)?;
        }
    }
    let mut surplus: Vec<&Arc<Value>> = mine.iter().collect();
    surplus.sort_by_key(|p| !is_ready(p));
    surplus
        .iter()
        .skip(wanted)
        .for_each(|p| delete(core, "pods", p));
    let ready = mine.iter().filter(|p| is_ready(p)).count().min(wanted);
    let status = json!({
        "replicas": mine.len().min(wanted), "fullyLabeledReplicas": mine.len().min(wanted), "readyReplicas": ready,
        "availableReplicas": ready, "updatedReplicas": mine.len().min(wanted),
        "observedGeneration": set["metadata"]["generation"],
    });
    set_status(core, table, set, status)
}
