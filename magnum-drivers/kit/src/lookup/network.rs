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

#[cfg(test)]
mod tests {
    use magnum_heat::testing::{Reply, Script};
    use serde_json::{Value, json};

    use super::*;

    /// Two networks named `twin` and one named `only`, with one subnet each.
    fn neutron() -> Script {
        let networks = [("n1", "twin"), ("n2", "twin"), ("n3", "only")];
        let network = |(id, name): (&str, &str)| json!({"id": id, "name": name});
        Script::new().rule(move |seen| {
            let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
            let wanted = |key: &str| {
                let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                pairs.find(|(k, _)| *k == key).map(|(_, value)| value)
            };
            if let Some((_, id)) = path.split_once("/networks/") {
                let found = networks.into_iter().find(|(own, _)| *own == id);
                return Some(match found {
                    Some(found) => Reply::json(200, &json!({"network": network(found)})),
                    None => {
                        let error = json!({"type": "NetworkNotFound", "message": "no such network", "detail": ""});
                        Reply::json(404, &json!({"NeutronError": error}))
                    }
                });
            }
            if path.ends_with("/networks") {
                let fits = |(id, name): &(&str, &str)| {
                    wanted("name").is_none_or(|n| n == *name)
                        && wanted("id").is_none_or(|i| i == *id)
                };
                let found: Vec<Value> = networks.into_iter().filter(fits).map(network).collect();
                return Some(Reply::json(200, &json!({"networks": found})));
            }
            let of = wanted("network_id").unwrap_or("n3");
            let subnet = json!({"id": format!("s-{of}"), "name": "s", "network_id": of, "cidr": "10.7.0.0/24", "ip_version": 4});
            path.ends_with("/subnets")
                .then(|| Reply::json(200, &json!({"subnets": [subnet]})))
        })
    }

    async fn find(network: &str) -> (Option<NodeNetwork>, Vec<String>) {
        let session = neutron().session().await.unwrap();
        let mut spec = TemplateSpec::new("image", "flavor");
        spec.fixed_network = Some(network.to_owned());
        let mut problems = Problems::new();
        let plan = NetworkPlan::default();
        let found = node_network(&session, &spec, &plan, &mut problems)
            .await
            .unwrap();
        (found, problems.iter().map(ToString::to_string).collect())
    }

    #[tokio::test]
    async fn tv_07_none_found_and_several_found_are_different_problems() {
        for network in ["only", "n3"] {
            let (found, problems) = find(network).await;
            assert!(problems.is_empty(), "{problems:?}");
            assert!(matches!(found, Some(NodeNetwork::Given { network, .. }) if network == "n3"));
        }
        let (found, several) = find("twin").await;
        assert!(found.is_none() && several.len() == 1, "{several:?}");
        assert!(
            several[0].contains("n1") && several[0].contains("n2"),
            "{several:?}"
        );
        let (found, none) = find("absent").await;
        assert!(found.is_none() && none.len() == 1, "{none:?}");
        assert!(
            none[0].contains("absent") && !none[0].contains("n1"),
            "{none:?}"
        );
    }
}
