//! `kubeadm init`: the cluster comes into being.

use std::sync::Arc;

use super::cluster::Cluster;
use super::init_objects;
use super::node_api::NodeApi;
use super::openstack::Server;
use super::preflight::{Failure, Plan};
use super::registration::{node_object, static_pods};
use super::shared::Shared;
use super::state::{ClusterRecord, Phase};
use crate::kubernetes::{ApiServerConfig, Identity, Key};

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new("E22", format!("kubeadm init failed: {why}"))
}

/// Starts the cluster's API and registers its first node.
pub(crate) async fn init(
    shared: &Arc<Shared>,
    server: &Server,
    plan: &Plan,
) -> Result<(), Failure> {
    let cluster = found(shared, server, plan).await?;
    init_objects::create(cluster.core(), plan).map_err(failed)?;
    let identity = Identity::new(
        &format!("system:node:{}", plan.env.node_name),
        &["system:nodes"],
    );
    let api = NodeApi::Local {
        core: cluster.core().clone(),
        identity,
    };
    register(shared, &cluster, &api, server, plan)
        .await
        .map_err(failed)
}

/// The cluster of this node: a new one, or the one a bootstrap before a restart began.
async fn found(
    shared: &Arc<Shared>,
    server: &Server,
    plan: &Plan,
) -> Result<Arc<Cluster>, Failure> {
    let id = &plan.env.cluster_id;
    let spec = plan
        .documents
        .cluster
        .as_ref()
        .ok_or_else(|| failed("no ClusterConfiguration"))?;
    let material = plan.material.clone().ok_or_else(|| failed("no CA"))?;
    let mut clusters = shared.clusters.write().await;
    if let Some(running) = clusters.get(id).cloned() {
        let others = shared.state().servers.values().any(|r| {
            r.cluster_id == *id
                && r.server_id != server.id
                && r.phase == Phase::Joined
                && !r.deleted
                && r.role.is_some_and(|r| r.is_control_plane())
        });
        if others {
            return Err(failed(format!(
                "a control plane answers at {} already",
                plan.env.endpoint()
            )));
        }
        let same = shared
            .state()
            .clusters
            .get(id)
            .is_some_and(|c| c.api.material.ca_cert == material.ca_cert);
        let known = Key::new("nodes", "", &plan.env.node_name);
        if same
            && (running.core().store.count("nodes") == 0
                || running.core().store.get(&known).is_some())
        {
            return Ok(running);
        }
        clusters.remove(id);
        if let Some(journal) = &shared.journal {
            let _ = std::fs::remove_file(journal.objects(id));
        }
    }
    let mut names = vec![plan.env.endpoint_host.clone()];
    names.extend(spec.api_server.cert_sans.iter().cloned());
    let mut serving = names.clone();
    serving.extend([
        plan.own_address.to_string(),
        plan.env.node_name.clone(),
        "localhost".into(),
        "127.0.0.1".into(),
    ]);
    let services = spec
        .networking
        .service_subnet
        .as_deref()
        .unwrap_or("10.96.0.0/12");
    let services = services.split(',').find_map(|r| r.parse().ok());
    let record = ClusterRecord {
        id: id.clone(),
        host: plan.env.endpoint_host.clone(),
        port: plan.env.endpoint_port,
        names,
        api: ApiServerConfig {
            material,
            names: serving,
            version: plan.env.kube_version.clone(),
            services: services.ok_or_else(|| failed("no IPv4 service range"))?,
            journal: shared.journal.as_ref().map(|j| j.objects(id)),
        },
        members: vec![plan.env.node_name.clone()],
    };
    let cluster = Arc::new(Cluster::start(&record).await.map_err(failed)?);
    shared.change(|s| s.clusters.insert(id.clone(), record));
    // The CA must be on disk before the API answers anybody.
    shared.save();
    clusters.insert(id.clone(), cluster.clone());
    Ok(cluster)
}

/// Creates the Node (or takes its own one up again after a restart), the static pods, and the route.
pub(crate) async fn register(
    shared: &Arc<Shared>,
    cluster: &Arc<Cluster>,
    api: &NodeApi,
    server: &Server,
    plan: &Plan,
) -> Result<(), String> {
    let name = &plan.env.node_name;
    let node = node_object(plan, &server.id)?;
    let answer = api
        .call(http::Method::POST, "/api/v1/nodes", Some(&node))
        .await
        .map_err(|e| format!("{e:?}"))?;
    let stored = cluster.core().store.get(&Key::new("nodes", "", name));
    let mine = stored
        .as_ref()
        .is_some_and(|n| n["metadata"]["annotations"]["simulator/server-id"] == server.id.as_str());
    match answer {
        (201, _) => {}
        (409, _) if mine => {}
        (status, body) => {
            return Err(format!(
                "registering the node: {status} {}",
                body["message"]
            ));
        }
    }
    let stored = stored.ok_or("the node vanished")?;
    if plan.env.role.is_control_plane() {
        static_pods(cluster.core(), &stored, &plan.env.kube_version)?;
        cluster.core().set_version(&plan.env.kube_version);
    }
    let record = shared.change(|s| {
        if let Some(r) = s.servers.get_mut(&server.id) {
            r.phase = Phase::Joined;
            r.reason.clear();
        }
        let record = s.clusters.get_mut(&cluster.id)?;
        if plan.env.role.is_control_plane() {
            record.api.version.clone_from(&plan.env.kube_version);
            if !record.members.contains(name) {
                record.members.push(name.clone());
            }
        }
        Some(record.clone())
    });
    if let Some(record) = record {
        shared.refresh_route(&record, cluster);
    }
    Ok(())
}
