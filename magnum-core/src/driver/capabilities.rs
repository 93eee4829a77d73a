//! What a driver can do.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that a driver may be able to do. What is absent is refused when it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// Create and delete clusters. Every driver has it.
    CreateDelete,
    /// Change the number of nodes of a worker group.
    Resize,
    /// Change the number of control-plane nodes.
    ResizeControlPlane,
    /// Add and remove node groups.
    NodeGroups,
    /// Replace one named worker node.
    ReplaceNode,
    /// Replace one named control-plane node.
    ReplaceControlPlaneNode,
    /// Move to another Kubernetes version.
    Upgrade,
    /// Change node labels, taints and size limits of a group.
    UpdateSettings,
    /// Replace the certificate authorities.
    RotateCa,
    /// Replace the cluster's cloud credential.
    RotateCredential,
    /// Save etcd.
    BackUpEtcd,
    /// Bring etcd back from a saved state.
    RestoreEtcd,
    /// Say whether the cluster is healthy.
    ProbeHealth,
    /// Take over a cluster that was made by something else.
    Adopt,
    /// Bare metal node groups.
    BareMetalNodeGroups,
    /// Extra volumes for containers.
    DockerVolumes,
    /// Floating addresses on nodes.
    NodeFloatingIps,
}

impl Capability {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateDelete => "create_delete",
            Self::Resize => "resize",
            Self::ResizeControlPlane => "resize_control_plane",
            Self::NodeGroups => "node_groups",
            Self::ReplaceNode => "replace_node",
            Self::ReplaceControlPlaneNode => "replace_control_plane_node",
            Self::Upgrade => "upgrade",
            Self::UpdateSettings => "update_settings",
            Self::RotateCa => "rotate_ca",
            Self::RotateCredential => "rotate_credential",
            Self::BackUpEtcd => "back_up_etcd",
            Self::RestoreEtcd => "restore_etcd",
            Self::ProbeHealth => "probe_health",
            Self::Adopt => "adopt",
            Self::BareMetalNodeGroups => "bare_metal_node_groups",
            Self::DockerVolumes => "docker_volumes",
            Self::NodeFloatingIps => "node_floating_ips",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All that a driver can do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(BTreeSet<Capability>);

impl Capabilities {
    /// Exactly these, and [`Capability::CreateDelete`].
    pub fn of(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        let mut set: BTreeSet<_> = capabilities.into_iter().collect();
        set.insert(Capability::CreateDelete);
        Self(set)
    }

    /// Whether this one is among them.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Capability> {
        self.0.iter().copied()
    }
}
