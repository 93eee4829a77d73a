//! Rules of requests that need neither a driver nor a cloud.

use std::collections::BTreeMap;

use super::EngineConfig;
use crate::driver::{Capability, ClusterDriver, ClusterView};
use crate::error::Error;
use crate::id::MemberId;
use crate::model::{
    KubeVersion, LabelSchema, Labels, MemberRef, NodeGroup, NodeGroupRole, Problems, ServerType,
    Taint, TemplateSpec,
};

/// Control-plane counts: odd, and several need a load balancer, by the final values (rule `TV-09`).
pub(super) fn control_plane(count: u32, spec: &TemplateSpec, problems: &mut Problems) {
    if count.is_multiple_of(2) {
        problems.add("master_count", count, "must be an odd number of at least 1");
    }
    if count > 1 && !spec.master_lb.enabled {
        problems.add(
            "master_lb_enabled",
            false,
            "must be true for several control-plane nodes",
        );
    }
}

/// What a driver must be able to do for a specification (rule `ST-05`).
pub(super) fn driver_can(driver: &dyn ClusterDriver, spec: &TemplateSpec, problems: &mut Problems) {
    let can = driver.capabilities();
    let name = driver.name();
    if let Some(size) = spec.docker_volume_size
        && size > 0
        && !can.has(Capability::DockerVolumes)
    {
        let rule = format!("driver {name} does not support it");
        problems.add("docker_volume_size", size, rule);
    }
    if spec.floating_ip_enabled && !can.has(Capability::NodeFloatingIps) {
        let rule = format!("driver {name} does not support it");
        problems.add("floating_ip_enabled", true, rule);
    }
}

/// What the operator allows of a template: its pod network and its driver.
pub(super) fn allowed(
    config: &EngineConfig,
    driver: &dyn ClusterDriver,
    spec: &TemplateSpec,
    problems: &mut Problems,
) {
    if !config
        .allowed_network_drivers
        .contains(&spec.network_driver)
    {
        let all = config.allowed_network_drivers.join(", ");
        let rule = format!("must be among those that are allowed here: {all}");
        problems.add("network_driver", &spec.network_driver, rule);
    }
    if config
        .disabled_drivers
        .iter()
        .any(|name| name == driver.name())
    {
        problems.add("driver", driver.name(), "is switched off for new clusters");
    }
}

/// Labels by the driver's schema: wrong values are problems, unknown ones are notes, or problems where the operator is strict.
pub(super) fn labels(
    config: &EngineConfig,
    driver: &dyn ClusterDriver,
    labels: &Labels,
    problems: &mut Problems,
) -> Vec<String> {
    let Some(own) = driver.label_schema() else {
        return Vec::new();
    };
    let base = LabelSchema::of_the_engine();
    let schema = base.with(own.iter().map(|(key, kind)| (key, kind.clone())));
    let notes = schema.check(labels, problems);
    if config.strict_labels {
        for key in schema.unknown(labels) {
            let field = format!("labels.{key}");
            let value = labels.get(key).unwrap_or_default();
            let rule = format!("is no label that driver {} knows", driver.name());
            problems.add(field, value, rule);
        }
    }
    notes
}

/// The version that labels name, else the engine's default.
pub(super) fn kube_version(
    labels: &Labels,
    default: &KubeVersion,
    problems: &mut Problems,
) -> KubeVersion {
    let rule = "must be a Kubernetes release such as v1.36.1";
    labels
        .parse("kube_tag", rule, problems)
        .unwrap_or_else(|| default.clone())
}

/// A group's count and limits, as a whole (rule `NG-09`).
pub(super) fn counts(count: u32, min: u32, max: Option<u32>, problems: &mut Problems) {
    if let Some(max) = max
        && max < min
    {
        let rule = format!("must not be below min_node_count {min}");
        return problems.add("max_node_count", max, rule);
    }
    if count < min {
        problems.add("node_count", count, format!("must be at least {min}"));
    }
    if let Some(max) = max
        && count > max
    {
        problems.add("node_count", count, format!("must be at most {max}"));
    }
}

/// Labels and taints of Kubernetes nodes (rule `NG-12`).
pub(super) fn node_settings(
    role: NodeGroupRole,
    labels: &BTreeMap<String, String>,
    taints: &[Taint],
    problems: &mut Problems,
) {
    if role == NodeGroupRole::ControlPlane && !(labels.is_empty() && taints.is_empty()) {
        problems.add(
            "node_labels",
            labels.len(),
            "labels and taints cannot be set on the control plane",
        );
    }
    for (key, value) in labels {
        let field = format!("node_labels.{key}");
        if !is_label_key(key) {
            problems.add(&field, value, "its key must be a Kubernetes label key");
        } else if is_reserved(key) {
            problems.add(&field, value, "its key is reserved by Kubernetes");
        }
        if !is_label_value(value) {
            let rule = "must have at most 63 letters, digits, \"-\", \"_\" or \".\", the first and last a letter or digit";
            problems.add(field, value, rule);
        }
    }
    for (index, taint) in taints.iter().enumerate() {
        if !is_label_key(&taint.key) {
            let field = format!("taints.{index}.key");
            problems.add(field, &taint.key, "must be a Kubernetes label key");
        }
        if !is_label_value(&taint.value) {
            let field = format!("taints.{index}.value");
            problems.add(field, &taint.value, "must be a Kubernetes label value");
        }
    }
}

fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.is_empty()
        || (text.len() <= 63
            && bytes
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
            && bytes[0].is_ascii_alphanumeric()
            && bytes[bytes.len() - 1].is_ascii_alphanumeric())
}

fn is_label_key(key: &str) -> bool {
    let (domain, name) = key.rsplit_once('/').unwrap_or(("", key));
    let domain_fits = key.contains('/')
        && !domain.is_empty()
        && domain.len() <= 253
        && domain.split('.').all(|part| {
            let bytes = part.as_bytes();
            !part.is_empty()
                && bytes
                    .iter()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
                && bytes[0] != b'-'
                && bytes[bytes.len() - 1] != b'-'
        });
    !name.is_empty() && is_label_value(name) && (!key.contains('/') || domain_fits)
}

/// Whether Kubernetes lets no kubelet set the label on its own node.
fn is_reserved(key: &str) -> bool {
    const OWN: [&str; 9] = [
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
    ];
    let Some((domain, _)) = key.rsplit_once('/') else {
        return false;
    };
    let within = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    let lent = within("node.kubernetes.io") || within("kubelet.kubernetes.io");
    (within("kubernetes.io") || within("k8s.io")) && !lent && !OWN.contains(&key)
}

/// The members that a caller names; every unknown or ambiguous one is a problem (rule `NG-04`).
pub(super) fn members(
    group: &NodeGroup,
    named: &[MemberRef],
    problems: &mut Problems,
) -> Vec<MemberId> {
    let mut ids: Vec<MemberId> = Vec::with_capacity(named.len());
    for name in named {
        let mut found = group.members.iter().filter(|member| name.names(member));
        match (found.next(), found.next()) {
            (Some(member), None) if !ids.contains(&member.id) => ids.push(member.id.clone()),
            (Some(_), None) => {}
            (Some(_), Some(_)) => {
                problems.add("nodes_to_remove", name, "names several nodes: use an id");
            }
            (None, _) => {
                let rule = format!("is no node of node group {}", group.name);
                problems.add("nodes_to_remove", name, rule);
            }
        }
    }
    ids
}

/// The steps between versions that a control plane may take: one minor up at a time, never down (rule `UP-03`).
pub(super) fn version_step(from: &KubeVersion, to: &KubeVersion, problems: &mut Problems) {
    if to < from {
        let rule = format!("must not be older than the cluster's {from}");
        problems.add("kube_version", to, rule);
    } else if to.major() != from.major() || to.minor() > from.minor() + 1 {
        let rule = format!("must be at most one minor version above the cluster's {from}");
        problems.add("kube_version", to, rule);
    }
}

/// The version of one worker group: never ahead of the control plane, at most three minors behind (rule `UP-03`).
pub(super) fn worker_version(cluster: &KubeVersion, to: &KubeVersion, problems: &mut Problems) {
    if to > cluster {
        let rule = format!("must not be ahead of the control plane's {cluster}");
        problems.add("kube_version", to, rule);
    } else if to.minor() + 3 < cluster.minor() {
        let rule =
            format!("must be at most three minor versions behind the control plane's {cluster}");
        problems.add("kube_version", to, rule);
    }
}

/// Whether the driver may add nodes of this kind to the cluster (rule `BM-06`).
pub(super) fn server_type(
    driver: &dyn ClusterDriver,
    view: &ClusterView,
    wanted: ServerType,
) -> Result<(), Error> {
    let own = view.cluster.spec.server_type;
    let capability = Capability::BareMetalNodeGroups;
    if wanted == ServerType::BareMetal && own != wanted && !driver.capabilities().has(capability) {
        return Err(Error::Unsupported {
            driver: driver.name().to_owned(),
            capability,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TaintEffect;

    fn problems(check: impl FnOnce(&mut Problems)) -> usize {
        let mut problems = Problems::new();
        check(&mut problems);
        problems.len()
    }

    #[test]
    fn ng_09_limits_and_count_are_judged_as_a_whole() {
        assert_eq!(problems(|p| counts(3, 1, Some(3), p)), 0);
        assert_eq!(problems(|p| counts(3, 4, Some(2), p)), 1);
        assert_eq!(problems(|p| counts(3, 5, Some(10), p)), 1);
        assert_eq!(problems(|p| counts(11, 1, Some(10), p)), 1);
        assert_eq!(problems(|p| counts(0, 0, None, p)), 0);
        assert_eq!(problems(|p| counts(1, 0, Some(0), p)), 1);
    }

    #[test]
    fn ng_12_node_labels_and_taints() {
        let label = |key: &str| {
            let labels = BTreeMap::from([(key.to_owned(), "v".to_owned())]);
            problems(|p| node_settings(NodeGroupRole::Worker, &labels, &[], p))
        };
        assert_eq!(label("kubernetes.io/foo"), 1);
        assert_eq!(label("x.k8s.io/foo"), 1);
        assert_eq!(label("node.kubernetes.io/instance-type"), 0);
        assert_eq!(label("node.kubernetes.io/tier"), 0);
        assert_eq!(label("example.org/tier"), 0);
        assert_eq!(label("/x"), 1);
        assert_eq!(label("a b"), 1);
        let taint = Taint {
            key: String::new(),
            value: String::new(),
            effect: TaintEffect::NoSchedule,
        };
        let none = BTreeMap::new();
        let on = |role, taints: &[Taint]| problems(|p| node_settings(role, &none, taints, p));
        assert_eq!(on(NodeGroupRole::Worker, std::slice::from_ref(&taint)), 1);
        assert_eq!(on(NodeGroupRole::ControlPlane, &[taint]), 2);
    }

    #[test]
    fn up_03_version_steps() {
        let step = |from: &str, to: &str| {
            problems(|p| version_step(&from.parse().unwrap(), &to.parse().unwrap(), p)) == 0
        };
        assert!(!step("1.33.4", "1.35.0"));
        assert!(step("1.33.4", "1.34.0"));
        assert!(!step("1.34.1", "1.34.0"));
        assert!(!step("1.34.0", "1.33.0"));
        let worker = |cluster: &str, to: &str| {
            problems(|p| worker_version(&cluster.parse().unwrap(), &to.parse().unwrap(), p)) == 0
        };
        assert!(worker("1.36.1", "1.33.0"));
        assert!(!worker("1.36.1", "1.32.9"));
        assert!(!worker("1.36.1", "1.36.2"));
    }
}
