//! Members: the nodes of a node group, as the library knows them.

use serde::{Deserialize, Serialize};

use crate::id::MemberId;

/// Where a member is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemberPhase {
    /// Decided on; nothing made yet, or its server is being built.
    Building,
    /// The server runs; the node has not joined or is not ready.
    Joining,
    /// The node is a ready part of the cluster.
    Ready,
    /// The node was ready and is not now.
    NotReady,
    /// It failed and will be replaced or removed.
    Failed,
    /// It is being removed.
    Leaving,
}

impl MemberPhase {
    /// The phase in words, as a table shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Joining => "joining",
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Failed => "failed",
            Self::Leaving => "leaving",
        }
    }
}

/// One node of a node group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its short id, unique in the cluster for ever.
    pub id: MemberId,
    /// The server's and the Kubernetes node's name.
    pub name: String,
    /// Where it is in its life.
    pub phase: MemberPhase,
    /// The Nova server's id, once known.
    pub server_id: Option<String>,
    /// Its addresses on the node network, then floating ones.
    pub addresses: Vec<String>,
    /// The kubelet's version, once it has joined.
    pub kube_version: Option<String>,
    /// The cause of failure, in a sentence, where the phase says so.
    pub reason: Option<String>,
}

/// How a caller names a member: by id, name, server id (with or without dashes), provider id or address (rule `HA-06`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberRef(String);

impl MemberRef {
    /// Wraps what the caller wrote.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What the caller wrote.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this names `member`.
    #[must_use]
    pub fn names(&self, member: &Member) -> bool {
        let text = self.0.trim();
        if text == member.id.as_str()
            || text == member.name
            || member.addresses.iter().any(|a| a == text)
        {
            return true;
        }
        let server = if text.starts_with("openstack://") {
            text.rsplit('/').next().unwrap_or_default()
        } else {
            text
        };
        let bare = |id: &str| id.replace('-', "").to_ascii_lowercase();
        member
            .server_id
            .as_deref()
            .is_some_and(|id| !server.is_empty() && bare(id) == bare(server))
    }
}

impl std::fmt::Display for MemberRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ha_06_any_name_of_a_member_finds_it() {
        let member = Member {
            id: MemberId::new("7f2kq"),
            name: "prod-worker-7f2kq".to_owned(),
            phase: MemberPhase::Ready,
            server_id: Some("6b1f2c3d-0a4e-4f5b-8c6d-7e8f90a1b2c3".to_owned()),
            addresses: vec!["10.20.0.17".to_owned()],
            kube_version: None,
            reason: None,
        };
        for text in [
            "7f2kq",
            "prod-worker-7f2kq",
            "6b1f2c3d-0a4e-4f5b-8c6d-7e8f90a1b2c3",
            "6b1f2c3d0a4e4f5b8c6d7e8f90a1b2c3",
            "openstack:///6b1f2c3d-0a4e-4f5b-8c6d-7e8f90a1b2c3",
            "openstack://RegionOne/6b1f2c3d-0a4e-4f5b-8c6d-7e8f90a1b2c3",
            "10.20.0.17",
        ] {
            assert!(MemberRef::new(text).names(&member), "{text}");
        }
        for text in ["", "10.20.0.1", "openstack:///", "6b1f"] {
            assert!(!MemberRef::new(text).names(&member), "{text}");
        }
    }
}
