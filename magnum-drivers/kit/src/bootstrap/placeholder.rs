//! The placeholders of the shared text, filled in by Heat's `str_replace`.

/// A place in the shared text that differs from member to member.
///
/// The spelling (`%%NAME%%`) occurs nowhere in a kubeconfig, in base64 text or in the bootstrap script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Placeholder {
    /// Name of the node and of the Nova server.
    NodeName,
    /// Short random id of the member.
    MemberId,
    /// Unix seconds before which the member's credentials are not valid.
    NotBefore,
    /// The discovery kubeconfig, gzip and base64.
    Discovery,
    /// The map of the member's `HEAT_SIGNAL` handle, one line of JSON, known to Heat only.
    Signal,
}

impl Placeholder {
    /// All placeholders, in the order in which they are listed in a template.
    pub const ALL: [Self; 5] = [
        Self::NodeName,
        Self::MemberId,
        Self::NotBefore,
        Self::Discovery,
        Self::Signal,
    ];

    /// The text that stands in the shared text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NodeName => "%%NODE_NAME%%",
            Self::MemberId => "%%MEMBER_ID%%",
            Self::NotBefore => "%%NOT_BEFORE%%",
            Self::Discovery => "%%DISCOVERY%%",
            Self::Signal => "%%SIGNAL%%",
        }
    }
}

/// Replaced on the node: its own address in the node subnet.
pub(crate) const NODE_IP: &str = "@NODE_IP@";
/// Replaced on the node: the UUID of its server.
pub(crate) const INSTANCE_ID: &str = "@INSTANCE_ID@";
