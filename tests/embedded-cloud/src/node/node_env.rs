//! `/etc/clusternode/node.env`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// What the node is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The first control-plane node: `kubeadm init`.
    ControlPlaneInit,
    /// A further control-plane node.
    ControlPlaneJoin,
    /// A worker.
    Worker,
}

impl Role {
    /// Whether it carries the control plane.
    #[must_use]
    pub fn is_control_plane(self) -> bool {
        self != Self::Worker
    }
}

/// The facts a node is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEnv {
    /// Its role.
    pub role: Role,
    /// Its name, which is the server's.
    pub node_name: String,
    /// The cluster's UUID.
    pub cluster_id: String,
    /// Its node group.
    pub node_group: String,
    /// Its member id.
    pub member_id: String,
    /// `vX.Y.Z`.
    pub kube_version: String,
    /// Host of the endpoint.
    pub endpoint_host: String,
    /// Port of the endpoint.
    pub endpoint_port: u16,
    /// Range of the node's own address.
    pub node_subnet: IpNet,
    /// Unix seconds from which the node's certificates are valid.
    pub not_before: i64,
    /// Network add-on; `none` when nodes become ready without.
    pub cni: String,
    /// Whether signals are sent.
    pub signal: bool,
    /// Everything else.
    pub other: BTreeMap<String, String>,
}

impl NodeEnv {
    /// Reads the file.
    ///
    /// # Errors
    /// All problems at once.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut values = BTreeMap::new();
        for line in text
            .lines()
            .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
        {
            match line.split_once('=').map(|(k, v)| (k, unquote(v))) {
                Some((key, Some(value))) if is_name(key) => {
                    if values.insert(key.to_owned(), value).is_some() {
                        problems.push(format!("{key} is given twice"));
                    }
                }
                _ => problems.push(format!("not an assignment the shell reads: {line:?}")),
            }
        }
        let mut take = |key: &str| {
            values.remove(key).unwrap_or_else(|| {
                problems.push(format!("{key} is missing"));
                String::new()
            })
        };
        let format = take("CLUSTERNODE_FORMAT");
        let (role, endpoint, subnet) = (take("ROLE"), take("ENDPOINT"), take("NODE_SUBNET"));
        let (not_before, signal) = (take("NOT_BEFORE"), take("SIGNAL"));
        let (node_name, cluster_id, node_group) =
            (take("NODE_NAME"), take("CLUSTER_ID"), take("NODE_GROUP"));
        let (member_id, kube_version, cni) = (take("MEMBER_ID"), take("KUBE_VERSION"), take("CNI"));
        let mut wrong =
            |what: &str, value: &str| problems.push(format!("{what} {value:?} is not valid"));
        if format != "1" {
            wrong("CLUSTERNODE_FORMAT", &format);
        }
        let role_value = serde_json::from_value(role.as_str().into()).unwrap_or_else(|_| {
            wrong("ROLE", &role);
            Role::Worker
        });
        let (endpoint_host, endpoint_port) = split_endpoint(&endpoint).unwrap_or_else(|| {
            wrong("ENDPOINT", &endpoint);
            (String::new(), 0)
        });
        let node_subnet = subnet.parse().unwrap_or_else(|_| {
            wrong("NODE_SUBNET", &subnet);
            IpNet::default()
        });
        let not_before = not_before.parse().unwrap_or_else(|_| {
            wrong("NOT_BEFORE", &not_before);
            0
        });
        if !matches!(signal.as_str(), "true" | "false") {
            wrong("SIGNAL", &signal);
        }
        if minor(&kube_version).is_none() {
            wrong("KUBE_VERSION", &kube_version);
        }
        if uuid::Uuid::parse_str(&cluster_id).is_err() {
            wrong("CLUSTER_ID", &cluster_id);
        }
        if node_name.is_empty() || node_name.len() > 63 || !node_name.chars().all(is_label_char) {
            wrong("NODE_NAME", &node_name);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            role: role_value,
            node_name,
            cluster_id,
            node_group,
            member_id,
            kube_version,
            endpoint_host,
            endpoint_port,
            node_subnet,
            not_before,
            cni,
            signal: signal == "true",
            other: values,
        })
    }

    /// `host:port`, with brackets around an IPv6 address.
    #[must_use]
    pub fn endpoint(&self) -> String {
        match self.endpoint_host.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => format!("[{ip}]:{}", self.endpoint_port),
            _ => format!("{}:{}", self.endpoint_host, self.endpoint_port),
        }
    }
}

fn is_label_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn is_name(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// A plain word or a word in single quotes, as the kit writes them.
fn unquote(value: &str) -> Option<String> {
    if !value.contains('\'') {
        let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_[]*".contains(c);
        return value.chars().all(plain).then(|| value.to_owned());
    }
    let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
    let parts: Vec<&str> = inner.split("'\\''").collect();
    parts
        .iter()
        .all(|p| !p.contains('\''))
        .then(|| parts.join("'"))
}

/// Splits `host:port`; an IPv6 host stands in brackets.
pub(crate) fn split_endpoint(endpoint: &str) -> Option<(String, u16)> {
    let (host, port) = endpoint.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    (!host.is_empty()).then_some((host.to_owned(), port.parse().ok()?))
}

/// Major and minor number of `vX.Y.Z`.
pub(crate) fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix('v')?.split('.');
    let found = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    numbers.next()?;
    Some(found)
}

#[cfg(test)]
pub(crate) const SAMPLE: &str = "CLUSTERNODE_FORMAT=1\nROLE=worker\nNODE_NAME=demo-w-7f2kq\n\
CLUSTER_ID=00000000-0000-0000-0000-000000005eed\nNODE_GROUP='my group'\nMEMBER_ID=7f2kq\nKUBE_VERSION=v1.36.1\n\
ENDPOINT=10.0.0.5:6443\nNODE_SUBNET=10.0.0.0/24\nNOT_BEFORE=1790000000\nCNI=flannel\nSIGNAL=true\nBLOCK_METADATA=true\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        let env = NodeEnv::parse(SAMPLE).unwrap();
        assert_eq!(
            (env.role, env.endpoint().as_str()),
            (Role::Worker, "10.0.0.5:6443")
        );
        assert_eq!(env.node_group, "my group");
        assert_eq!(env.other["BLOCK_METADATA"], "true");
        assert_eq!(
            split_endpoint("[fd00::1]:6443"),
            Some(("fd00::1".into(), 6443))
        );
    }

    #[test]
    fn all_problems_come_at_once() {
        let text = SAMPLE
            .replace("ROLE=worker", "ROLE=boss")
            .replace("SIGNAL=true\n", "")
            .replace("v1.36.1", "1.36");
        let problems = NodeEnv::parse(&format!("{text}X=a b\n"))
            .unwrap_err()
            .join("; ");
        for part in ["ROLE", "SIGNAL is missing", "KUBE_VERSION", "X=a b"] {
            assert!(problems.contains(part), "{problems}");
        }
    }
}
