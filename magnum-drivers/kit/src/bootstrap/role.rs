//! What a node is, and the secrets that this needs.

use magnum_certs::NodeFile;

/// What a node is.
#[derive(Debug, Clone)]
pub enum NodeRole {
    /// The first control plane node: runs `kubeadm init`.
    ControlPlaneInit(Box<ControlPlane>),
    /// A further control plane node: joins with the pre-placed CAs.
    ControlPlaneJoin(Box<ControlPlane>),
    /// A worker: joins, and never sees a CA key.
    Worker,
}

impl NodeRole {
    /// The value of `ROLE` in `node.env`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ControlPlaneInit(_) => "control-plane-init",
            Self::ControlPlaneJoin(_) => "control-plane-join",
            Self::Worker => "worker",
        }
    }

    /// Whether a member of this role needs a credential of its own to join.
    #[must_use]
    pub const fn joins(&self) -> bool {
        !matches!(self, Self::ControlPlaneInit(_))
    }

    /// The control plane settings, absent for workers.
    #[must_use]
    pub fn control_plane(&self) -> Option<&ControlPlane> {
        match self {
            Self::ControlPlaneInit(control_plane) | Self::ControlPlaneJoin(control_plane) => {
                Some(control_plane)
            }
            Self::Worker => None,
        }
    }
}

/// Settings and files of control plane nodes.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    /// The cluster's authorities and service account key, as
    /// [`ClusterPki::control_plane_files`](magnum_certs::ClusterPki::control_plane_files) gives them.
    pub pki: Vec<NodeFile>,
    /// Names and addresses in the API server's certificate beside those that kubeadm adds (node name, node address,
    /// `kubernetes*`, first service address): VIP, floating IP, DNS names.
    pub cert_sans: Vec<String>,
    /// Further arguments of kube-apiserver, without leading dashes.
    pub api_server_args: Vec<(String, String)>,
    /// Further arguments of kube-controller-manager.
    pub controller_manager_args: Vec<(String, String)>,
    /// Further arguments of kube-scheduler.
    pub scheduler_args: Vec<(String, String)>,
    /// etcd of the control plane.
    pub etcd: EtcdOptions,
    /// Whether kubeadm leaves kube-proxy out, for a CNI that replaces it. Default `false`.
    pub without_kube_proxy: bool,
}

impl ControlPlane {
    /// Settings with defaults for the given authorities.
    #[must_use]
    pub fn new(pki: Vec<NodeFile>, cert_sans: Vec<String>) -> Self {
        Self {
            pki,
            cert_sans,
            api_server_args: Vec::new(),
            controller_manager_args: Vec::new(),
            scheduler_args: Vec::new(),
            etcd: EtcdOptions::default(),
            without_kube_proxy: false,
        }
    }
}

/// etcd on the control plane nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdOptions {
    /// Backend quota in bytes. Default 8 GiB.
    pub quota_backend_bytes: u64,
    /// Whether the data lives on a volume of its own, attached to the server with the device tag `etcd`.
    /// Default `false`: the root disk.
    pub volume: bool,
    /// Further arguments, without leading dashes.
    pub extra_args: Vec<(String, String)>,
}

impl Default for EtcdOptions {
    fn default() -> Self {
        Self {
            quota_backend_bytes: 8 << 30,
            volume: false,
            extra_args: Vec::new(),
        }
    }
}

impl EtcdOptions {
    /// The data directory on the node. A volume is mounted one level above, because kubeadm wants an empty
    /// directory and a fresh file system has `lost+found`.
    #[must_use]
    pub const fn data_dir(&self) -> &'static str {
        if self.volume {
            "/var/lib/etcd-disk/data"
        } else {
            "/var/lib/etcd"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_joining_roles_need_a_credential() {
        assert!(NodeRole::Worker.joins());
        assert_eq!(NodeRole::Worker.name(), "worker");
        assert!(NodeRole::Worker.control_plane().is_none());
    }

    #[test]
    fn etcd_on_a_volume_lives_below_the_mount_point() {
        assert_eq!(EtcdOptions::default().data_dir(), "/var/lib/etcd");
        assert_eq!(
            EtcdOptions {
                volume: true,
                ..EtcdOptions::default()
            }
            .data_dir(),
            "/var/lib/etcd-disk/data"
        );
    }
}
