//! Who may do what, and how much: a policy of one's own, limits of a project, and what a refusal looks like.
//!
//! `cargo run -p magnum-examples --example policy_and_quota`

use std::sync::Arc;

use magnum_certs::{Envelope, SealingKey};
use magnum_core::driver::ChangeKind;
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::{MemoryStore, Quota};
use magnum_core::{
    ClusterName, Deed, Engine, Error, MagnumPolicy, NewCluster, NewClusterTemplate, Policy,
    ProjectId, RequestContext, TemplateName, TemplateSpec,
};

/// Magnum's defaults, and only who has the role `cluster-owner` may delete clusters.
#[derive(Debug)]
struct OwnersDelete;

impl Policy for OwnersDelete {
    fn allows(&self, cx: &RequestContext, deed: Deed, owner: &ProjectId) -> bool {
        if deed == Deed::Change(ChangeKind::Delete) && !cx.is_admin && !cx.has_role("cluster-owner")
        {
            return false;
        }
        MagnumPolicy.allows(cx, deed, owner)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder()
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Envelope::new(SealingKey::generate()?)))
        .driver(Arc::new(MemoryDriver::new(MemoryCloud::new())))
        .policy(Arc::new(OwnersDelete))
        .build()?;
    let operator = RequestContext::new("operators", "olga").as_admin();
    let alice = RequestContext::new("shop", "alice");
    let bob = RequestContext::new("lab", "bob");
    let reader = RequestContext::new("shop", "rita").with_roles(["reader"]);
    let owner = RequestContext::new("shop", "otto").with_roles(["member", "cluster-owner"]);

    // The operators publish a template; the project may have two clusters with nine nodes in all. Zero would mean none.
    let mut spec = TemplateSpec::new("ubuntu", "m1.small");
    spec.external_network = Some("public".to_owned());
    let template = NewClusterTemplate {
        name: TemplateName::new("small")?,
        spec,
        public: true,
        hidden: false,
    };
    engine.create_cluster_template(&operator, template).await?;
    let quota = Quota {
        clusters: Some(2),
        nodes: Some(9),
        ..Quota::default()
    };
    engine
        .set_quota(&operator, &alice.project_id, Some(quota))
        .await?;

    let cluster = |name: &str, workers| -> Result<NewCluster, Error> {
        let mut new = NewCluster::new(ClusterName::new(name)?, "small");
        new.node_count = workers;
        Ok(new)
    };
    engine.create_cluster(&alice, cluster("one", 3)?).await?;

    let mut refused = 0;
    let mut expect = |what: &str, result: Result<(), Error>| match result {
        Ok(()) => println!("{what}: allowed"),
        Err(error) => {
            refused += 1;
            println!("{what}: {error}");
        }
    };
    let too_large = engine.create_cluster(&alice, cluster("two", 8)?).await;
    expect(
        "alice makes a cluster of 9 beside one of 4",
        too_large.map(drop),
    );
    let fits = engine.create_cluster(&alice, cluster("two", 4)?).await;
    expect("alice makes a cluster of 5 beside it", fits.map(drop));
    let third = engine.create_cluster(&alice, cluster("three", 0)?).await;
    expect("alice makes a third cluster", third.map(drop));
    let written = engine.create_cluster(&reader, cluster("four", 1)?).await;
    expect("rita, who only reads, makes a cluster", written.map(drop));
    let raised = engine.set_quota(&alice, &alice.project_id, None).await;
    expect("alice lifts her project's limits", raised);
    // What belongs to another project does not even look forbidden: it looks absent, by name and by id.
    let seen = engine.cluster(&bob, "one").await;
    expect("bob of another project looks at it", seen.map(drop));
    let deleted = engine.delete_cluster(&alice, "one").await;
    expect("alice deletes it", deleted.map(drop));
    let deleted = engine.delete_cluster(&owner, "one").await;
    expect("otto, who owns clusters, deletes it", deleted.map(drop));

    let (limits, used) = engine.quota(&alice, &alice.project_id).await?;
    println!("project {}: {used:?} of {limits:?}", alice.project_id);
    println!("policy_and_quota: {refused} refused");
    Ok(())
}
