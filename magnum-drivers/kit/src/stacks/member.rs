//! The resources of one member.

use magnum_core::{MemberId, ServerType};
use magnum_heat::hot::types::{
    BlockDevice, PoolMember, Port, Server, ServerNetwork, SignalTransport, Volume,
    WaitConditionHandle,
};
use magnum_heat::hot::{
    Resource, Value, get_attr, get_attr_path, get_file, get_resource, str_replace,
};
use secrecy::ExposeSecret;

use super::{API_PORT, Mark};
use crate::bootstrap::{MemberParameters, ParameterValue};
use crate::memo::GroupFacts;

/// How a member is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberPort {
    /// By a port of its own.
    Own {
        /// The network.
        network: String,
        /// The subnet.
        subnet: String,
        /// Its security group, where ports carry one.
        security_group: Option<String>,
        /// The pool that it joins.
        pool: Option<String>,
    },
    /// By a port that exists: the only control-plane node where no load balancer stands before it.
    Existing {
        /// The port.
        port: String,
    },
}

/// All that decides a member's resources.
#[derive(Debug)]
pub struct MemberInput<'a> {
    /// Its id.
    pub id: &'a MemberId,
    /// Its server's name.
    pub name: &'a str,
    /// The group's name.
    pub group: &'a str,
    /// The mark.
    pub mark: &'a Mark,
    /// What was looked up for the group.
    pub facts: &'a GroupFacts,
    /// How it is connected.
    pub port: &'a MemberPort,
    /// The server group that it joins.
    pub server_group: Option<Value>,
    /// The name of the shared text in the stack's files.
    pub user_data_file: &'a str,
    /// What is filled into the shared text.
    pub parameters: &'a MemberParameters,
}

/// The names of the resources that a member may have.
pub(super) fn resource_names(id: &MemberId) -> [String; 5] {
    ["port", "volume", "signal", "server", "member"].map(|kind| format!("{kind}_{id}"))
}

/// The member's resources in document order.
pub(super) fn resources(input: &MemberInput<'_>) -> Vec<(String, Resource)> {
    let [
        port_name,
        volume_name,
        signal_name,
        server_name,
        member_name,
    ] = resource_names(input.id);
    let bare_metal = input.facts.server_type == ServerType::BareMetal;
    let mut resources: Vec<(String, Resource)> = Vec::with_capacity(5);
    let port_ref = match input.port {
        MemberPort::Existing { port } => Value::from(port),
        MemberPort::Own {
            network,
            subnet,
            security_group,
            ..
        } => {
            let mut port = Port::new(network).name(input.name).subnet(subnet);
            if let Some(group) = security_group {
                port = port.security_groups([group.as_str()]);
            }
            if bare_metal {
                port = port.vnic_type("baremetal");
            }
            port = port.tags(input.mark.tags());
            resources.push((port_name.clone(), port.into()));
            get_resource(&port_name)
        }
    };
    let labels = &input.facts.labels;
    let boot_volume = labels.boot_volume_size > 0 && !bare_metal;
    if boot_volume {
        let mut volume = Volume::new(labels.boot_volume_size)
            .name(input.name)
            .description(input.mark.description("boot volume"))
            .image(&input.facts.image)
            .metadata(Value::map([("magnum_cluster", input.mark.as_str())]));
        if let Some(kind) = &labels.boot_volume_type {
            volume = volume.volume_type(kind);
        }
        if let Some(zone) = &labels.boot_volume_zone {
            volume = volume.availability_zone(zone);
        }
        resources.push((volume_name.clone(), volume.into()));
    }
    let signalled = input
        .parameters
        .iter()
        .any(|(_, value)| matches!(value, ParameterValue::Signal));
    if signalled {
        resources.push((
            signal_name.clone(),
            WaitConditionHandle::new()
                .signal_transport(SignalTransport::HeatSignal)
                .into(),
        ));
    }
    let user_data = str_replace(
        get_file(input.user_data_file),
        input.parameters.iter().map(|(placeholder, value)| {
            let value = match value {
                ParameterValue::Text(text) => Value::from(text.expose_secret()),
                ParameterValue::Signal => get_attr(&signal_name, "signal"),
            };
            (placeholder.text(), value)
        }),
    );
    let mut server = Server::new(&input.facts.flavor)
        .name(input.name)
        .networks(vec![Value::from(ServerNetwork::Port(port_ref))])
        .user_data(user_data)
        .metadata(Value::map([
            ("magnum_cluster", input.mark.as_str()),
            ("magnum_node_group", input.group),
            ("magnum_member", input.id.as_str()),
        ]))
        .immutable();
    if boot_volume {
        let mut device = BlockDevice::existing(get_resource(&volume_name));
        device.boot_index = 0;
        server = server.block_device_mapping_v2(vec![Value::from(device)]);
    } else {
        server = server.image(&input.facts.image);
    }
    if let Some(keypair) = &input.facts.keypair {
        server = server.key_name(keypair);
    }
    if let Some(zone) = &labels.availability_zone {
        server = server.availability_zone(zone);
    }
    if let Some(group) = &input.server_group {
        server = server.group(group);
    }
    resources.push((server_name, server.into()));
    if let MemberPort::Own {
        subnet,
        pool: Some(pool),
        ..
    } = input.port
    {
        let address = get_attr_path(
            &port_name,
            "fixed_ips",
            [Value::from(0), Value::from("ip_address")],
        );
        resources.push((
            member_name,
            PoolMember::new(pool, address, API_PORT)
                .subnet(subnet)
                .into(),
        ));
    }
    resources
}
