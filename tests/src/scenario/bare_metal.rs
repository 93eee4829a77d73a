//! Machines and virtual machines in one cluster.

use std::time::Duration;

use magnum_core::{
    ClusterName, LoadBalancerSettings, NewCluster, NewNodeGroup, NodeGroupName, Resize, ServerType,
    TemplateSpec,
};
use magnum_heat::hot::Document;
use magnum_heat::services::{ironic, neutron};
use magnum_heat::stack::{
    CreateStack, DeleteStack, DeleteWait, ShowStack, StackContent, StackRef, wait_deleted,
};

use super::lifecycle::ready;
use crate::{Bench, Failure};

/// A network with a way out, as a project has it before any cluster.
const GIVEN: &str = r#"{
  "heat_template_version": "2021-04-16",
  "resources": {
    "network": {"type": "OS::Neutron::Net", "properties": {"name": "given"}},
    "subnet": {"type": "OS::Neutron::Subnet", "properties": {
      "name": "given", "network": {"get_resource": "network"}, "cidr": "10.20.0.0/24"}},
    "router": {"type": "OS::Neutron::Router", "properties": {
      "name": "given", "external_gateway_info": {"network": "public"}}},
    "interface": {"type": "OS::Neutron::RouterInterface", "properties": {
      "router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}}}
  }
}"#;

/// A bare metal group of two joins a cluster of virtual machines on a given network, and goes (rule `BM-06`).
///
/// # Errors
/// Whatever does not hold.
pub async fn bare_metal_group_in_a_vm_cluster(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let network = make_network(&bench).await?;
    let mut spec = bench.cloud.spec();
    spec.fixed_network = Some("given".to_owned());
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
    neutron::find::<neutron::Network>(&bench.project.session, "given").await?;
    remove_network(&bench, network).await?;
    bench.end().await
}

/// A cluster of machines only, control plane included, without a load balancer: the driver for machines, on a given network (rules
/// `BM-01`, `BM-07`).
///
/// # Errors
/// Whatever does not hold.
pub async fn cluster_of_machines(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let network = make_network(&bench).await?;
    let mut spec = TemplateSpec::new("ubuntu-k8s-bm-v1.36", "baremetal");
    spec.server_type = ServerType::BareMetal;
    spec.fixed_network = Some("given".to_owned());
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
    remove_network(&bench, network).await?;
    bench.end().await
}

async fn make_network(bench: &Bench) -> Result<StackRef, Failure> {
    let session = &bench.project.session;
    let content = StackContent::new(Document::parse(GIVEN)?);
    let created = session.send(CreateStack::new("given", content)).await?;
    let stack = created.stack;
    for _ in 0..240 {
        let shown = session.send(ShowStack::new(stack.clone())).await?;
        if !shown.status.is_in_progress() {
            assert_eq!(
                shown.status.to_string(),
                "CREATE_COMPLETE",
                "{}",
                shown.status_reason
            );
            return Ok(stack);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err("the given network was not made in two minutes".into())
}

async fn remove_network(bench: &Bench, stack: StackRef) -> Result<(), Failure> {
    let session = &bench.project.session;
    session
        .send(DeleteStack {
            stack: stack.clone(),
        })
        .await?;
    let wait = DeleteWait::new(None, Duration::from_secs(30));
    wait_deleted(
        session,
        &stack,
        wait,
        Duration::from_millis(500),
        Duration::from_secs(120),
    )
    .await?;
    Ok(())
}
