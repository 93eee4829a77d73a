//! What a creation of three control-plane nodes and five workers costs, with the intervals that are the default.

use std::collections::BTreeMap;
use std::sync::Arc;

use magnum_core::{ClusterName, EventKind, MemberPhase, NewCluster};
use magnum_driver_kit::PollIntervals;
use magnum_embedded_cloud::openstack::requests::RequestLine;
use magnum_tests::{Bench, Failure, QuickClock, TestCloud};

/// What Heat may be asked, polls aside (design section 10).
const HEAT_REQUESTS: usize = 12;

/// With looks as rare as by default every member is built once and none fails: a node that is first seen together with others is still what
/// it was rendered as. By the cloud's own ledger and log: eight servers, one login, few requests.
#[tokio::test(flavor = "multi_thread")]
async fn a_creation_of_3_and_5_replaces_no_node_and_asks_heat_little() -> Result<(), Failure> {
    let mut cloud = TestCloud::embedded().await?;
    cloud.polls = PollIntervals::default();
    cloud.clock = Arc::new(QuickClock::new(10));
    let bench = Bench::start(cloud, "creation").await?;
    let (engine, caller) = (&bench.engine, &bench.project.caller);
    let template = bench.template(bench.cloud.spec()).await?;
    let openstack = bench.cloud.inside().ok_or("it is embedded")?.openstack();
    let asked_before = openstack.requests().all().len();

    let mut new = NewCluster::new(ClusterName::new("prod")?, template.id.to_string());
    new.master_count = 3;
    new.node_count = 5;
    let accepted = engine.create_cluster(caller, new).await?;
    bench.succeeds(&accepted).await?;

    let asked = openstack.requests().all();
    let own = |line: &&RequestLine| line.user_id.as_deref() == Some(caller.user_id.as_str());
    let logins = asked.iter().filter(own).filter(|line| is_login(line));
    assert_eq!(logins.count(), 1, "one login");
    let heat: Vec<_> = asked[asked_before..]
        .iter()
        .filter(own)
        .filter(|line| line.service == "heat")
        .collect();
    let (polls, requests): (Vec<_>, Vec<_>) = heat.into_iter().partition(|line| is_poll(line));
    println!("Heat: {} requests, {} polls", requests.len(), polls.len());
    assert!(requests.len() <= HEAT_REQUESTS, "{requests:#?}");

    let events = engine.events(caller, 0, u32::MAX).await?;
    for event in &events {
        if let EventKind::MemberChanged {
            name, to, reason, ..
        } = &event.kind
        {
            let bad = matches!(to, None | Some(MemberPhase::Failed | MemberPhase::Leaving));
            assert!(!bad, "{name} became {to:?}: {reason:?}");
        }
    }
    let mut servers = BTreeMap::<_, usize>::new();
    for line in openstack.ledger().entries() {
        if line.kind == "server" && line.project_id == bench.project.id {
            *servers.entry(line.action).or_default() += 1;
        }
    }
    assert_eq!(servers, BTreeMap::from([("create".to_owned(), 8)]));

    let deleted = engine.delete_cluster(caller, accepted.cluster.id).await?;
    bench.succeeds(&deleted).await?;
    bench.end().await
}

fn is_login(line: &RequestLine) -> bool {
    line.service == "keystone" && line.method == "POST" && line.path.ends_with("/auth/tokens")
}

/// A look whether a stack is there yet, or at what a node has signalled.
fn is_poll(line: &RequestLine) -> bool {
    // /v1/PROJECT/stacks/NAME/ID, and below it /resources/RESOURCE
    let parts: Vec<_> = line.path.trim_matches('/').split('/').collect();
    line.method == "GET"
        && match parts[..] {
            [_, _, "stacks", _, _] => true,
            [_, _, "stacks", _, _, "resources", resource, ..] => resource.starts_with("signal_"),
            _ => false,
        }
}
