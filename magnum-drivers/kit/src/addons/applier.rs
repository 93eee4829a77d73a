//! Add-ons in a cluster.

use std::collections::BTreeSet;

use serde_json::Value;

use super::addon::Addon;
use super::error::AddonError;
use super::readiness::AddonState;
use crate::kubernetes::{
    APPLY_SET_LABEL, ApplyOptions, KubernetesClient, KubernetesError, ObjectRef, object_ref,
};

/// Kinds that are looked at for objects that left an add-on, the workloads first.
const PRUNED: [(&str, &str); 12] = [
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("policy/v1", "PodDisruptionBudget"),
];

/// Applies the objects of an add-on in order.
///
/// Idempotent. Stops at the first failure; the next call begins at the first object again. Cancel safety: what was
/// applied stays.
///
/// # Errors
/// [`AddonError::Kubernetes`]; see its [`retry`](AddonError::retry).
pub async fn apply_addon(client: &KubernetesClient, addon: &Addon) -> Result<(), AddonError> {
    for object in &addon.objects {
        client
            .apply(object, ApplyOptions::default())
            .await
            .map_err(|source| failed(addon, source))?;
    }
    Ok(())
}

/// Looks whether an add-on works.
///
/// # Errors
/// [`AddonError::Kubernetes`].
pub async fn addon_state(
    client: &KubernetesClient,
    addon: &Addon,
) -> Result<AddonState, AddonError> {
    for test in &addon.readiness {
        let object = client
            .get(&test.object)
            .await
            .map_err(|source| failed(addon, source))?;
        let state = test.judge(object.as_ref());
        if state != AddonState::Ready {
            return Ok(state);
        }
    }
    Ok(AddonState::Ready)
}

/// Deletes objects that an earlier version of the add-on had and this one has not. Only objects with the add-on's
/// own label are touched, and of the usual kinds: definitions and namespaces stay, because what others keep in them
/// would go with them. Gives back what was deleted.
///
/// # Errors
/// [`AddonError::Kubernetes`].
pub async fn prune_addon(
    client: &KubernetesClient,
    addon: &Addon,
) -> Result<Vec<ObjectRef>, AddonError> {
    let wanted: BTreeSet<ObjectRef> = addon.references().into_iter().collect();
    let selector = format!("{APPLY_SET_LABEL}={}", addon.name);
    let mut deleted = Vec::new();
    for (api_version, kind) in PRUNED {
        let listed = client
            .list(api_version, kind, None, &selector)
            .await
            .map_err(|source| failed(addon, source))?;
        for superfluous in superfluous(api_version, kind, listed, &wanted) {
            client
                .delete(&superfluous)
                .await
                .map_err(|source| failed(addon, source))?;
            deleted.push(superfluous);
        }
    }
    Ok(deleted)
}

/// The listed objects that are not wanted. Items of a list carry no kind of their own.
fn superfluous(
    api_version: &str,
    kind: &str,
    listed: Vec<Value>,
    wanted: &BTreeSet<ObjectRef>,
) -> Vec<ObjectRef> {
    listed
        .into_iter()
        .filter_map(|mut item| {
            item["apiVersion"] = api_version.into();
            item["kind"] = kind.into();
            object_ref(&item).ok()
        })
        .filter(|reference| !wanted.contains(reference))
        .collect()
}

fn failed(addon: &Addon, source: KubernetesError) -> AddonError {
    AddonError::Kubernetes {
        addon: addon.name.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::phase::AddonPhase;
    use super::*;
    use crate::kubernetes::script::Script;

    const MANIFESTS: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: n}\n";

    fn addon() -> Addon {
        Addon::from_manifests("thing", "v1", "x", AddonPhase::Network, MANIFESTS).unwrap()
    }

    #[tokio::test]
    async fn objects_are_applied_in_order_until_one_fails() {
        let script = Script::new([(200, "{}"), (500, r#"{"message":"etcd"}"#)]);
        let error = apply_addon(&script.client(), &addon()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "add-on thing: apply DaemonSet n/d: answer 500: etcd"
        );
        assert_eq!(error.retry(), magnum_core::Retry::Later);
        let requests = script.requests();
        assert!(
            requests[0].contains("/api/v1/namespaces/n?")
                && requests[0].contains(r#""magnum.openstack.org/apply-set":"thing""#)
        );
    }

    #[tokio::test]
    async fn the_state_is_that_of_the_first_object_that_does_not_work() {
        let ready = json!({"status": {"desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": 1}}).to_string();
        let script = Script::new([(200, ready.as_str()), (404, "{}")]);
        let client = script.client();
        assert_eq!(
            addon_state(&client, &addon()).await.unwrap(),
            AddonState::Ready
        );
        let waiting = AddonState::Waiting("DaemonSet n/d is not there".into());
        assert_eq!(addon_state(&client, &addon()).await.unwrap(), waiting);
    }

    #[test]
    fn only_what_left_the_set_is_superfluous() {
        let wanted: BTreeSet<ObjectRef> = addon().references().into_iter().collect();
        let listed = vec![
            json!({"metadata": {"name": "d", "namespace": "n"}}),
            json!({"metadata": {"name": "old", "namespace": "n"}}),
        ];
        let left = superfluous("apps/v1", "DaemonSet", listed, &wanted);
        assert_eq!(
            left,
            [ObjectRef::namespaced("apps/v1", "DaemonSet", "n", "old")]
        );
    }
}
