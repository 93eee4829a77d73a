//! The Node object a kubelet registers, and the static pods of a control plane.

use serde_json::{Value, json};

use super::kubeadm::NodeRegistration;
use super::preflight::Plan;
use crate::kubernetes::{CoreHandle, now, report_running};

/// Labels a kubelet may give itself under `kubernetes.io` and `k8s.io`.
fn may_label_itself(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return true;
    };
    let reserved = ["kubernetes.io", "k8s.io"]
        .iter()
        .any(|r| prefix == *r || prefix.ends_with(&format!(".{r}")));
    !reserved
        || ["kubelet.kubernetes.io", "node.kubernetes.io"]
            .iter()
            .any(|p| prefix == *p || prefix.ends_with(&format!(".{p}")))
        || matches!(
            key,
            "kubernetes.io/hostname"
                | "kubernetes.io/os"
                | "kubernetes.io/arch"
                | "topology.kubernetes.io/zone"
                | "topology.kubernetes.io/region"
        )
}

/// The labels of `--node-labels`, or the first one the kubelet refuses to start with.
pub(crate) fn node_labels(
    registration: &NodeRegistration,
) -> Result<Vec<(String, String)>, String> {
    let mut labels = Vec::new();
    for pair in registration
        .kubelet_arg("node-labels")
        .unwrap_or_default()
        .split(',')
        .filter(|p| !p.is_empty())
    {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("node-labels: {pair:?} is not key=value"))?;
        if !may_label_itself(key) {
            return Err(format!(
                "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [{key}]"
            ));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if value.len() > 63 || !value.chars().all(fits) {
            return Err(format!("node-labels: {value:?} is not a label value"));
        }
        labels.push((key.to_owned(), value.to_owned()));
    }
    Ok(labels)
}

fn taint(key: &str, value: &str, effect: &str) -> Value {
    let mut taint = json!({"key": key, "effect": effect});
    if !value.is_empty() {
        taint["value"] = value.into();
    }
    taint
}

/// The Node as it is just after registration: not Ready, without a network.
pub(crate) fn node_object(plan: &Plan, server_id: &str) -> Result<Value, String> {
    let registration = plan.registration();
    let name = plan.env.node_name.as_str();
    let mut labels = json!({
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
    });
    for (key, value) in node_labels(registration)? {
        labels[key] = value.into();
    }
    let mut taints = Vec::new();
    let control_plane = plan.env.role.is_control_plane();
    if control_plane {
        labels["node-role.kubernetes.io/control-plane"] = "".into();
        labels["node.kubernetes.io/exclude-from-external-load-balancers"] = "".into();
    }
    match &registration.taints {
        Some(own) => taints.extend(
            own.iter()
                .map(|t| taint(&t.key, &t.value, effect(t.effect))),
        ),
        None if control_plane => taints.push(taint(
            "node-role.kubernetes.io/control-plane",
            "",
            "NoSchedule",
        )),
        None => {}
    }
    for given in registration
        .kubelet_arg("register-with-taints")
        .unwrap_or_default()
        .split(',')
    {
        if let Some((pair, effect)) = given.rsplit_once(':') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            taints.push(taint(key, value, effect));
        }
    }
    if registration.kubelet_arg("cloud-provider") == Some("external") {
        taints.push(taint(
            "node.cloudprovider.kubernetes.io/uninitialized",
            "true",
            "NoSchedule",
        ));
    }
    taints.push(taint("node.kubernetes.io/not-ready", "", "NoSchedule"));
    let mut spec = json!({"taints": taints});
    if let Some(id) = registration.kubelet_arg("provider-id") {
        spec["providerID"] = id.into();
    }
    let at = now();
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
               "lastHeartbeatTime": at, "lastTransitionTime": at})
    };
    let address = plan.own_address.to_string();
    Ok(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "labels": labels,
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0", "alpha.kubernetes.io/provided-node-ip": address,
                "simulator/server-id": server_id,
            },
        },
        "spec": spec,
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "capacity": {"cpu": "2", "memory": "4026532Ki", "pods": "110", "ephemeral-storage": "20509264Ki"},
            "allocatable": {"cpu": "2", "memory": "3924132Ki", "pods": "110", "ephemeral-storage": "18901337672"},
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                condition("Ready", "False", "KubeletNotReady", NO_CNI),
            ],
            "nodeInfo": {
                "kubeletVersion": plan.env.kube_version, "kubeProxyVersion": "", "containerRuntimeVersion": "containerd://2.3.2",
                "osImage": "Ubuntu 24.04.3 LTS", "kernelVersion": "6.8.0-79-generic", "operatingSystem": "linux",
                "architecture": "amd64", "machineID": server_id.replace('-', ""), "systemUUID": server_id,
                "bootID": uuid::Uuid::new_v4().to_string(),
            },
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        },
    }))
}

/// What a kubelet says before there is a network add-on.
pub(crate) const NO_CNI: &str = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";

fn effect(effect: super::kubeadm::Effect) -> &'static str {
    match effect {
        super::kubeadm::Effect::NoSchedule => "NoSchedule",
        super::kubeadm::Effect::PreferNoSchedule => "PreferNoSchedule",
        super::kubeadm::Effect::NoExecute => "NoExecute",
    }
}

/// The mirror pods of kube-apiserver, kube-controller-manager, kube-scheduler and etcd.
pub(crate) fn static_pods(core: &CoreHandle, node: &Value, version: &str) -> Result<(), String> {
    let name = node["metadata"]["name"].as_str().unwrap_or_default();
    for component in [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    ] {
        let image = if component == "etcd" {
            "registry.k8s.io/etcd:3.6.6-0".to_owned()
        } else {
            format!("registry.k8s.io/{component}:{version}")
        };
        let mut pod = json!({
            "metadata": {
                "labels": {"component": component, "tier": "control-plane"},
                "annotations": {"kubernetes.io/config.mirror": "simulated", "kubernetes.io/config.source": "file"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"], "controller": true}],
            },
            "spec": {
                "hostNetwork": true, "nodeName": name, "priorityClassName": "system-node-critical",
                "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
                "containers": [{"name": component, "image": image}],
            },
            "status": {},
        });
        let address = node["status"]["addresses"][0]["address"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        report_running(&mut pod, &address, node);
        core.ensure("pods", "kube-system", &format!("{component}-{name}"), &pod)
            .map_err(|e| e.message)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_labels_stop_the_kubelet() {
        for good in [
            "magnum.openstack.org/nodegroup",
            "gpu",
            "node.kubernetes.io/pool",
            "kubernetes.io/hostname",
        ] {
            assert!(may_label_itself(good), "{good}");
        }
        for bad in [
            "node-role.kubernetes.io/worker",
            "kubernetes.io/role",
            "node-restriction.kubernetes.io/x",
        ] {
            assert!(!may_label_itself(bad), "{bad}");
        }
    }
}
