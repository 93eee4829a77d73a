//! Rendering of a group's members: shared text once, the rest per member.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use magnum_certs::ClusterPki;
use magnum_core::driver::DriverError;
use magnum_core::{KubeVersion, NodeGroup, NodeGroupRole, ServerType};
use magnum_heat::hot::{Document, Files};
use secrecy::ExposeSecret;

use super::round::Round;
use crate::bootstrap::{
    BootstrapError, Cni, ControlPlane, Endpoint, KubeletOptions, Networking, NodeMember, NodeRole,
    NodeShared, SharedText,
};
use crate::fault::certificate_error;
use crate::members::MemberRecord;
use crate::memo::{CloudFacts, GroupFacts, InfraOutputs};
use crate::stacks::{API_PORT, MemberInput, MemberPort, add_member, group_document};

/// Renders members of one group.
pub(crate) struct Renderer<'a> {
    round: &'a Round<'a>,
    group: &'a NodeGroup,
    facts: &'a GroupFacts,
    outputs: &'a InfraOutputs,
    pki: Arc<ClusterPki>,
    endpoint: Endpoint,
    joining: SharedText,
    first: Option<SharedText>,
}

pub(crate) fn endpoint(outputs: &InfraOutputs) -> Endpoint {
    Endpoint::new(outputs.address.to_string(), API_PORT)
}

pub(crate) fn cni(network_driver: &str) -> Cni {
    match network_driver {
        "calico" => Cni::Calico,
        "cilium" => Cni::Cilium,
        "none" => Cni::None,
        _ => Cni::Flannel,
    }
}

fn bootstrap_error(error: BootstrapError) -> DriverError {
    DriverError::Internal {
        what: error.to_string(),
        source: Some(Box::new(error)),
    }
}

fn document_error(error: magnum_heat::hot::DocumentError) -> DriverError {
    DriverError::Internal {
        what: error.to_string(),
        source: Some(Box::new(error)),
    }
}

impl<'a> Renderer<'a> {
    /// Prepares the texts of a group. `first` says that a member that begins the cluster may be among those rendered.
    pub(crate) async fn new(
        round: &'a Round<'a>,
        group: &'a NodeGroup,
        facts: &'a GroupFacts,
        cloud: &'a CloudFacts,
        outputs: &'a InfraOutputs,
        first: bool,
    ) -> Result<Self, DriverError> {
        let pki = round.pki().await?.clone();
        let endpoint = endpoint(outputs);
        let text = |role: NodeRole| -> Result<SharedText, DriverError> {
            shared(round, group, facts, cloud, outputs, endpoint.clone(), role)?
                .render()
                .map_err(bootstrap_error)
        };
        let (joining, first) = match group.role {
            NodeGroupRole::Worker => (text(NodeRole::Worker)?, None),
            NodeGroupRole::ControlPlane => {
                let mut sans = vec![outputs.address.to_string()];
                sans.extend(outputs.floating_address.map(|address| address.to_string()));
                sans.extend(cloud.labels.api_cert_sans.iter().cloned());
                let files = pki.control_plane_files().map_err(certificate_error)?;
                let settings = Box::new(ControlPlane::new(files, sans));
                (
                    text(NodeRole::ControlPlaneJoin(settings.clone()))?,
                    first
                        .then(|| text(NodeRole::ControlPlaneInit(settings)))
                        .transpose()?,
                )
            }
        };
        Ok(Self {
            round,
            group,
            facts,
            outputs,
            pki,
            endpoint,
            joining,
            first,
        })
    }

    /// A stack of the group without members.
    pub(crate) fn empty(&self, stack: &str) -> Result<Document, DriverError> {
        let servers = (self.facts.server_group_members > 0)
            .then_some((stack, self.facts.labels.server_group_policy.as_str()));
        group_document(&self.round.mark, self.group.name.as_str(), servers).map_err(document_error)
    }

    /// Adds a member to a stack's document and files. `first` begins the cluster instead of joining it.
    pub(crate) fn add(
        &self,
        document: &mut Document,
        files: &mut Files,
        member: &MemberRecord,
        first: bool,
    ) -> Result<(), DriverError> {
        let shared = match (&self.first, first) {
            (Some(text), true) => text,
            _ => &self.joining,
        };
        let now = self.round.now();
        let patience = &self.round.config.patience;
        let life: Duration = match self.facts.server_type {
            ServerType::Vm => patience.virtual_credential,
            ServerType::BareMetal => patience.bare_metal_credential,
        };
        let discovery = if first {
            None
        } else {
            Some(
                self.pki
                    .discovery_file(&self.endpoint.to_string(), &member.name, life, now)
                    .map_err(certificate_error)?,
            )
        };
        let parameters = shared
            .parameters(&NodeMember {
                node_name: member.name.clone(),
                member_id: member.id.clone(),
                not_before: now,
                discovery,
            })
            .map_err(bootstrap_error)?;
        let control_plane = self.group.role == NodeGroupRole::ControlPlane;
        let port = match (&self.outputs.api_port, control_plane) {
            (Some(port), true) => MemberPort::Existing { port: port.clone() },
            _ => MemberPort::Own {
                network: self.outputs.network.clone(),
                subnet: self.outputs.subnet.clone(),
                security_group: if control_plane {
                    self.outputs.control_plane_group.clone()
                } else {
                    self.outputs.worker_group.clone()
                },
                pool: self.outputs.pool.clone().filter(|_| control_plane),
            },
        };
        let server_group = self
            .outputs
            .server_group
            .as_deref()
            .filter(|_| control_plane && self.facts.server_type == ServerType::Vm)
            .map(Into::into);
        add_member(
            document,
            MemberInput {
                id: &member.id,
                name: &member.name,
                group: self.group.name.as_str(),
                mark: &self.round.mark,
                facts: self.facts,
                port: &port,
                server_group,
                user_data_file: shared.file_name(),
                parameters: &parameters,
            },
            self.facts.server_group_members,
        )
        .map_err(document_error)?;
        if files.get(shared.file_name()).is_none() {
            files.insert(shared.file_name(), shared.text().expose_secret());
        }
        Ok(())
    }
}

fn shared(
    round: &Round<'_>,
    group: &NodeGroup,
    facts: &GroupFacts,
    cloud: &CloudFacts,
    outputs: &InfraOutputs,
    endpoint: Endpoint,
    role: NodeRole,
) -> Result<NodeShared, DriverError> {
    let IpNet::V4(subnet) = outputs.cidr else {
        return Err(DriverError::internal(format!(
            "the node subnet {} is IPv6, which is not supported yet",
            outputs.cidr
        )));
    };
    let cluster = &round.view.cluster;
    let version = facts
        .image_version
        .as_deref()
        .and_then(|text| text.parse::<KubeVersion>().ok())
        .unwrap_or_else(|| cluster.kube_version.clone());
    let mut labels: BTreeMap<String, String> = group
        .spec
        .node_labels
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    labels.insert(
        "magnum.openstack.org/nodegroup".to_owned(),
        group.name.to_string(),
    );
    labels.insert(
        "magnum.openstack.org/role".to_owned(),
        group.role.as_str().to_owned(),
    );
    let mut shared = NodeShared::new(
        cluster.id,
        group.name.as_str(),
        version,
        endpoint,
        subnet,
        role,
    );
    shared.networking = Networking {
        pod_cidr: cluster.network.pods,
        service_cidr: cluster.network.services,
        dns_domain: cloud.labels.dns_domain.clone(),
        node_cidr_mask: None,
    };
    shared.cni = cni(&cluster.spec.network_driver);
    shared.kubelet = KubeletOptions {
        labels,
        taints: group.spec.taints.clone(),
        ..KubeletOptions::default()
    };
    shared.image_repository = facts.labels.image_prefix.clone();
    shared.ntp_servers = round.config.ntp_servers.clone();
    shared.cloud_ca = round.config.cloud_ca.clone();
    shared.ssh_authorized_keys = round.config.ssh_authorized_keys.clone();
    shared.signal = facts.labels.signals;
    Ok(shared)
}
