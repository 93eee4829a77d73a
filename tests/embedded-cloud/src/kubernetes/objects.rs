//! What the server adds to an object, and what it refuses in one.

use serde_json::{Value, json};

use super::answer::now;
use super::core::Core;
use super::csr;
use super::error::{ApiError, qualified};
use super::identity::Identity;
use super::resources::Resource;
use super::selector::label_selector_matches;
use super::store::Key;

/// Checks the head of an object sent to this address and fills in what may be left out.
pub(crate) fn check_head(
    resource: &Resource,
    namespace: &str,
    name: &str,
    object: &mut Value,
) -> Result<(), ApiError> {
    if !object.is_object() {
        return Err(ApiError::bad_request(
            "the object provided is not an object",
        ));
    }
    let (api_version, kind) = (resource.api_version(), resource.kind.as_str());
    let given = (
        object["apiVersion"].as_str().unwrap_or(&api_version),
        object["kind"].as_str().unwrap_or(kind),
    );
    if given != (api_version.as_str(), kind) {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {} {}",
            given.0, given.1
        )));
    }
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if resource.namespaced {
        let inside = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or(namespace);
        if inside != namespace {
            return Err(ApiError::bad_request(format!(
                "the namespace of the provided object does not match the namespace sent on the request ({inside}, {namespace})"
            )));
        }
        object["metadata"]["namespace"] = namespace.into();
    }
    if !name.is_empty() {
        let inside = object["metadata"]["name"].as_str().unwrap_or(name);
        if inside != name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({inside}) does not match the name on the URL ({name})"
            )));
        }
        object["metadata"]["name"] = name.into();
    }
    Ok(())
}

/// Whether something new may be put into a namespace.
pub(crate) fn check_namespace(
    core: &Core,
    resource: &Resource,
    namespace: &str,
) -> Result<(), ApiError> {
    if !resource.namespaced {
        return Ok(());
    }
    match core.store.get(&Key::new("namespaces", "", namespace)) {
        None => Err(ApiError::not_found("", "namespaces", namespace)),
        Some(ns) if ns["status"]["phase"] == "Terminating" => Err(ApiError::new(
            403,
            "Forbidden",
            format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            ),
        )),
        Some(_) => Ok(()),
    }
}

/// Makes a sent object a new one. Takes no lock of the store.
pub(crate) fn prepare_new(
    core: &Core,
    who: &Identity,
    resource: &Resource,
    mut object: Value,
) -> Result<Value, ApiError> {
    if object["metadata"]["name"]
        .as_str()
        .is_none_or(str::is_empty)
    {
        let Some(prefix) = object["metadata"]["generateName"].as_str() else {
            return Err(ApiError::invalid(
                &resource.kind,
                "",
                "metadata.name",
                "name or generateName is required",
            ));
        };
        object["metadata"]["name"] = format!("{prefix}{}", suffix()).into();
    }
    let meta = &mut object["metadata"];
    meta["uid"] = uuid::Uuid::new_v4().to_string().into();
    meta["creationTimestamp"] = now().into();
    if let Some(meta) = meta.as_object_mut() {
        meta.shift_remove("resourceVersion");
        meta.shift_remove("deletionTimestamp");
    }
    if object["spec"].is_object() {
        object["metadata"]["generation"] = 1.into();
    }
    if resource.keeps_status()
        && !matches!(resource.kind.as_str(), "Node" | "APIService")
        && resource_is_builtin(resource)
        && let Some(map) = object.as_object_mut()
    {
        map.shift_remove("status");
    }
    fill_in(core, who, &mut object);
    validate(resource, &object)?;
    Ok(object)
}

fn resource_is_builtin(resource: &Resource) -> bool {
    resource.group.is_empty()
        || !resource.group.contains('.')
        || resource.group.ends_with(".k8s.io")
}

fn suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let random = uuid::Uuid::new_v4();
    random.as_bytes()[..5]
        .iter()
        .map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()]))
        .collect()
}

/// A name as controllers give their children.
pub(crate) fn child_name(parent: &str) -> String {
    format!("{parent}-{}", suffix())
}

fn default(object: &mut Value, field: &str, value: Value) {
    if object[field].is_null() {
        object[field] = value;
    }
}

fn fill_in(core: &Core, who: &Identity, object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "Namespace" => {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            object["spec"]["finalizers"] = json!(["kubernetes"]);
            object["status"] = json!({"phase": "Active"});
        }
        "Pod" => {
            object["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"});
            default(&mut object["spec"], "restartPolicy", "Always".into());
            default(
                &mut object["spec"],
                "schedulerName",
                "default-scheduler".into(),
            );
        }
        kind @ ("Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet") => {
            let strategy = match kind {
                "Deployment" => "strategy",
                "ReplicaSet" => "",
                _ => "updateStrategy",
            };
            if kind != "DaemonSet" {
                default(&mut object["spec"], "replicas", 1.into());
            }
            if !strategy.is_empty() {
                default(
                    &mut object["spec"],
                    strategy,
                    json!({"type": "RollingUpdate"}),
                );
            }
        }
        "PersistentVolumeClaim" => object["status"] = json!({"phase": "Pending"}),
        "Secret" => {
            default(object, "type", "Opaque".into());
            use base64::Engine as _;
            if let Some(plain) = object
                .as_object_mut()
                .and_then(|o| o.shift_remove("stringData"))
            {
                for (key, value) in plain.as_object().into_iter().flatten() {
                    let text = value.as_str().unwrap_or_default();
                    object["data"][key] = base64::engine::general_purpose::STANDARD
                        .encode(text)
                        .into();
                }
            }
        }
        "Service" => {
            default(&mut object["spec"], "type", "ClusterIP".into());
            default(&mut object["spec"], "sessionAffinity", "None".into());
            if object["spec"]["type"] != "ExternalName" && object["spec"]["clusterIP"].is_null() {
                object["spec"]["clusterIP"] = core.next_service_address().into();
            }
            object["status"] = json!({"loadBalancer": {}});
        }
        "CertificateSigningRequest" => {
            object["spec"]["username"] = who.user.clone().into();
            object["spec"]["groups"] = who.groups.clone().into();
            csr::approve_own_client(object);
            csr::sign_if_approved(object, &core.authority);
        }
        "CustomResourceDefinition" => {
            let names = object["spec"]["names"].clone();
            let versions = object["spec"]["versions"].as_array().into_iter().flatten();
            let stored: Vec<Value> = versions
                .filter(|v| v["storage"] == true)
                .map(|v| v["name"].clone())
                .collect();
            object["status"] = json!({
                "acceptedNames": names, "storedVersions": stored,
                "conditions": [
                    {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found", "lastTransitionTime": now()},
                    {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted", "lastTransitionTime": now()},
                ],
            });
        }
        _ => {}
    }
}

/// Carries over what a write must not change, and counts the generation.
pub(crate) fn prepare_change(
    resource: &Resource,
    old: &Value,
    mut new: Value,
    sub: &str,
) -> Result<Value, ApiError> {
    let name = old["metadata"]["name"].as_str().unwrap_or_default();
    let sent = &new["metadata"]["resourceVersion"];
    if !sent.is_null() && sent != "" && *sent != old["metadata"]["resourceVersion"] {
        return Err(ApiError::conflict(
            &resource.group,
            &resource.plural,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        ));
    }
    if new["metadata"]["uid"]
        .as_str()
        .is_some_and(|u| !u.is_empty() && old["metadata"]["uid"] != u)
    {
        return Err(ApiError::conflict(
            &resource.group,
            &resource.plural,
            name,
            "Precondition failed: UID in precondition",
        ));
    }
    match sub {
        "" => {
            if resource.keeps_status() && resource_is_builtin(resource) {
                match old.get("status") {
                    Some(status) => new["status"] = status.clone(),
                    None => {
                        if let Some(map) = new.as_object_mut() {
                            map.shift_remove("status");
                        }
                    }
                }
            }
            if new["kind"] == "CertificateSigningRequest" {
                new["spec"] = old["spec"].clone();
            }
        }
        _ => {
            let status = new["status"].clone();
            let mut kept = old.clone();
            kept["status"] = status;
            for part in ["labels", "annotations", "managedFields"] {
                if let Some(value) = new["metadata"].get(part) {
                    kept["metadata"][part] = value.clone();
                }
            }
            new = kept;
        }
    }
    for part in [
        "uid",
        "creationTimestamp",
        "name",
        "namespace",
        "generation",
        "deletionTimestamp",
    ] {
        match old["metadata"].get(part) {
            Some(value) => new["metadata"][part] = value.clone(),
            None => {
                if let Some(meta) = new["metadata"].as_object_mut() {
                    meta.shift_remove(part);
                }
            }
        }
    }
    if new["kind"] == "Service"
        && new["spec"]["clusterIP"].is_null()
        && !old["spec"]["clusterIP"].is_null()
    {
        new["spec"]["clusterIP"] = old["spec"]["clusterIP"].clone();
    }
    if new["spec"] != old["spec"]
        && let Some(generation) = old["metadata"]["generation"].as_u64()
    {
        new["metadata"]["generation"] = (generation + 1).into();
    }
    validate(resource, &new)?;
    Ok(new)
}

fn validate(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let kind = resource.kind.as_str();
    let path_segment = resource.group == "rbac.authorization.k8s.io";
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let edges = !name.starts_with(['-', '.']) && !name.ends_with(['-', '.']);
    let fits = if path_segment {
        !name.contains(['/', '%'])
    } else {
        name.chars().all(letters) && edges
    };
    if !fits || name.is_empty() || name.len() > 253 {
        return Err(ApiError::invalid(
            kind,
            name,
            "metadata.name",
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
        ));
    }
    match kind {
        "CertificateSigningRequest" => {
            if let Some(why) = csr::problem(object) {
                return Err(ApiError::invalid(kind, name, "spec", &why));
            }
        }
        "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet" => {
            let template = &object["spec"]["template"];
            if !object["spec"]["selector"].is_object() {
                return Err(ApiError::invalid(
                    kind,
                    name,
                    "spec.selector",
                    "Required value",
                ));
            }
            if !label_selector_matches(&object["spec"]["selector"], &template["metadata"]["labels"])
            {
                return Err(ApiError::invalid(
                    kind,
                    name,
                    "spec.template.metadata.labels",
                    "`selector` does not match template `labels`",
                ));
            }
            validate_containers(kind, name, &template["spec"], "spec.template.spec")?;
        }
        "Pod" => validate_containers(kind, name, &object["spec"], "spec")?,
        _ => {}
    }
    Ok(())
}

fn validate_containers(kind: &str, name: &str, spec: &Value, at: &str) -> Result<(), ApiError> {
    let containers = spec["containers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if containers.is_empty() {
        return Err(ApiError::invalid(
            kind,
            name,
            &format!("{at}.containers"),
            "Required value",
        ));
    }
    let init = spec["initContainers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    for (i, container) in containers.iter().chain(init).enumerate() {
        for field in ["name", "image"] {
            if container[field].as_str().is_none_or(str::is_empty) {
                return Err(ApiError::invalid(
                    kind,
                    name,
                    &format!("{at}.containers[{i}].{field}"),
                    "Required value",
                ));
            }
        }
    }
    let volumes: Vec<&Value> = spec["volumes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|v| &v["name"])
        .collect();
    for container in containers.iter().chain(init) {
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            if !volumes.contains(&&mount["name"]) && mount["name"] != "kube-api-access" {
                let why = format!("Not found: {}", mount["name"]);
                return Err(ApiError::invalid(
                    kind,
                    name,
                    &format!("{at}.containers.volumeMounts.name"),
                    &why,
                ));
            }
        }
    }
    Ok(())
}

/// Removes what an object owned, and what lay in a namespace. Called after a deletion.
pub(crate) fn collect_garbage(core: &Core, gone: &Value) {
    if gone["kind"] == "Namespace" {
        let name = gone["metadata"]["name"].as_str().unwrap_or_default();
        for key in core.store.namespace_objects(name) {
            let _ = core.store.edit(&key, |_| Ok(None));
        }
    }
    if gone["kind"] == "CustomResourceDefinition" {
        let (group, plural) = (
            gone["spec"]["group"].as_str().unwrap_or_default(),
            gone["spec"]["names"]["plural"].as_str().unwrap_or_default(),
        );
        core.with_resources(|r| r.remove_definition(group, plural));
        let table = qualified(group, plural);
        for object in core.store.list(&table, None).1 {
            let _ = core.store.edit(&key_of(&table, &object), |_| Ok(None));
        }
    }
    let Some(uid) = gone["metadata"]["uid"].as_str() else {
        return;
    };
    for key in core.store.owned_by(uid) {
        if let Ok(Some(child)) = core.store.edit(&key, |_| Ok(None)) {
            collect_garbage(core, &child);
        }
    }
}

/// The key of a stored object.
pub(crate) fn key_of(table: &str, object: &Value) -> Key {
    let meta = &object["metadata"];
    Key::new(
        table,
        meta["namespace"].as_str().unwrap_or_default(),
        meta["name"].as_str().unwrap_or_default(),
    )
}
