//! Machines and virtual machines in one cluster.

use std::time::Duration;

use magnum_core::{
    ClusterName, LoadBalancerSettings, NewCluster, NewNodeGroup, NodeGroupName, Resize, ServerType,
    TemplateSpec,
};
use magnum_examples::GivenNetwork;
use magnum_heat::services::{ironic, neutron};

use super::lifecycle::ready;
use crate::{Bench, Failure};

/// How often the given network is looked at while it comes and goes.
const POLL: Duration = Duration::from_millis(500);

/// A bare metal group of two joins a cluster of virtual machines on a given network, and goes (rule `BM-06`).
///
/// # Errors
/// Whatever does not hold.
pub async fn bare_metal_group_in_a_vm_cluster(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let network = GivenNetwork::make(&bench.project.session, POLL).await?;
    let mut spec = bench.cloud.spec();
    spec.fixed_network = Some(network.name().to_owned());
    let template = bench.template(spec).await?;
    let new = NewCluster::new(ClusterName::new("mixed")?, template.id.to_string());
    let accepted = engine.create_cluster(caller, new).await?;
    let id = accepted.cluster.id;
    bench.succeeds(&accepted).await?;

    let mut group = NewNodeGroup::new(NodeGroupName::new("metal")?);
    group.node_count = 2;
    group.flavor = Some("baremetal".to_owned());
    group.image = Some("ubuntu-k8s-bm-v1.36".to_owned());
    group.server_type = Some(ServerType::BareMetal);
    bench
        .succeeds(&engine.create_node_group(caller, id, group).await?)
        .await?;
    let metal = engine.node_group(caller, id, "metal").await?;
    ready(&metal, 2);
    for member in &metal.members {
        let server = member
            .server_id
            .as_deref()
            .ok_or("a ready member has a server")?;
        let machine = ironic::node_of_server(&bench.cloud.admin, server).await?;
        assert!(machine.is_some(), "{} runs on a machine", member.name);
    }

    bench
        .succeeds(&engine.delete_node_group(caller, id, "metal").await?)
        .await?;
    bench
        .succeeds(&engine.delete_cluster(caller, id).await?)
        .await?;
    // What was given stays.
    neutron::find::<neutron::Network>(&bench.project.session, network.name()).await?;
    network.remove(&bench.project.session, POLL).await?;
    bench.end().await
}

/// A cluster of machines only, control plane included, without a load balancer: the driver for machines, on a given network (rules
/// `BM-01`, `BM-07`).
///
/// # Errors
/// Whatever does not hold.
pub async fn cluster_of_machines(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let network = GivenNetwork::make(&bench.project.session, POLL).await?;
    let mut spec = TemplateSpec::new("ubuntu-k8s-bm-v1.36", "baremetal");
    spec.server_type = ServerType::BareMetal;
    spec.fixed_network = Some(network.name().to_owned());
    spec.master_lb = LoadBalancerSettings {
        enabled: false,
        floating_ip: false,
    };
    let template = bench.template(spec).await?;
    let new = NewCluster::new(ClusterName::new("metal")?, template.id.to_string());
    let accepted = engine.create_cluster(caller, new).await?;
    let id = accepted.cluster.id;
    assert_eq!(accepted.cluster.driver, "k8s-ironic");
    bench.succeeds(&accepted).await?;
    for group in engine.node_groups(caller, id).await? {
        ready(&group, 1);
    }
    bench
        .succeeds(&engine.resize(caller, id, Resize::to(2)).await?)
        .await?;
    ready(&engine.node_group(caller, id, "default-worker").await?, 2);
    bench
        .succeeds(&engine.delete_cluster(caller, id).await?)
        .await?;
    network.remove(&bench.project.session, POLL).await?;
    bench.end().await
}
