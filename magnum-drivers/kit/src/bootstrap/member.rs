//! What belongs to one member only.

use chrono::{DateTime, Utc};
use magnum_certs::NodeFile;
use magnum_core::MemberId;
use secrecy::{ExposeSecret, SecretString};

use super::placeholder::Placeholder;

/// One member of a node group.
#[derive(Debug, Clone)]
pub struct NodeMember {
    /// Name of the node, of its server and of its certificate: a DNS label of at most 53 characters, never reused.
    pub node_name: String,
    /// Short random id of the member.
    pub member_id: MemberId,
    /// Start of the validity of the member's credentials; a node whose clock is more than five minutes before it
    /// stops in the preflight instead of failing in TLS.
    pub not_before: DateTime<Utc>,
    /// The discovery kubeconfig to join with, as [`ClusterPki::discovery_file`](magnum_certs::ClusterPki::discovery_file)
    /// makes it for this node's name. It must outlive the limit of the creation: a day for VMs, three days for bare
    /// metal. Absent for the first control plane node, required for all others.
    pub discovery: Option<NodeFile>,
}

/// Value of one placeholder.
#[derive(Debug, Clone)]
pub enum ParameterValue {
    /// Known now. May be a secret: it goes into the template, never into a log.
    Text(SecretString),
    /// Known to Heat only: `get_attr: [<handle>, signal]` of the member's handle.
    Signal,
}

/// The parameters of Heat's `str_replace` for one member.
///
/// ```text
/// user_data:
///   str_replace:
///     template: {get_file: <SharedText::file_name>}
///     params: {"%%NODE_NAME%%": demo-w-7f2kq, ..., "%%SIGNAL%%": {get_attr: [signal_7f2kq, signal]}}
/// ```
#[derive(Debug, Clone)]
pub struct MemberParameters {
    pub(crate) node_name: String,
    pub(crate) values: Vec<(Placeholder, ParameterValue)>,
}

impl MemberParameters {
    /// Name of the node.
    #[must_use]
    pub fn node_name(&self) -> &str {
        &self.node_name
    }

    /// Placeholders and values, each once, exactly those that the shared text contains.
    pub fn iter(&self) -> impl Iterator<Item = (Placeholder, &ParameterValue)> {
        self.values
            .iter()
            .map(|(placeholder, value)| (*placeholder, value))
    }

    /// Bytes that the values add to a template, the signal's `get_attr` not counted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.values
            .iter()
            .map(|(placeholder, value)| {
                placeholder.text().len()
                    + match value {
                        ParameterValue::Text(text) => text.expose_secret().len(),
                        ParameterValue::Signal => 0,
                    }
            })
            .sum()
    }
}
