//! The network that nodes join, where one is given.

use ipnet::IpNet;
use magnum_core::driver::DriverError;
use magnum_core::{NetworkPlan, Problems, TemplateSpec};
use magnum_heat::Session;
use magnum_heat::services::neutron::{self, ListItems, Network, Subnet};

use super::resolve::noted;
use crate::fault::cloud_error;
use crate::memo::NodeNetwork;

/// Finds network and subnet by name or id; none and several are different problems (rule `TV-07`).
pub(super) async fn node_network(
    session: &Session,
    spec: &TemplateSpec,
    plan: &NetworkPlan,
    problems: &mut Problems,
) -> Result<Option<NodeNetwork>, DriverError> {
    let (network, subnet) = match (&spec.fixed_network, &spec.fixed_subnet) {
        (None, None) => return Ok(Some(NodeNetwork::Made)),
        (None, Some(subnet)) => {
            let Some(subnet) = noted(
                neutron::find::<Subnet>(session, subnet).await,
                "fixed_subnet",
                subnet,
                problems,
            )?
            else {
                return Ok(None);
            };
            let network = neutron::show::<Network>(session, &subnet.network_id)
                .await
                .map_err(cloud_error)?;
            (network, Some(subnet))
        }
        (Some(network), subnet) => {
            let Some(network) = noted(
                neutron::find::<Network>(session, network).await,
                "fixed_network",
                network,
                problems,
            )?
            else {
                return Ok(None);
            };
            let all = neutron::list(
                session,
                ListItems::<Subnet>::new().filter("network_id", &network.id),
            )
            .await
            .map_err(cloud_error)?;
            let subnet = choose(all, subnet.as_deref(), &network.name, problems);
            (network, subnet)
        }
    };
    let Some(subnet) = subnet else {
        return Ok(None);
    };
    let Ok(cidr) = subnet.cidr.parse::<IpNet>() else {
        problems.add("fixed_subnet", &subnet.name, "has no usable address range");
        return Ok(None);
    };
    let with_given = NetworkPlan {
        nodes: cidr,
        ..plan.clone()
    };
    problems.absorb(with_given.check_overlaps(&[]));
    Ok(Some(NodeNetwork::Given {
        network: network.id,
        subnet: subnet.id,
        cidr,
        port_security: network.port_security_enabled.unwrap_or(true),
        mtu: network.mtu,
    }))
}

/// The wanted subnet of a network, or its only one.
fn choose(
    all: Vec<Subnet>,
    wanted: Option<&str>,
    network: &str,
    problems: &mut Problems,
) -> Option<Subnet> {
    if let Some(wanted) = wanted {
        return match magnum_heat::pick(wanted, all) {
            Ok(subnet) => Some(subnet),
            Err(error) => {
                problems.add(
                    "fixed_subnet",
                    wanted,
                    format!("{error} in the network {network}"),
                );
                None
            }
        };
    }
    let mut usable: Vec<Subnet> = all.into_iter().filter(|s| s.ip_version != 6).collect();
    if usable.len() > 1 {
        let names: Vec<_> = usable.iter().map(|s| s.id.as_str()).collect();
        problems.add(
            "fixed_network",
            network,
            format!(
                "has several subnets ({}): name one as fixed_subnet",
                names.join(", ")
            ),
        );
        return None;
    }
    let only = usable.pop();
    if only.is_none() {
        problems.add("fixed_network", network, "has no subnet");
    }
    only
}
