//! Checks of the input, all problems at once.

use std::net::IpAddr;

use ipnet::IpNet;
use magnum_certs::{DISCOVERY_PATH, PKI_DIR};
use secrecy::ExposeSecret as _;

use super::error::BootstrapError;
use super::member::NodeMember;
use super::node::NodeShared;

/// Longest name of a server that Heat accepts.
const MAX_NODE_NAME: usize = 53;

/// The files of a control plane node below `/etc/kubernetes/pki`.
const PKI_NAMES: [&str; 8] = [
    "ca.crt",
    "ca.key",
    "etcd/ca.crt",
    "etcd/ca.key",
    "front-proxy-ca.crt",
    "front-proxy-ca.key",
    "sa.key",
    "sa.pub",
];

/// Kubelet arguments that the library sets itself.
const OWN_KUBELET_ARGS: [&str; 5] = [
    "cloud-provider",
    "provider-id",
    "node-ip",
    "node-labels",
    "hostname-override",
];

/// Kubelet arguments that are gone, with which a kubelet does not start.
const REMOVED_KUBELET_ARGS: [&str; 3] = [
    "pod-infra-container-image",
    "container-runtime",
    "network-plugin",
];

/// Whether a kubelet may set the label `key` on its own node. The API server refuses the others from a kubelet.
#[must_use]
pub fn kubelet_may_set_label(key: &str) -> bool {
    const WELL_KNOWN: [&str; 11] = [
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
    ];
    let below = |prefix: &str, domain: &str| {
        prefix == domain
            || prefix
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    let Some((prefix, _)) = key.split_once('/') else {
        return true;
    };
    !(below(prefix, "kubernetes.io") || below(prefix, "k8s.io"))
        || WELL_KNOWN.contains(&key)
        || below(prefix, "kubelet.kubernetes.io")
        || below(prefix, "node.kubernetes.io")
}

/// Whether `text` is a DNS label.
pub(crate) fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether `text` is a DNS name.
pub(crate) fn is_dns_name(text: &str) -> bool {
    text.len() <= 253
        && text
            .split('.')
            .all(|label| is_dns_label(&label.to_ascii_lowercase()))
}

/// Whether `text` is a qualified name as Kubernetes has it for labels and taints.
fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = text
        .rsplit_once('/')
        .map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_dns_name) && !name.is_empty() && is_label_value(name)
}

/// Whether `text` may be the value of a label.
fn is_label_value(text: &str) -> bool {
    text.is_empty()
        || (text.len() <= 63
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Checks what all members share.
pub(crate) fn check_shared(node: &NodeShared) -> Result<(), BootstrapError> {
    let mut problems = Vec::new();
    let mut claim = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    claim(
        is_dns_label(&node.node_group),
        format!(
            "the node group's name `{}` is not a DNS label",
            node.node_group
        ),
    );
    let host = node.endpoint.host();
    claim(
        host.parse::<IpAddr>().is_ok() || is_dns_name(host),
        format!("the endpoint's host `{host}` is neither an address nor a DNS name"),
    );
    claim(
        node.endpoint.port() != 0,
        "the endpoint's port is 0".to_owned(),
    );
    let networking = &node.networking;
    claim(
        is_dns_name(&networking.dns_domain),
        format!("`{}` is not a DNS domain", networking.dns_domain),
    );
    for (name, first, second) in [
        (
            "pod and service ranges",
            networking.pod_cidr,
            networking.service_cidr,
        ),
        (
            "pod range and node subnet",
            networking.pod_cidr,
            IpNet::V4(node.node_subnet),
        ),
        (
            "service range and node subnet",
            networking.service_cidr,
            IpNet::V4(node.node_subnet),
        ),
    ] {
        claim(
            !overlap(&first, &second),
            format!("{name} overlap: {first} and {second}"),
        );
    }
    let mask = networking
        .node_cidr_mask
        .unwrap_or(if networking.pod_cidr.addr().is_ipv4() {
            24
        } else {
            64
        });
    claim(
        networking.pod_cidr.prefix_len() <= mask && mask <= networking.pod_cidr.max_prefix_len(),
        format!(
            "pod range {} cannot be split into /{mask} for the nodes",
            networking.pod_cidr
        ),
    );
    for (key, value) in &node.kubelet.labels {
        claim(
            is_qualified_name(key),
            format!("label key `{key}` is not a qualified name"),
        );
        claim(
            is_label_value(value),
            format!("label `{key}` has the invalid value `{value}`"),
        );
    }
    for taint in &node.kubelet.taints {
        claim(
            is_qualified_name(&taint.key),
            format!("taint key `{}` is not a qualified name", taint.key),
        );
        claim(
            is_label_value(&taint.value),
            format!(
                "taint `{}` has the invalid value `{}`",
                taint.key, taint.value
            ),
        );
    }
    for (name, _) in &node.kubelet.extra_args {
        let bare = name.trim_start_matches('-');
        claim(
            bare == name && !name.is_empty(),
            format!("kubelet argument `{name}` must be without leading dashes"),
        );
        claim(
            !OWN_KUBELET_ARGS.contains(&bare),
            format!("kubelet argument `{bare}` is set by the library"),
        );
        claim(
            !REMOVED_KUBELET_ARGS.contains(&bare),
            format!("kubelet argument `{bare}` was removed from Kubernetes"),
        );
    }
    for mirror in &node.mirrors {
        claim(
            !mirror.registry.is_empty()
                && mirror
                    .registry
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b)),
            format!("`{}` is not the name of a registry", mirror.registry),
        );
        claim(
            !mirror.endpoints.is_empty(),
            format!("the mirror of `{}` has no address", mirror.registry),
        );
    }
    for server in &node.ntp_servers {
        claim(
            server.parse::<IpAddr>().is_ok() || is_dns_name(server),
            format!("time server `{server}` is neither an address nor a DNS name"),
        );
    }
    for key in &node.ssh_authorized_keys {
        claim(
            !key.contains(['\n', '\r']) && !key.is_empty(),
            "an SSH key is not one line".to_owned(),
        );
    }
    if let Some(control_plane) = node.role.control_plane() {
        for name in &control_plane.cert_sans {
            claim(
                name.parse::<IpAddr>().is_ok()
                    || is_dns_name(name.strip_prefix("*.").unwrap_or(name)),
                format!("certificate name `{name}` is neither an address nor a DNS name"),
            );
        }
        for name in PKI_NAMES {
            let path = format!("{PKI_DIR}/{name}");
            let found = control_plane.pki.iter().find(|file| file.path == path);
            claim(
                found.is_some_and(|file| {
                    file.content
                        .expose_secret()
                        .trim_start()
                        .starts_with("-----BEGIN ")
                }),
                format!("{path} is missing or not PEM"),
            );
        }
        for file in &control_plane.pki {
            claim(
                PKI_NAMES.iter().any(|name| {
                    file.path
                        .strip_prefix(PKI_DIR)
                        .and_then(|rest| rest.strip_prefix('/'))
                        == Some(name)
                }),
                format!("{} is no file of the PKI bundle", file.path),
            );
        }
    }
    finish(format!("node group {}", node.node_group), problems)
}

/// Checks one member against the role of its group.
pub(crate) fn check_member(member: &NodeMember, joins: bool) -> Result<(), BootstrapError> {
    let mut problems = Vec::new();
    if !is_dns_label(&member.node_name) || member.node_name.len() > MAX_NODE_NAME {
        problems.push(format!(
            "the name is not a DNS label of at most {MAX_NODE_NAME} characters"
        ));
    }
    if !is_dns_label(member.member_id.as_str()) {
        problems.push(format!(
            "the member id `{}` is not a DNS label",
            member.member_id
        ));
    }
    match (&member.discovery, joins) {
        (None, true) => problems.push("a joining node needs a discovery kubeconfig".to_owned()),
        (Some(_), false) => {
            problems.push("the first control plane node takes no discovery kubeconfig".to_owned());
        }
        (Some(file), true) if file.path != DISCOVERY_PATH => {
            problems.push(format!(
                "{} is not the path of the discovery kubeconfig",
                file.path
            ));
        }
        _ => {}
    }
    finish(format!("node {}", member.node_name), problems)
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

fn finish(subject: String, problems: Vec<String>) -> Result<(), BootstrapError> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(BootstrapError::Invalid { subject, problems })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_the_api_server_refuses_from_a_kubelet() {
        for key in [
            "node-role.kubernetes.io/worker",
            "node-restriction.kubernetes.io/x",
            "kubernetes.io/foo",
            "k8s.io/x",
        ] {
            assert!(!kubelet_may_set_label(key), "{key}");
        }
        for key in [
            "disk",
            "example.org/disk",
            "node.kubernetes.io/pool",
            "topology.kubernetes.io/zone",
            "notkubernetes.io/x",
        ] {
            assert!(kubelet_may_set_label(key), "{key}");
        }
    }

    #[test]
    fn names() {
        assert!(is_dns_label("a") && is_dns_label("demo-w-7f2kq"));
        assert!(
            !is_dns_label("") && !is_dns_label("-a") && !is_dns_label("a.b") && !is_dns_label("A")
        );
        assert!(is_dns_name("api.example.org") && !is_dns_name("bad name!") && !is_dns_name(""));
        assert!(
            is_qualified_name("example.org/a_b.c")
                && !is_qualified_name("a/b/c d")
                && !is_qualified_name("x/")
        );
    }
}
