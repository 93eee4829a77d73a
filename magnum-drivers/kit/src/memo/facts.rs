//! What was looked up in the cloud, once, so that later operations do not depend on names that changed meanwhile.

use std::net::IpAddr;

use ipnet::IpNet;
use magnum_core::ServerType;
use serde::{Deserialize, Serialize};

use crate::labels::{BalancingMethod, DriverLabels};

/// The network that nodes join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeNetwork {
    /// One is made for the cluster.
    Made,
    /// It was there before.
    Given {
        /// Its id.
        network: String,
        /// The subnet's id.
        subnet: String,
        /// The subnet's range.
        cidr: IpNet,
        /// Whether its ports may carry security groups (rule `BM-02`).
        port_security: bool,
        /// Its frame size.
        mtu: Option<u32>,
    },
}

/// The load balancer's provider and method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancerChoice {
    /// The provider; none leaves the choice to the cloud.
    pub provider: Option<String>,
    /// How it balances.
    pub method: BalancingMethod,
}

/// What holds for the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudFacts {
    /// The external network's id.
    pub external_network: Option<String>,
    /// The nodes' network.
    pub network: NodeNetwork,
    /// The load balancer, where one is wanted.
    pub load_balancer: Option<LoadBalancerChoice>,
    /// Whether the API gets a floating address.
    pub floating_ip: bool,
    /// The cluster's labels.
    pub labels: DriverLabels,
    /// The region.
    pub region: Option<String>,
}

/// What holds for one node group; a change of the group's wanted flavor or image reaches new members through an upgrade only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFacts {
    /// The image's id.
    pub image: String,
    /// The Kubernetes version of the image, where it says so.
    pub image_version: Option<String>,
    /// The flavor's id.
    pub flavor: String,
    /// Virtual or physical machines.
    pub server_type: ServerType,
    /// The key pair's name.
    pub keypair: Option<String>,
    /// The group's labels.
    pub labels: DriverLabels,
    /// How many members of one stack may share a server group; 0 means that there is none.
    pub server_group_members: u32,
}

/// What the infrastructure stack gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InfraOutputs {
    /// The nodes' network.
    pub network: String,
    /// The nodes' subnet.
    pub subnet: String,
    /// The subnet's range.
    pub cidr: IpNet,
    /// The network's frame size.
    pub mtu: Option<u32>,
    /// Security group of control-plane nodes; none where ports carry none.
    pub control_plane_group: Option<String>,
    /// Security group of workers.
    pub worker_group: Option<String>,
    /// Server group of control-plane nodes.
    pub server_group: Option<String>,
    /// The pool that control-plane nodes join.
    pub pool: Option<String>,
    /// The port of the only control-plane node, where no load balancer stands before it.
    pub api_port: Option<String>,
    /// The API's address in the node network.
    pub address: IpAddr,
    /// The API's floating address.
    pub floating_address: Option<IpAddr>,
}

impl InfraOutputs {
    /// The address that clients use: the floating one where there is one.
    #[must_use]
    pub fn client_address(&self) -> IpAddr {
        self.floating_address.unwrap_or(self.address)
    }
}
