//! What add-ons are rendered from.

use std::fmt;

use ipnet::IpNet;
use magnum_core::{ClusterId, KubeVersion};
use secrecy::SecretString;

use crate::bootstrap::Cni;

/// What add-ons are rendered from.
#[derive(Debug, Clone)]
pub struct AddonValues {
    /// The cluster; its id is the cluster's name for the cloud provider, unique in its project.
    pub cluster_id: ClusterId,
    /// Version of the control plane.
    pub kubernetes: KubeVersion,
    /// The pod network.
    pub cni: Cni,
    /// Range of the pods.
    pub pod_cidr: IpNet,
    /// MTU of the nodes' network, the smallest where there are several; the overlay's own bytes come off it. Absent:
    /// each node takes that of its interface, which is right only where all nodes have the same.
    pub network_mtu: Option<u16>,
    /// How the cluster reaches its cloud. Absent: no cloud provider, and nodes must not wait for one.
    pub cloud: Option<CloudAccess>,
    /// Whether volumes of the cloud are offered to pods. Needs `cloud`.
    pub cinder: bool,
    /// Whether metrics of nodes and pods are collected.
    pub metrics: bool,
    /// Whether kubelets have serving certificates of the cluster: otherwise they cannot be verified.
    pub serving_certificates: bool,
    /// Where images come from instead of their own registries, as Magnum's label `container_infra_prefix` means it:
    /// prefix and last part of the image's name, for instance `registry.example.org/magnum/`.
    pub image_prefix: Option<String>,
}

impl AddonValues {
    /// Values for a cluster with a pod network and nothing else.
    #[must_use]
    pub const fn new(
        cluster_id: ClusterId,
        kubernetes: KubeVersion,
        cni: Cni,
        pod_cidr: IpNet,
    ) -> Self {
        Self {
            cluster_id,
            kubernetes,
            cni,
            pod_cidr,
            network_mtu: None,
            cloud: None,
            cinder: false,
            metrics: false,
            serving_certificates: true,
            image_prefix: None,
        }
    }
}

/// How a cluster reaches its cloud.
#[derive(Debug, Clone)]
pub struct CloudAccess {
    /// Address of Keystone as nodes reach it.
    pub auth_url: String,
    /// Region.
    pub region: String,
    /// The cluster's own credential.
    pub credential: CloudCredential,
    /// CA bundle (PEM) of the cloud's API.
    pub ca: Option<String>,
    /// Name of the network whose addresses are the nodes' internal ones.
    pub internal_network_name: Option<String>,
    /// Name of the network whose addresses are the nodes' external ones.
    pub public_network_name: Option<String>,
    /// Load balancers for services. Absent: none are made.
    pub load_balancer: Option<LoadBalancerOptions>,
}

/// A cluster's credential for its cloud.
#[derive(Clone)]
pub enum CloudCredential {
    /// An application credential.
    ApplicationCredential {
        /// Id.
        id: String,
        /// Secret.
        secret: SecretString,
    },
    /// A trustee with a trust.
    Trust {
        /// User of the trustee.
        trustee_id: String,
        /// Password of the trustee.
        trustee_password: SecretString,
        /// The trust.
        trust_id: SecretString,
    },
}

impl fmt::Debug for CloudCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApplicationCredential { .. } => "ApplicationCredential(..)",
            Self::Trust { .. } => "Trust(..)",
        })
    }
}

/// Load balancers for services of type `LoadBalancer`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadBalancerOptions {
    /// Octavia's provider. With `ovn` the balancing method is `SOURCE_IP_PORT`, the only one it has.
    pub provider: String,
    /// Id of the external network of floating addresses.
    pub floating_network_id: Option<String>,
    /// Id of the subnet in which addresses are taken.
    pub subnet_id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_04_debug_of_a_credential_shows_nothing() {
        let credential = CloudCredential::Trust {
            trustee_id: "u".into(),
            trustee_password: "hunter2".to_owned().into(),
            trust_id: "t-1".to_owned().into(),
        };
        assert_eq!(format!("{credential:?}"), "Trust(..)");
    }
}
