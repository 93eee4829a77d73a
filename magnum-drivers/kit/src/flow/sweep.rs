//! What a cluster made by itself, and what is left of it: found by its mark and by the names that its own controllers give.

use magnum_core::driver::{DriverError, Leftover};
use magnum_heat::services::cinder::{DeleteVolume, ListVolumes, Volume};
use magnum_heat::services::keystone::ListApplicationCredentials;
use magnum_heat::services::neutron::{
    self, FloatingIp, ListItems, Network, Port, Router, SecurityGroup, Subnet,
};
use magnum_heat::services::nova::{ListServerGroups, ListServers, list_servers};
use magnum_heat::services::octavia::{DeleteLoadBalancer, ListLoadBalancers, LoadBalancer};
use magnum_heat::stack::{ListStacks, list_stacks};
use magnum_heat::{Named, ServiceType, Session};

use super::round::Round;
use crate::fault::cloud_error;
use crate::members::Names;
use crate::stacks::Mark;

/// Where Cinder's volume plugin notes the cluster.
const CSI_CLUSTER: &str = "cinder.csi.openstack.org/cluster";

/// Whether a load balancer was made by the cluster's cloud controller.
fn made_by_cluster(balancer: &LoadBalancer, cluster: &str) -> bool {
    balancer
        .name
        .starts_with(&format!("kube_service_{cluster}_"))
        || balancer
            .description
            .ends_with(&format!("from cluster {cluster}"))
}

async fn offers(session: &Session, service: ServiceType) -> Result<bool, DriverError> {
    session.has_service(service).await.map_err(cloud_error)
}

/// Asks for the deletion of the cluster's own load balancers; gives how many are still there.
///
/// One that is pending is waited for, one in error is deleted like any other (rule `NL-03`).
pub(super) async fn sweep_load_balancers(round: &Round<'_>) -> Result<usize, DriverError> {
    if !offers(&round.session, ServiceType::LoadBalancer).await? {
        return Ok(0);
    }
    let cluster = round.names.cloud_controller();
    let all = round
        .session
        .send(ListLoadBalancers { filters: vec![] })
        .await
        .map_err(cloud_error)?;
    let mine: Vec<LoadBalancer> = all
        .into_iter()
        .filter(|balancer| made_by_cluster(balancer, &cluster))
        .collect();
    for balancer in &mine {
        if matches!(balancer.provisioning_status.as_str(), "ACTIVE" | "ERROR") {
            let gone = round
                .session
                .send(DeleteLoadBalancer {
                    id: balancer.id.clone(),
                    cascade: true,
                })
                .await;
            match gone {
                Err(error) if !error.is_not_found() && !error.is_conflict() => {
                    return Err(cloud_error(error));
                }
                _ => {}
            }
        }
    }
    // Floating addresses of services go with their load balancers (rule `NL-02`: only those that name this cluster).
    if mine.is_empty() {
        let floating: Vec<FloatingIp> =
            neutron::list(&round.session, ListItems::<FloatingIp>::new())
                .await
                .map_err(cloud_error)?;
        for address in floating
            .iter()
            .filter(|a| a.description.ends_with(&format!("from cluster {cluster}")))
        {
            neutron::delete::<FloatingIp>(&round.session, &address.id)
                .await
                .map_err(cloud_error)?;
        }
    }
    Ok(mine.len())
}

/// Deletes security groups that the cluster's cloud controller made.
pub(super) async fn sweep_security_groups(round: &Round<'_>) -> Result<usize, DriverError> {
    let cluster = round.names.cloud_controller();
    let groups: Vec<SecurityGroup> =
        neutron::list(&round.session, ListItems::<SecurityGroup>::new())
            .await
            .map_err(cloud_error)?;
    for group in groups
        .iter()
        .filter(|g| g.description.ends_with(&format!("in cluster {cluster}")))
    {
        match neutron::delete::<SecurityGroup>(&round.session, &group.id).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => {
                return Err(cloud_error(error));
            }
            _ => {}
        }
    }
    Ok(0)
}

/// Deletes volumes that the cluster's pods had; gives how many are still there.
pub(super) async fn sweep_volumes(round: &Round<'_>) -> Result<usize, DriverError> {
    if !offers(&round.session, ServiceType::BlockStorage).await? {
        return Ok(0);
    }
    let cluster = round.names.cloud_controller();
    let all = round
        .session
        .send(ListVolumes { filters: vec![] })
        .await
        .map_err(cloud_error)?;
    let mine: Vec<Volume> = all
        .into_iter()
        .filter(|volume| volume.metadata.get(CSI_CLUSTER) == Some(&cluster))
        .collect();
    for volume in &mine {
        if matches!(volume.status.as_str(), "available" | "error") {
            let gone = round
                .session
                .send(DeleteVolume {
                    id: volume.id.clone(),
                })
                .await;
            match gone {
                Err(error) if !error.is_not_found() && !error.is_conflict() => {
                    return Err(cloud_error(error));
                }
                _ => {}
            }
        }
    }
    Ok(mine.len())
}

/// Lists everything that carries the cluster's mark, service by service (rule `OP-06`).
///
/// A service that the session may not list is left out.
pub(crate) async fn leftovers(
    session: &Session,
    names: &Names,
    mark: &Mark,
) -> Result<Vec<Leftover>, DriverError> {
    let mut found = Vec::new();
    let mut add = |kind: &str, id: &str, name: &str| {
        found.push(Leftover {
            kind: kind.to_owned(),
            id: id.to_owned(),
            name: name.to_owned(),
        });
    };
    let tag = mark.as_str();
    let stacks = allowed(list_stacks(session, ListStacks::new().with_tags([tag])).await)?;
    for stack in stacks.iter().filter(|stack| !stack.status.is_gone()) {
        add("stack", &stack.id, &stack.name);
    }
    let servers = allowed(list_servers(session, ListServers::new()).await)?;
    for server in servers
        .iter()
        .filter(|s| s.metadata.get("magnum_cluster").map(String::as_str) == Some(tag))
    {
        add("server", &server.id, &server.name);
    }
    let prefix = names.resource("");
    let groups = allowed(session.send(ListServerGroups {}).await)?;
    for group in groups.iter().filter(|g| g.name.starts_with(&prefix)) {
        add("server group", &group.id, &group.name);
    }
    for port in tagged::<Port>(session, tag).await? {
        add("port", &port.id, &port.name);
    }
    for network in tagged::<Network>(session, tag).await? {
        add("network", &network.id, &network.name);
    }
    for subnet in tagged::<Subnet>(session, tag).await? {
        add("subnet", &subnet.id, &subnet.name);
    }
    for router in tagged::<Router>(session, tag).await? {
        add("router", &router.id, &router.name);
    }
    let cluster = names.cloud_controller();
    let groups = allowed(neutron::list(session, ListItems::<SecurityGroup>::new()).await)?;
    for group in groups
        .iter()
        .filter(|g| mark.is_in(&g.description) || g.description.contains(&cluster))
    {
        add("security group", &group.id, &group.name);
    }
    let floating = allowed(neutron::list(session, ListItems::<FloatingIp>::new()).await)?;
    for address in floating
        .iter()
        .filter(|a| mark.is_in(&a.description) || a.description.contains(&cluster))
    {
        add("floating address", &address.id, address.address());
    }
    if offers(session, ServiceType::LoadBalancer).await? {
        let all = allowed(session.send(ListLoadBalancers { filters: vec![] }).await)?;
        for balancer in all
            .iter()
            .filter(|b| mark.is_in(&b.description) || made_by_cluster(b, &cluster))
        {
            add("load balancer", &balancer.id, &balancer.name);
        }
    }
    if offers(session, ServiceType::BlockStorage).await? {
        let all = allowed(session.send(ListVolumes { filters: vec![] }).await)?;
        for volume in all.iter().filter(|v| {
            v.metadata.get(CSI_CLUSTER) == Some(&cluster)
                || v.metadata.get("magnum_cluster").map(String::as_str) == Some(tag)
        }) {
            add("volume", &volume.id, volume.name());
        }
    }
    let user = session.user_id().await.map_err(cloud_error)?;
    let credentials = allowed(
        session
            .send(ListApplicationCredentials { user, name: None })
            .await,
    )?;
    for credential in credentials.iter().filter(|c| c.name.starts_with(tag)) {
        add("application credential", &credential.id, &credential.name);
    }
    Ok(found)
}

async fn tagged<T: neutron::Item>(session: &Session, tag: &str) -> Result<Vec<T>, DriverError> {
    allowed(neutron::list(session, ListItems::<T>::new().with_tag(tag)).await)
}

/// What the session may not list is nothing to it.
fn allowed<T>(result: magnum_heat::Result<Vec<T>>) -> Result<Vec<T>, DriverError> {
    match result {
        Ok(found) => Ok(found),
        Err(error) if error.status().is_some_and(|status| status.as_u16() == 403) => Ok(Vec::new()),
        Err(error) => Err(cloud_error(error)),
    }
}
