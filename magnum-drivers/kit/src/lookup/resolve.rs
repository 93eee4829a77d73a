//! The look-ups of a change.

use std::collections::BTreeMap;
use std::fmt::Display;

use magnum_core::driver::{Change, ClusterView, DriverError};
use magnum_core::{NodeGroup, NodeGroupId, NodeGroupRole, Problems, ServerType};
use magnum_heat::services::glance::{Image, find_image};
use magnum_heat::services::ironic::{ListNodes, Node};
use magnum_heat::services::neutron::{self, Network};
use magnum_heat::services::nova::{Flavor, GetLimits, Limits, ListFlavors, find_keypair};
use magnum_heat::services::octavia::ListProviders;
use magnum_heat::{ServiceType, Session, pick};

use super::capacity::{self, MachineWish};
use super::check::{check_flavor, check_image};
use super::network::node_network;
use super::quota::{self, QuotaNeeds, needs_of};
use crate::fault::cloud_error;
use crate::labels::{DriverLabels, method_for};
use crate::memo::{CloudFacts, GroupFacts, LoadBalancerChoice, NodeNetwork};

/// What was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// For the whole cluster; only for a creation.
    pub cluster: Option<CloudFacts>,
    /// For the groups that get new members.
    pub groups: BTreeMap<NodeGroupId, GroupFacts>,
}

/// Takes a look-up's result: what is not found is noted, what may come back is an error.
pub(super) fn noted<T>(
    result: magnum_heat::Result<T>,
    field: impl Into<String>,
    value: impl Display,
    problems: &mut Problems,
) -> Result<Option<T>, DriverError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.retry() != magnum_heat::Retry::Never => Err(cloud_error(error)),
        Err(error) if error.is_unauthorized() => Err(cloud_error(error)),
        Err(error) => {
            problems.add(field, value, error.to_string());
            Ok(None)
        }
    }
}

/// A question whose refusal by policy only means that we do not know.
fn optional<T>(result: magnum_heat::Result<T>) -> Result<Option<T>, DriverError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.retry() != magnum_heat::Retry::Never => Err(cloud_error(error)),
        Err(_) => Ok(None),
    }
}

/// Finds everything that `change` names and compares the quotas.
///
/// # Errors
/// [`DriverError::Invalid`] with all problems; [`DriverError::Unavailable`] where a service did not answer.
pub async fn resolve(
    session: &Session,
    view: &ClusterView,
    change: &Change,
) -> Result<Found, DriverError> {
    let mut problems = Problems::new();
    let groups: Vec<&NodeGroup> = match change {
        Change::Create => view.node_groups.iter().collect(),
        other => other
            .node_group()
            .and_then(|id| view.node_group(id))
            .into_iter()
            .collect(),
    };
    let create = matches!(change, Change::Create);
    services(session, view, &groups, &mut problems).await?;
    let cluster = if create {
        cluster_facts(session, view, &mut problems).await?
    } else {
        None
    };
    let flavors = if groups.is_empty() {
        Vec::new()
    } else {
        session.send(ListFlavors {}).await.map_err(cloud_error)?
    };
    let limits = optional(session.send(GetLimits {}).await)?;
    let mut found_flavors: BTreeMap<NodeGroupId, Flavor> = BTreeMap::new();
    let mut facts = BTreeMap::new();
    let mut images: BTreeMap<String, Option<Image>> = BTreeMap::new();
    for group in &groups {
        let flavor = match pick(&group.spec.flavor, flavors.clone()) {
            Ok(flavor) => Some(flavor),
            Err(error) => {
                problems.add(
                    field(group, "flavor"),
                    &group.spec.flavor,
                    error.to_string(),
                );
                None
            }
        };
        if !images.contains_key(&group.spec.image) {
            let image = noted(
                find_image(session, &group.spec.image).await,
                field(group, "image"),
                &group.spec.image,
                &mut problems,
            )?;
            images.insert(group.spec.image.clone(), image);
        }
        let image = images.get(&group.spec.image).and_then(Option::as_ref);
        let labels = match DriverLabels::read(&group.spec.labels) {
            Ok(labels) => labels,
            Err(wrong) => {
                problems.absorb(Err(wrong));
                continue;
            }
        };
        if let Some(image) = image {
            check_image(
                image,
                &field(group, "image"),
                &view.cluster.spec.distro,
                &view.cluster.kube_version,
                &mut problems,
            );
        }
        if let Some(flavor) = &flavor {
            check_flavor(
                flavor,
                &field(group, "flavor"),
                group.spec.server_type,
                labels.boot_volume_size,
                &mut problems,
            );
        }
        if let (Some(image), Some(flavor)) = (image, flavor) {
            facts.insert(
                group.id,
                GroupFacts {
                    image: image.id.clone(),
                    image_version: image.property("kube_version").map(str::to_owned),
                    flavor: flavor.id.clone(),
                    server_type: group.spec.server_type,
                    keypair: view.cluster.spec.keypair.clone(),
                    labels,
                    server_group_members: server_group_members(group, limits.as_ref()),
                },
            );
            found_flavors.insert(group.id, flavor);
        }
    }
    if create && let Some(keypair) = &view.cluster.spec.keypair {
        noted(
            find_keypair(session, keypair).await,
            "keypair",
            keypair,
            &mut problems,
        )?;
    }
    let needs = needs_of(view, change);
    quotas(
        session,
        &needs,
        &found_flavors,
        view,
        limits.as_ref(),
        &mut problems,
    )
    .await?;
    machines(session, &groups, &needs, &found_flavors, &mut problems).await?;
    problems.into_result()?;
    Ok(Found {
        cluster,
        groups: facts,
    })
}

fn field(group: &NodeGroup, what: &str) -> String {
    match (group.is_default, group.role) {
        (true, NodeGroupRole::ControlPlane) if what == "flavor" => "master_flavor".to_owned(),
        (true, _) => what.to_owned(),
        (false, _) => format!("node group {} {what}", group.name),
    }
}

fn server_group_members(group: &NodeGroup, limits: Option<&Limits>) -> u32 {
    if group.spec.server_type == ServerType::BareMetal || group.role == NodeGroupRole::ControlPlane
    {
        return 0;
    }
    let Some(limits) = limits else { return 0 };
    let groups_left = limits.max_server_groups < 0
        || limits.max_server_groups - limits.total_server_groups_used >= 2;
    if !groups_left {
        return 0;
    }
    u32::try_from(limits.max_server_group_members).unwrap_or(u32::MAX)
}

async fn services(
    session: &Session,
    view: &ClusterView,
    groups: &[&NodeGroup],
    problems: &mut Problems,
) -> Result<(), DriverError> {
    let mut wanted = vec![(ServiceType::Orchestration, "cloud")];
    if view.cluster.spec.master_lb.enabled {
        wanted.push((ServiceType::LoadBalancer, "master_lb_enabled"));
    }
    let volumes = groups.iter().any(|group| {
        group.spec.server_type == ServerType::Vm
            && group
                .spec
                .labels
                .get("boot_volume_size")
                .is_some_and(|size| size.trim() != "0" && !size.trim().is_empty())
    });
    if volumes {
        wanted.push((ServiceType::BlockStorage, "labels.boot_volume_size"));
    }
    for (service, field) in wanted {
        if !session.has_service(service).await.map_err(cloud_error)? {
            problems.add(
                field,
                service.to_string(),
                format!("the cloud offers no {service} service in its catalog"),
            );
        }
    }
    Ok(())
}

async fn cluster_facts(
    session: &Session,
    view: &ClusterView,
    problems: &mut Problems,
) -> Result<Option<CloudFacts>, DriverError> {
    let spec = &view.cluster.spec;
    let labels = match DriverLabels::read(&view.cluster.labels.effective) {
        Ok(labels) => labels,
        Err(wrong) => {
            problems.absorb(Err(wrong));
            return Ok(None);
        }
    };
    let external = match &spec.external_network {
        None => None,
        Some(name) => {
            let network = noted(
                neutron::find::<Network>(session, name).await,
                "external_network",
                name,
                problems,
            )?;
            if let Some(network) = &network
                && !network.external
            {
                problems.add("external_network", name, "must be an external network");
            }
            network.map(|network| network.id)
        }
    };
    let network = node_network(session, spec, &view.cluster.network, problems).await?;
    let load_balancer = if spec.master_lb.enabled {
        balancer(session, &labels, problems).await?
    } else {
        None
    };
    let floating_ip = if spec.master_lb.enabled {
        spec.master_lb.floating_ip
    } else {
        spec.floating_ip_enabled || spec.master_lb.floating_ip
    };
    let region = session.region().await.map_err(cloud_error)?;
    Ok(network.map(|network| CloudFacts {
        floating_ip: floating_ip && external.is_some(),
        external_network: external.filter(|_| network == NodeNetwork::Made || floating_ip),
        network,
        load_balancer,
        labels,
        region,
    }))
}

async fn balancer(
    session: &Session,
    labels: &DriverLabels,
    problems: &mut Problems,
) -> Result<Option<LoadBalancerChoice>, DriverError> {
    if !session
        .has_service(ServiceType::LoadBalancer)
        .await
        .map_err(cloud_error)?
    {
        return Ok(None);
    }
    let offered: Vec<String> = optional(session.send(ListProviders {}).await)?
        .unwrap_or_default()
        .into_iter()
        .map(|provider| provider.name)
        .collect();
    let provider = match &labels.lb_provider {
        Some(wanted) => {
            if !offered.is_empty() && !offered.contains(wanted) {
                problems.add(
                    "labels.octavia_provider",
                    wanted,
                    format!("the cloud offers {}", offered.join(", ")),
                );
            }
            Some(wanted.clone())
        }
        None => ["amphora", "octavia", "ovn"]
            .into_iter()
            .find(|name| offered.iter().any(|has| has == name))
            .map(str::to_owned)
            .or_else(|| offered.first().cloned()),
    };
    match method_for(provider.as_deref().unwrap_or_default(), labels.lb_method) {
        Ok(method) => Ok(Some(LoadBalancerChoice { provider, method })),
        Err(problem) => {
            problems.add(
                "labels.octavia_lb_algorithm",
                labels.lb_method.map(|m| m.to_string()).unwrap_or_default(),
                problem.to_string(),
            );
            Ok(None)
        }
    }
}

async fn quotas(
    session: &Session,
    needs: &QuotaNeeds,
    flavors: &BTreeMap<NodeGroupId, Flavor>,
    view: &ClusterView,
    limits: Option<&Limits>,
    problems: &mut Problems,
) -> Result<(), DriverError> {
    if let Some(limits) = limits {
        let (mut cores, mut ram) = (0, 0);
        for (group, _, count) in &needs.servers {
            let flavor = view
                .node_groups
                .iter()
                .find(|g| g.name.as_str() == group)
                .and_then(|g| flavors.get(&g.id));
            if let Some(flavor) = flavor {
                cores += flavor.vcpus * count;
                ram += flavor.ram * count;
            }
        }
        for (name, need, limit, used) in [
            (
                "instances",
                needs.server_count(),
                limits.max_total_instances,
                limits.total_instances_used,
            ),
            (
                "cores",
                cores,
                limits.max_total_cores,
                limits.total_cores_used,
            ),
            ("ram", ram, limits.max_total_ram, limits.total_ram_used),
        ] {
            quota::compare("Nova", name, need, limit, used, problems);
        }
    }
    if needs.ports == 0 {
        return Ok(());
    }
    let project = session.project_id().await.map_err(cloud_error)?;
    let network = optional(session.send(neutron::GetQuota { project }).await)?;
    if let Some(quota) = network {
        for (name, need, detail) in [
            ("ports", needs.ports, quota.port),
            ("networks", needs.networks, quota.network),
            ("subnets", needs.subnets, quota.subnet),
            ("routers", needs.routers, quota.router),
            ("floating addresses", needs.floating_ips, quota.floatingip),
            (
                "security groups",
                needs.security_groups,
                quota.security_group,
            ),
        ] {
            quota::compare(
                "Neutron",
                name,
                need,
                detail.limit,
                detail.in_use + detail.reserved,
                problems,
            );
        }
    }
    Ok(())
}

async fn machines(
    session: &Session,
    groups: &[&NodeGroup],
    needs: &QuotaNeeds,
    flavors: &BTreeMap<NodeGroupId, Flavor>,
    problems: &mut Problems,
) -> Result<(), DriverError> {
    let wishes: Vec<MachineWish<'_>> = groups
        .iter()
        .filter(|group| group.spec.server_type == ServerType::BareMetal)
        .filter_map(|group| {
            let more = needs
                .servers
                .iter()
                .find(|(name, _, _)| name == group.name.as_str())
                .map_or(0, |(_, _, count)| *count);
            Some(MachineWish {
                group: group.name.as_str(),
                flavor: flavors.get(&group.id)?,
                more: u32::try_from(more).unwrap_or(u32::MAX),
            })
        })
        .filter(|wish| wish.more > 0)
        .collect();
    if wishes.is_empty()
        || !session
            .has_service(ServiceType::BareMetal)
            .await
            .map_err(cloud_error)?
    {
        return Ok(());
    }
    let project = session.project_id().await.map_err(cloud_error)?;
    // Most projects may list no machines, or only those on lease to them: then the scheduler decides, and its answer becomes the cause.
    let nodes = optional(
        session
            .send(ListNodes {
                resource_class: None,
            })
            .await,
    )?;
    let sees_others = |node: &Node| node.lessee.as_deref() != Some(project.as_str());
    if let Some(nodes) = nodes.filter(|nodes| nodes.iter().any(sees_others)) {
        capacity::compare(&wishes, &nodes, problems);
    }
    Ok(())
}
