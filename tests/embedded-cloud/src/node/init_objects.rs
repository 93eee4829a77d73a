//! What `kubeadm init` leaves in the API: its config maps, RBAC, and the two add-ons.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::preflight::Plan;
use crate::kubernetes::CoreHandle;

const RBAC: &str = "rbac.authorization.k8s.io";

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// Creates everything that is not there yet.
pub(crate) fn create(core: &CoreHandle, plan: &Plan) -> Result<(), String> {
    let put = |table: &str, namespace: &str, name: &str, object: Value| {
        core.ensure(table, namespace, name, &object)
            .map_err(|e| e.message)
    };
    let system = "kube-system";
    let documents = &plan.documents;
    let cluster = documents
        .raw("ClusterConfiguration")
        .cloned()
        .unwrap_or_default();
    put(
        "configmaps",
        system,
        "kubeadm-config",
        json!({"data": {"ClusterConfiguration": yaml(&cluster)}}),
    )?;
    let kubelet = documents.raw("KubeletConfiguration").cloned().unwrap_or_else(|| {
        json!({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"})
    });
    put(
        "configmaps",
        system,
        "kubelet-config",
        json!({"data": {"kubelet": yaml(&kubelet)}}),
    )?;
    let ca = plan
        .material
        .as_ref()
        .map(|m| m.ca_cert.as_str())
        .unwrap_or_default();
    let info = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": {
            "server": format!("https://{}", plan.env.endpoint()), "certificate-authority-data": STANDARD.encode(ca)}}]});
    put(
        "configmaps",
        "kube-public",
        "cluster-info",
        json!({"data": {"kubeconfig": yaml(&info)}}),
    )?;
    put(
        "configmaps",
        system,
        "kube-root-ca.crt",
        json!({"data": {"ca.crt": ca}}),
    )?;
    rbac(&put)?;
    let spec = documents.cluster.as_ref();
    let version = plan.env.kube_version.as_str();
    let repository = spec
        .and_then(|c| c.image_repository.as_deref())
        .unwrap_or("registry.k8s.io");
    if !spec.is_some_and(|c| c.proxy.disabled) {
        let proxy = documents
            .raw("KubeProxyConfiguration")
            .cloned()
            .unwrap_or_else(|| json!({}));
        put(
            "configmaps",
            system,
            "kube-proxy",
            json!({"data": {"config.conf": yaml(&proxy)}}),
        )?;
        put("serviceaccounts", system, "kube-proxy", json!({}))?;
        put(
            "daemonsets.apps",
            system,
            "kube-proxy",
            kube_proxy(&format!("{repository}/kube-proxy:{version}")),
        )?;
    }
    if !spec.is_some_and(|c| c.dns.disabled) {
        put("serviceaccounts", system, "coredns", json!({}))?;
        put(
            "configmaps",
            system,
            "coredns",
            json!({"data": {"Corefile": ".:53 {}\n"}}),
        )?;
        put(
            "deployments.apps",
            system,
            "coredns",
            coredns(&format!("{repository}/coredns/coredns:v1.13.1")),
        )?;
        let service = json!({
            "metadata": {"labels": {"k8s-app": "kube-dns"}},
            "spec": {"type": "ClusterIP", "clusterIP": core.next_service_address(), "selector": {"k8s-app": "kube-dns"},
                "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]},
            "status": {"loadBalancer": {}}});
        put("services", system, "kube-dns", service)?;
    }
    Ok(())
}

type Put<'a> = dyn Fn(&str, &str, &str, Value) -> Result<(), String> + 'a;

fn rbac(put: &Put<'_>) -> Result<(), String> {
    let group = |name: &str| json!({"kind": "Group", "apiGroup": RBAC, "name": name});
    let bootstrap = "system:bootstrappers:kubeadm:default-node-token";
    let binding = |role: &str, subject: Value| json!({"subjects": [subject], "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}});
    let crb = format!("clusterrolebindings.{RBAC}");
    put(
        &crb,
        "",
        "kubeadm:cluster-admins",
        binding("cluster-admin", group("kubeadm:cluster-admins")),
    )?;
    put(
        &crb,
        "",
        "kubeadm:get-nodes",
        binding("kubeadm:get-nodes", group(bootstrap)),
    )?;
    put(
        &crb,
        "",
        "kubeadm:kubelet-bootstrap",
        binding("system:node-bootstrapper", group(bootstrap)),
    )?;
    put(
        &crb,
        "",
        "kubeadm:node-autoapprove-certificate-rotation",
        binding(
            "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
            group("system:nodes"),
        ),
    )?;
    let rule = |verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]| {
        let mut rule = json!({"verbs": verbs, "apiGroups": groups, "resources": resources});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        json!({"rules": [rule]})
    };
    let roles = format!("clusterroles.{RBAC}");
    put(
        &roles,
        "",
        "kubeadm:get-nodes",
        rule(&["get"], &[""], &["nodes"], &[]),
    )?;
    put(
        &roles,
        "",
        "system:node-bootstrapper",
        rule(
            &["create", "get", "list", "watch"],
            &["certificates.k8s.io"],
            &["certificatesigningrequests"],
            &[],
        ),
    )?;
    for (role, map, namespace, subjects) in [
        (
            "kubeadm:nodes-kubeadm-config",
            "kubeadm-config",
            "kube-system",
            vec![group(bootstrap), group("system:nodes")],
        ),
        (
            "kubeadm:kubelet-config",
            "kubelet-config",
            "kube-system",
            vec![group(bootstrap), group("system:nodes")],
        ),
        (
            "kube-proxy",
            "kube-proxy",
            "kube-system",
            vec![group(bootstrap), group("system:nodes")],
        ),
        (
            "kubeadm:bootstrap-signer-clusterinfo",
            "cluster-info",
            "kube-public",
            vec![json!({"kind": "User", "apiGroup": RBAC, "name": "system:anonymous"})],
        ),
    ] {
        put(
            &format!("roles.{RBAC}"),
            namespace,
            role,
            rule(&["get"], &[""], &["configmaps"], &[map]),
        )?;
        let binding = json!({"subjects": subjects, "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": role}});
        put(&format!("rolebindings.{RBAC}"), namespace, role, binding)?;
    }
    Ok(())
}

fn kube_proxy(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"k8s-app": "kube-proxy"}},
        "spec": {
            "selector": {"matchLabels": {"k8s-app": "kube-proxy"}}, "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": {"k8s-app": "kube-proxy"}},
                "spec": {
                    "hostNetwork": true, "serviceAccountName": "kube-proxy", "priorityClassName": "system-node-critical",
                    "nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "kube-proxy", "image": image}],
                },
            },
        },
    })
}

fn coredns(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"k8s-app": "kube-dns"}},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"k8s-app": "kube-dns"}}, "strategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": {"k8s-app": "kube-dns"}},
                "spec": {
                    "serviceAccountName": "coredns", "priorityClassName": "system-cluster-critical",
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "tolerations": [
                        {"key": "CriticalAddonsOnly", "operator": "Exists"},
                        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
                    "containers": [{"name": "coredns", "image": image}],
                },
            },
        },
    })
}
