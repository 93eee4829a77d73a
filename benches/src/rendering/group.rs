//! Rendering of one node group.

use std::time::Duration;

use magnum_certs::{ClusterPki, NodeFile};
use magnum_core::{KubeVersion, MemberId, NodeGroupName, NodeGroupRole, ServerType};
use magnum_driver_kit::bootstrap::{ControlPlane, NodeMember, NodeRole, NodeShared, SharedText};
use magnum_driver_kit::members::{MemberCost, ShardLimits, ShardLoad, place};
use magnum_driver_kit::memo::{GroupFacts, StackRecord};
use magnum_driver_kit::stacks::{MemberInput, MemberPort, add_member, group_document};
use magnum_heat::hot::{Document, Files};
use secrecy::ExposeSecret;

use super::{Sample, labels};
use crate::Error;

/// How long a virtual machine's credential to join is valid.
const CREDENTIAL_LIFE: Duration = Duration::from_secs(24 * 3600);

/// A group's members are rendered with this.
struct Group<'a> {
    sample: &'a Sample,
    pki: &'a ClusterPki,
    name: &'a NodeGroupName,
    facts: GroupFacts,
    port: MemberPort,
    joining: SharedText,
    first: Option<SharedText>,
}

/// The stacks of a group with so many members.
pub(super) fn render(
    sample: &Sample,
    pki: &ClusterPki,
    name: &NodeGroupName,
    role: NodeGroupRole,
    count: usize,
) -> Result<Vec<StackRecord>, Error> {
    let group = Group::new(sample, pki, name, role)?;
    let mut stacks: Vec<StackRecord> = Vec::new();
    for (number, shard) in group.spread(count)?.into_iter().enumerate() {
        let shard = usize::try_from(shard)?;
        while stacks.len() <= shard {
            let name = sample.names.group_stack(name, u32::try_from(stacks.len())?);
            let document = group.empty(&name)?;
            stacks.push(StackRecord::new(name, document, Files::new()));
        }
        let stack = &mut stacks[shard];
        group.add(&mut stack.template, &mut stack.files, number)?;
    }
    Ok(stacks)
}

/// The id of a member: its number in the digits of ids.
pub(super) fn member(number: usize) -> MemberId {
    let digits = MemberId::ALPHABET;
    let mut rest = number;
    let id = (0..MemberId::LENGTH).map(|_| {
        let digit = digits[rest % digits.len()];
        rest /= digits.len();
        char::from(digit)
    });
    MemberId::new(id.collect::<String>())
}

/// The credential with which a node joins.
pub(super) fn credential(sample: &Sample, pki: &ClusterPki, node: &str) -> Result<NodeFile, Error> {
    let endpoint = sample.endpoint.to_string();
    Ok(pki.discovery_file(&endpoint, node, CREDENTIAL_LIFE, sample.now)?)
}

impl<'a> Group<'a> {
    fn new(
        sample: &'a Sample,
        pki: &'a ClusterPki,
        name: &'a NodeGroupName,
        role: NodeGroupRole,
    ) -> Result<Self, Error> {
        let (joining, first) = match role {
            NodeGroupRole::Worker => (shared(sample, name, NodeRole::Worker)?, None),
            NodeGroupRole::ControlPlane => {
                let mut names = vec!["10.0.0.5".to_owned(), "203.0.113.5".to_owned()];
                names.extend(sample.cloud.labels.api_cert_sans.iter().cloned());
                let settings = Box::new(ControlPlane::new(pki.control_plane_files()?, names));
                let joining = NodeRole::ControlPlaneJoin(settings.clone());
                (
                    shared(sample, name, joining)?,
                    Some(shared(sample, name, NodeRole::ControlPlaneInit(settings))?),
                )
            }
        };
        let control_plane = role == NodeGroupRole::ControlPlane;
        Ok(Self {
            sample,
            pki,
            name,
            facts: GroupFacts {
                image: "0c4a7a2e-53a5-4c6c-8b0a-5a0f3f4f7a11".to_owned(),
                image_version: Some("v1.36.1".to_owned()),
                flavor: "b4c2a1de-8f1c-4f0e-9f0b-6a4c6f5a2b22".to_owned(),
                server_type: ServerType::Vm,
                keypair: Some("operators".to_owned()),
                labels: labels()?,
                server_group_members: if control_plane { 0 } else { 10 },
            },
            port: MemberPort::Own {
                network: "5f7d3b0c-0c0e-4b0a-8f5e-2f3a4b5c6d33".to_owned(),
                subnet: "6a8e4c1d-1d1f-4c1b-9a6f-3a4b5c6d7e44".to_owned(),
                security_group: Some("7b9f5d2e-2e2a-4d2c-8b7a-4b5c6d7e8f55".to_owned()),
                pool: control_plane.then(|| "8cab6e3f-3f3b-4e3d-9c8b-5c6d7e8f9a66".to_owned()),
            },
            joining,
            first,
        })
    }

    fn empty(&self, stack: &str) -> Result<Document, Error> {
        let servers = (self.facts.server_group_members > 0)
            .then_some((stack, self.facts.labels.server_group_policy.as_str()));
        Ok(group_document(
            &self.sample.mark,
            self.name.as_str(),
            servers,
        )?)
    }

    /// The stack of each member, from the size of one.
    fn spread(&self, count: usize) -> Result<Vec<u32>, Error> {
        let empty = self.empty(&self.sample.names.group_stack(self.name, 0))?;
        let (mut document, mut files) = (empty.clone(), Files::new());
        self.add(&mut document, &mut files, 0)?;
        let fresh = ShardLoad {
            template_bytes: empty.to_text().len(),
            file_bytes: StackRecord::new("", Document::new(), files).file_bytes(),
            resources: empty.resources().len(),
        };
        let cost = MemberCost {
            template_bytes: document.to_text().len() - fresh.template_bytes,
            resources: document.resources().len() - fresh.resources,
        };
        Ok(place(&[], fresh, cost, count, &ShardLimits::default()))
    }

    fn add(&self, document: &mut Document, files: &mut Files, number: usize) -> Result<(), Error> {
        let begins = self.first.as_ref().filter(|_| number == 0);
        let shared = begins.unwrap_or(&self.joining);
        let id = member(number);
        let name = self.sample.names.server(self.name, &id);
        let discovery = match begins {
            Some(_) => None,
            None => Some(credential(self.sample, self.pki, &name)?),
        };
        let parameters = shared.parameters(&NodeMember {
            node_name: name.clone(),
            member_id: id.clone(),
            not_before: self.sample.now,
            discovery,
        })?;
        let input = MemberInput {
            id: &id,
            name: &name,
            group: self.name.as_str(),
            mark: &self.sample.mark,
            facts: &self.facts,
            port: &self.port,
            server_group: (self.facts.server_group_members == 0)
                .then(|| "9dbc7f4a-4a4c-4f4e-8d9c-6d7e8f9aab77".into()),
            user_data_file: shared.file_name(),
            parameters: &parameters,
        };
        add_member(document, input, self.facts.server_group_members)?;
        if files.get(shared.file_name()).is_none() {
            files.insert(shared.file_name(), shared.text().expose_secret());
        }
        Ok(())
    }
}

fn shared(sample: &Sample, group: &NodeGroupName, role: NodeRole) -> Result<SharedText, Error> {
    let role_label = match role {
        NodeRole::Worker => "worker",
        _ => "master",
    };
    let mut shared = NodeShared::new(
        sample.id,
        group.as_str(),
        "v1.36.1".parse::<KubeVersion>()?,
        sample.endpoint.clone(),
        "10.0.0.0/20".parse()?,
        role,
    );
    for (key, value) in [("nodegroup", group.as_str()), ("role", role_label)] {
        let key = format!("magnum.openstack.org/{key}");
        shared.kubelet.labels.insert(key, value.to_owned());
    }
    shared.ntp_servers = vec!["192.0.2.123".to_owned()];
    Ok(shared.render()?)
}
