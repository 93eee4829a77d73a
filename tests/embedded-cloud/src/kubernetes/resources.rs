//! The resources the stand-in knows, and discovery of them.

use std::sync::Arc;

use serde_json::{Value, json};

/// One resource type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) short: Vec<String>,
}

impl Resource {
    /// `v1` or `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The key of its objects in the store; versions of one resource share it.
    pub(crate) fn table(&self) -> String {
        super::error::qualified(&self.group, &self.plural)
    }

    /// Whether a write to the object leaves its status alone.
    pub(crate) fn keeps_status(&self) -> bool {
        !matches!(
            self.kind.as_str(),
            "Event" | "Endpoints" | "ConfigMap" | "Secret" | "Lease"
        )
    }
}

const C: bool = false;
const N: bool = true;

/// (group, version, plural, kind, namespaced, short names)
type Known = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    bool,
    &'static [&'static str],
);

const KNOWN: &[Known] = &[
    ("", "v1", "namespaces", "Namespace", C, &["ns"]),
    ("", "v1", "nodes", "Node", C, &["no"]),
    (
        "",
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        C,
        &["pv"],
    ),
    ("", "v1", "pods", "Pod", N, &["po"]),
    ("", "v1", "configmaps", "ConfigMap", N, &["cm"]),
    ("", "v1", "secrets", "Secret", N, &[]),
    ("", "v1", "services", "Service", N, &["svc"]),
    ("", "v1", "serviceaccounts", "ServiceAccount", N, &["sa"]),
    ("", "v1", "endpoints", "Endpoints", N, &["ep"]),
    ("", "v1", "events", "Event", N, &["ev"]),
    ("", "v1", "limitranges", "LimitRange", N, &["limits"]),
    (
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        N,
        &["pvc"],
    ),
    ("", "v1", "podtemplates", "PodTemplate", N, &[]),
    (
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        N,
        &["rc"],
    ),
    ("", "v1", "resourcequotas", "ResourceQuota", N, &["quota"]),
    ("apps", "v1", "daemonsets", "DaemonSet", N, &["ds"]),
    ("apps", "v1", "deployments", "Deployment", N, &["deploy"]),
    ("apps", "v1", "replicasets", "ReplicaSet", N, &["rs"]),
    ("apps", "v1", "statefulsets", "StatefulSet", N, &["sts"]),
    (
        "apps",
        "v1",
        "controllerrevisions",
        "ControllerRevision",
        N,
        &[],
    ),
    ("batch", "v1", "jobs", "Job", N, &[]),
    ("batch", "v1", "cronjobs", "CronJob", N, &["cj"]),
    (
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        N,
        &["pdb"],
    ),
    (
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        N,
        &["hpa"],
    ),
    (
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        "NetworkPolicy",
        N,
        &["netpol"],
    ),
    (
        "networking.k8s.io",
        "v1",
        "ingresses",
        "Ingress",
        N,
        &["ing"],
    ),
    (
        "networking.k8s.io",
        "v1",
        "ingressclasses",
        "IngressClass",
        C,
        &[],
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "clusterroles",
        "ClusterRole",
        C,
        &[],
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        C,
        &[],
    ),
    ("rbac.authorization.k8s.io", "v1", "roles", "Role", N, &[]),
    (
        "rbac.authorization.k8s.io",
        "v1",
        "rolebindings",
        "RoleBinding",
        N,
        &[],
    ),
    (
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
        C,
        &["csr"],
    ),
    ("coordination.k8s.io", "v1", "leases", "Lease", N, &[]),
    (
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        "EndpointSlice",
        N,
        &[],
    ),
    ("events.k8s.io", "v1", "events", "Event", N, &["ev"]),
    (
        "storage.k8s.io",
        "v1",
        "storageclasses",
        "StorageClass",
        C,
        &["sc"],
    ),
    ("storage.k8s.io", "v1", "csidrivers", "CSIDriver", C, &[]),
    ("storage.k8s.io", "v1", "csinodes", "CSINode", C, &[]),
    (
        "storage.k8s.io",
        "v1",
        "volumeattachments",
        "VolumeAttachment",
        C,
        &[],
    ),
    (
        "storage.k8s.io",
        "v1",
        "csistoragecapacities",
        "CSIStorageCapacity",
        N,
        &[],
    ),
    (
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        C,
        &["pc"],
    ),
    (
        "node.k8s.io",
        "v1",
        "runtimeclasses",
        "RuntimeClass",
        C,
        &[],
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        C,
        &["crd", "crds"],
    ),
    (
        "apiregistration.k8s.io",
        "v1",
        "apiservices",
        "APIService",
        C,
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        C,
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        C,
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        C,
        &[],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        C,
        &[],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "flowschemas",
        "FlowSchema",
        C,
        &[],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "prioritylevelconfigurations",
        "PriorityLevelConfiguration",
        C,
        &[],
    ),
];

/// All resources: the built-in ones and those of CustomResourceDefinitions.
#[derive(Debug, Clone)]
pub(crate) struct Resources {
    all: Vec<Arc<Resource>>,
}

impl Resources {
    /// The built-in ones.
    pub(crate) fn builtin() -> Self {
        let all = KNOWN
            .iter()
            .map(|(group, version, plural, kind, namespaced, short)| {
                Arc::new(Resource {
                    group: (*group).into(),
                    version: (*version).into(),
                    plural: (*plural).into(),
                    kind: (*kind).into(),
                    namespaced: *namespaced,
                    short: short.iter().map(|s| (*s).to_owned()).collect(),
                })
            })
            .collect();
        Self { all }
    }

    /// Adds what a CustomResourceDefinition defines (each served version).
    pub(crate) fn add_definition(&mut self, definition: &Value) {
        let spec = &definition["spec"];
        let (Some(group), Some(plural), Some(kind)) = (
            spec["group"].as_str(),
            spec["names"]["plural"].as_str(),
            spec["names"]["kind"].as_str(),
        ) else {
            return;
        };
        self.remove_definition(group, plural);
        for version in spec["versions"].as_array().into_iter().flatten() {
            let Some(name) = version["name"]
                .as_str()
                .filter(|_| version["served"] == true)
            else {
                continue;
            };
            let short = spec["names"]["shortNames"].as_array().into_iter().flatten();
            self.all.push(Arc::new(Resource {
                group: group.into(),
                version: name.into(),
                plural: plural.into(),
                kind: kind.into(),
                namespaced: spec["scope"] == "Namespaced",
                short: short
                    .filter_map(|s| s.as_str().map(str::to_owned))
                    .collect(),
            }));
        }
    }

    /// Removes a defined resource.
    pub(crate) fn remove_definition(&mut self, group: &str, plural: &str) {
        let builtin = KNOWN.iter().any(|k| k.0 == group && k.2 == plural);
        if !builtin {
            self.all
                .retain(|r| !(r.group == group && r.plural == plural));
        }
    }

    /// By path parts.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.all
            .iter()
            .find(|r| r.group == group && r.version == version && r.plural == plural)
            .cloned()
    }

    /// By the key of the store.
    pub(crate) fn by_table(&self, table: &str) -> Option<Arc<Resource>> {
        self.all.iter().find(|r| r.table() == table).cloned()
    }

    fn group_versions(&self) -> Vec<(&str, &str)> {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for r in &self.all {
            if !seen.contains(&(&r.group, &r.version)) {
                seen.push((&r.group, &r.version));
            }
        }
        seen
    }

    /// `/apis`.
    pub(crate) fn group_list(&self) -> Value {
        let mut groups: Vec<Value> = Vec::new();
        for (group, version) in self.group_versions() {
            if group.is_empty() {
                continue;
            }
            let entry = json!({"groupVersion": format!("{group}/{version}"), "version": version});
            if let Some(known) = groups.iter_mut().find(|g| g["name"] == group) {
                if let Some(list) = known["versions"].as_array_mut() {
                    list.push(entry);
                }
            } else {
                groups.push(
                    json!({"name": group, "versions": [entry.clone()], "preferredVersion": entry}),
                );
            }
        }
        json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    }

    /// `/apis/<group>`.
    pub(crate) fn group(&self, name: &str) -> Option<Value> {
        let list = self.group_list();
        let mut group = list["groups"]
            .as_array()?
            .iter()
            .find(|g| g["name"] == name)?
            .clone();
        group["kind"] = "APIGroup".into();
        group["apiVersion"] = "v1".into();
        Some(group)
    }

    /// `/api/v1` and `/apis/<group>/<version>`.
    pub(crate) fn resource_list(&self, group: &str, version: &str) -> Option<Value> {
        let mine: Vec<_> = self
            .all
            .iter()
            .filter(|r| r.group == group && r.version == version)
            .collect();
        let api_version = mine.first()?.api_version();
        let mut list: Vec<Value> = Vec::new();
        for r in mine {
            list.push(json!({
                "name": r.plural, "singularName": r.kind.to_lowercase(), "namespaced": r.namespaced, "kind": r.kind,
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "shortNames": r.short,
            }));
            let mut sub = |name: &str, kind: &str, extra: Value| {
                let mut entry = json!({
                    "name": format!("{}/{name}", r.plural), "singularName": "", "namespaced": r.namespaced,
                    "kind": kind, "verbs": ["create", "get", "patch", "update"],
                });
                if let (Some(into), Some(from)) = (entry.as_object_mut(), extra.as_object()) {
                    into.extend(from.clone());
                }
                list.push(entry);
            };
            if r.keeps_status() {
                sub("status", &r.kind, json!({}));
            }
            match r.plural.as_str() {
                "pods" => sub(
                    "eviction",
                    "Eviction",
                    json!({"group": "policy", "version": "v1"}),
                ),
                "serviceaccounts" => {
                    sub(
                        "token",
                        "TokenRequest",
                        json!({"group": "authentication.k8s.io", "version": "v1"}),
                    );
                }
                "certificatesigningrequests" => sub("approval", &r.kind, json!({})),
                "deployments" | "statefulsets" | "replicasets" => {
                    sub(
                        "scale",
                        "Scale",
                        json!({"group": "autoscaling", "version": "v1"}),
                    );
                }
                _ => {}
            }
        }
        Some(
            json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": list}),
        )
    }

    /// `/openapi/v3`: only what a client needs to see that field validation is a parameter.
    pub(crate) fn openapi_index(&self) -> Value {
        let paths: serde_json::Map<String, Value> = self
            .group_versions()
            .into_iter()
            .map(|(g, v)| {
                let path = if g.is_empty() {
                    format!("api/{v}")
                } else {
                    format!("apis/{g}/{v}")
                };
                let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash=1")});
                (path, url)
            })
            .collect();
        json!({"paths": paths})
    }

    /// `/openapi/v3/apis/<group>/<version>`.
    pub(crate) fn openapi(&self, group: &str, version: &str) -> Option<Value> {
        let mut paths = serde_json::Map::new();
        for r in self
            .all
            .iter()
            .filter(|r| r.group == group && r.version == version)
        {
            let base = if group.is_empty() {
                format!("/api/{version}")
            } else {
                format!("/apis/{group}/{version}")
            };
            let scope = if r.namespaced {
                "/namespaces/{namespace}"
            } else {
                ""
            };
            paths.insert(
                format!("{base}{scope}/{}/{{name}}", r.plural),
                json!({"patch": {
                    "x-kubernetes-group-version-kind": {"group": r.group, "version": r.version, "kind": r.kind},
                    "parameters": [
                        {"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": true}},
                        {"name": "dryRun", "in": "query", "schema": {"type": "string", "uniqueItems": true}}
                    ],
                    "responses": {"200": {"description": "OK"}}
                }}),
            );
        }
        if paths.is_empty() {
            return None;
        }
        Some(json!({
            "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"},
            "paths": paths, "components": {"schemas": {}}
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_adds_and_removes() {
        let mut resources = Resources::builtin();
        assert!(resources.find("cilium.io", "v2", "ciliumnodes").is_none());
        resources.add_definition(&json!({"spec": {
            "group": "cilium.io", "scope": "Cluster", "names": {"plural": "ciliumnodes", "kind": "CiliumNode"},
            "versions": [{"name": "v2", "served": true}, {"name": "v1", "served": false}]}}));
        assert!(resources.find("cilium.io", "v2", "ciliumnodes").is_some());
        assert!(resources.find("cilium.io", "v1", "ciliumnodes").is_none());
        assert!(resources.group("cilium.io").is_some());
        resources.remove_definition("cilium.io", "ciliumnodes");
        assert!(resources.group("cilium.io").is_none());
        resources.remove_definition("", "nodes");
        assert!(resources.find("", "v1", "nodes").is_some());
    }

    #[test]
    fn discovery_names_the_eviction() {
        let list = Resources::builtin().resource_list("", "v1").unwrap();
        assert!(
            list["resources"]
                .as_array()
                .unwrap()
                .iter()
                .any(|r| r["name"] == "pods/eviction")
        );
    }
}
