//! The infrastructure document: network, security groups, the API's address.

use std::net::IpAddr;

use ipnet::IpNet;
use magnum_heat::hot::types::{
    FloatingIp, Net, Port, Router, RouterInterface, SecurityGroup, ServerGroup, Subnet,
};
use magnum_heat::hot::{
    Document, DocumentError, Resource, Value, get_attr, get_attr_path, get_resource,
};

use super::{Ingress, Mark, balancer, control_plane_rules, worker_rules};
use crate::members::Names;
use crate::memo::{CloudFacts, NodeNetwork};

/// All that decides the infrastructure document.
#[derive(Debug, Clone)]
pub struct InfrastructureInput<'a> {
    /// Names.
    pub names: &'a Names,
    /// The mark.
    pub mark: &'a Mark,
    /// What was looked up.
    pub facts: &'a CloudFacts,
    /// The range of the subnet that is made, where one is made.
    pub nodes: IpNet,
    /// The pod network's name.
    pub network_driver: &'a str,
    /// Name servers of the subnet that is made.
    pub dns_nameservers: &'a [IpAddr],
    /// Whether control-plane nodes are virtual machines, which server groups are for.
    pub virtual_control_plane: bool,
}

/// Renders the infrastructure. The same input gives the same document.
///
/// # Errors
/// None for documents of this form; the builder's checks are passed on.
pub fn render_infrastructure(input: &InfrastructureInput<'_>) -> Result<Document, DocumentError> {
    let mut document = Document::new().description(input.mark.description("infrastructure"));
    let place = network(input, &mut document)?;
    if place.secured {
        security_groups(input, &mut document, place.cidr)?;
    }
    if input.virtual_control_plane {
        document.add_resource(
            "control_plane_servers",
            ServerGroup::new()
                .name(input.names.resource("control-plane"))
                .policies([input.facts.labels.server_group_policy.as_str()]),
        )?;
        document.add_output("server_group", get_resource("control_plane_servers"))?;
    }
    address(input, &mut document, &place)?;
    Ok(document)
}

/// Where nodes live, as values for other resources.
struct Place {
    network: Value,
    subnet: Value,
    cidr: IpNet,
    secured: bool,
    after: Vec<&'static str>,
}

fn network(
    input: &InfrastructureInput<'_>,
    document: &mut Document,
) -> Result<Place, DocumentError> {
    if let NodeNetwork::Given {
        network,
        subnet,
        cidr,
        port_security,
        ..
    } = &input.facts.network
    {
        document.add_output("network", Value::from(network))?;
        document.add_output("subnet", Value::from(subnet))?;
        document.add_output("cidr", Value::from(cidr.to_string()))?;
        return Ok(Place {
            network: network.into(),
            subnet: subnet.into(),
            cidr: *cidr,
            secured: *port_security,
            after: Vec::new(),
        });
    }
    document.add_resource(
        "network",
        Net::new()
            .name(input.names.resource("network"))
            .tags(input.mark.tags()),
    )?;
    let mut subnet = Subnet::new(get_resource("network"))
        .name(input.names.resource("subnet"))
        .cidr(input.nodes.to_string())
        .ip_version(if matches!(input.nodes, IpNet::V6(_)) {
            6
        } else {
            4
        })
        .tags(input.mark.tags());
    if !input.dns_nameservers.is_empty() {
        subnet = subnet.dns_nameservers(Value::list(
            input.dns_nameservers.iter().map(ToString::to_string),
        ));
    }
    document.add_resource("subnet", subnet)?;
    let mut after = Vec::new();
    if let Some(external) = &input.facts.external_network {
        document.add_resource(
            "router",
            Router::new()
                .name(input.names.resource("router"))
                .gateway(external)
                .tags(input.mark.tags()),
        )?;
        document.add_resource(
            "router_interface",
            RouterInterface::new(get_resource("router")).subnet(get_resource("subnet")),
        )?;
        after.push("router_interface");
    }
    document.add_output("network", get_resource("network"))?;
    document.add_output("subnet", get_resource("subnet"))?;
    document.add_output("cidr", Value::from(input.nodes.to_string()))?;
    document.add_output("mtu", get_attr("network", "mtu"))?;
    Ok(Place {
        network: get_resource("network"),
        subnet: get_resource("subnet"),
        cidr: input.nodes,
        secured: true,
        after,
    })
}

fn security_groups(
    input: &InfrastructureInput<'_>,
    document: &mut Document,
    nodes: IpNet,
) -> Result<(), DocumentError> {
    let labels = &input.facts.labels;
    let amphora = input.facts.load_balancer.as_ref().is_some_and(|choice| {
        choice
            .provider
            .as_deref()
            .is_some_and(|p| p.starts_with("amphora") || p == "octavia")
    });
    let groups = [
        (
            "control_plane_group",
            "control-plane",
            control_plane_rules(
                nodes,
                input.network_driver,
                &labels.ssh_cidrs,
                &labels.api_allowed_cidrs,
                !amphora,
            ),
        ),
        (
            "worker_group",
            "worker",
            worker_rules(nodes, input.network_driver, &labels.ssh_cidrs),
        ),
    ];
    for (resource, name, rules) in groups {
        let rules = Value::list(rules.iter().map(|rule: &Ingress| rule.to_value(nodes)));
        document.add_resource(
            resource,
            SecurityGroup::new()
                .name(input.names.resource(name))
                .description(input.mark.description(name))
                .rules(rules),
        )?;
        document.add_output(resource, get_resource(resource))?;
    }
    Ok(())
}

/// The API's address: the load balancer's, or that of a port which the only control-plane node takes.
fn address(
    input: &InfrastructureInput<'_>,
    document: &mut Document,
    place: &Place,
) -> Result<(), DocumentError> {
    let (port, fixed) = if let Some(choice) = &input.facts.load_balancer {
        balancer::add(
            document,
            balancer::BalancerInput {
                choice,
                mark: input.mark,
                name: &input.names.resource("api"),
                vip_subnet: place.subnet.clone(),
                allowed: &input.facts.labels.api_allowed_cidrs,
                nodes: place.cidr,
                after: &place.after,
            },
        )?;
        document.add_output("pool", get_resource("api_pool"))?;
        (
            get_attr("api_load_balancer", "vip_port_id"),
            get_attr("api_load_balancer", "vip_address"),
        )
    } else {
        let mut port = Port::new(place.network.clone())
            .name(input.names.resource("api"))
            .subnet(place.subnet.clone())
            .tags(input.mark.tags());
        if place.secured {
            port = port.security_groups([get_resource("control_plane_group")]);
        }
        let mut port = Resource::new(port);
        if !place.after.is_empty() {
            port = port.depends_on(place.after.iter().copied());
        }
        document.add_resource("api_port", port)?;
        document.add_output("api_port", get_resource("api_port"))?;
        (
            get_resource("api_port"),
            get_attr_path(
                "api_port",
                "fixed_ips",
                [Value::from(0), Value::from("ip_address")],
            ),
        )
    };
    document.add_output("address", fixed)?;
    if let (true, Some(external)) = (input.facts.floating_ip, &input.facts.external_network) {
        let mut floating = Resource::new(
            FloatingIp::new(external)
                .port_id(port)
                .value_specs(input.mark.description_specs("Kubernetes API")),
        );
        if !place.after.is_empty() {
            floating = floating.depends_on(place.after.iter().copied());
        }
        document.add_resource("api_floating_ip", floating)?;
        document.add_output(
            "floating_address",
            get_attr("api_floating_ip", "floating_ip_address"),
        )?;
    }
    Ok(())
}
