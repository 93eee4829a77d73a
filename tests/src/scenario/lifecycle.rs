//! The whole life of a cluster of three control-plane nodes and five workers.

use std::collections::BTreeSet;

use magnum_core::{ClusterName, MemberPhase, NewCluster, NodeGroup, Resize, Status};

use crate::{Bench, Failure};

/// Create 3 + 5, resize up and down, remove a named node, replace another, delete; nothing is left.
///
/// # Errors
/// Whatever does not hold.
pub async fn three_and_five(bench: Bench) -> Result<(), Failure> {
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let template = bench.template(bench.cloud.spec()).await?;
    let mut new = NewCluster::new(ClusterName::new("Prod_3.5")?, template.id.to_string());
    new.master_count = 3;
    new.node_count = 5;
    let accepted = engine.create_cluster(caller, new).await?;
    let id = accepted.cluster.id;
    bench.succeeds(&accepted).await?;
    assert_eq!(
        engine.cluster(caller, id).await?.status,
        Status::CREATE_COMPLETE
    );
    let five = ready(&workers(&bench, id).await?, 5);

    bench
        .succeeds(&engine.resize(caller, id, Resize::to(7)).await?)
        .await?;
    let seven = ready(&workers(&bench, id).await?, 7);
    assert!(
        seven.is_superset(&five),
        "growing keeps every node: {five:?} {seven:?}"
    );

    let gone = five.first().expect("there are five").clone();
    let shrink = Resize::to(4).removing([gone.as_str()]);
    bench
        .succeeds(&engine.resize(caller, id, shrink).await?)
        .await?;
    let four = ready(&workers(&bench, id).await?, 4);
    assert!(
        !four.contains(&gone) && four.is_subset(&seven),
        "{gone} goes, nothing new comes: {four:?}"
    );

    let old = four.first().expect("there are four").clone();
    bench
        .succeeds(&engine.replace_node(caller, id, old.as_str()).await?)
        .await?;
    let replaced = ready(&workers(&bench, id).await?, 4);
    assert!(!replaced.contains(&old));
    assert_eq!(
        replaced.intersection(&four).count(),
        3,
        "only the named node is replaced: {replaced:?}"
    );
    assert_eq!(
        engine.cluster(caller, id).await?.status,
        Status::UPDATE_COMPLETE
    );

    bench
        .succeeds(&engine.delete_cluster(caller, id).await?)
        .await?;
    bench.end().await
}

async fn workers(bench: &Bench, id: magnum_core::ClusterId) -> Result<NodeGroup, Failure> {
    Ok(bench
        .engine
        .node_group(&bench.project.caller, id, "default-worker")
        .await?)
}

/// The names of the group's nodes, all of which are ready.
pub(super) fn ready(group: &NodeGroup, count: usize) -> BTreeSet<String> {
    let members = &group.members;
    assert!(
        members.iter().all(|m| m.phase == MemberPhase::Ready),
        "{members:?}"
    );
    assert_eq!(members.len(), count, "{members:?}");
    members.iter().map(|member| member.name.clone()).collect()
}
