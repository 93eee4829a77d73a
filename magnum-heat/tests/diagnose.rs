//! The diagnosis on recorded failures of a real Heat.

#![allow(clippy::unwrap_used)]

use chrono::{DateTime, Utc};
use magnum_heat::{
    StackStatus,
    diagnose::{Cause, CauseKind, causes},
    event::Event,
    resource::Resource,
    stack::Stack,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn load<T: DeserializeOwned>(name: &str, key: &str) -> T {
    let path = format!(
        "{}/../tests/fixtures/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    serde_json::from_value(value["body"][key].take()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn diagnose(name: &str) -> Vec<Cause> {
    let stack: Stack = load(&format!("heat-{name}-stack-show"), "stack");
    let events: Vec<Event> = load(&format!("heat-{name}-events-depth5"), "events");
    let resources: Vec<Resource> = load(&format!("heat-{name}-resources-depth5"), "resources");
    causes(
        &stack.reference(),
        stack.updated.or(stack.created),
        &resources,
        &events,
    )
}

#[test]
fn op_01_quota_is_found_at_the_deepest_resource() {
    let all = diagnose("quota-create-failed");
    let cause = &all[0];
    let CauseKind::Quota(q) = &cause.kind else {
        panic!("{cause:?}")
    };
    assert_eq!(
        (q.resource.as_str(), q.requested, q.limit),
        ("instances", Some(1), Some(32))
    );
    assert_eq!(cause.path.first().map(String::as_str), Some("workers"));
    assert_eq!(cause.resource(), "server");
    assert_eq!(cause.path.len(), 3, "{all:#?}");
    assert!(cause.to_string().contains("instances 3"), "{cause}");
    assert!(all.iter().all(|c| c.path.len() == 3), "{all:#?}");
}

#[test]
fn op_01_quota_of_an_update_is_not_that_of_the_create_before() {
    let all = diagnose("quota-update-failed");
    let CauseKind::Quota(q) = &all[0].kind else {
        panic!("{all:?}")
    };
    assert_eq!((q.used, q.limit), (Some(34), Some(34)));
    assert!(["4", "5"].contains(&all[0].path[1].as_str()), "{all:#?}");
    assert_eq!(all[0].resource_type.as_deref(), Some("OS::Nova::Server"));
}

#[test]
fn no_valid_host_wait_conditions_and_load_balancer() {
    let cause = &diagnose("novalidhost")[0];
    assert_eq!(
        (cause.kind.clone(), cause.path.join("/")),
        (CauseKind::NoValidHost, "workers/0/server".to_owned())
    );
    assert_eq!(cause.message, "No valid host was found.");
    let cause = &diagnose("waitcondition-failure")[0];
    assert_eq!(
        (cause.kind.clone(), cause.message.as_str()),
        (CauseKind::SignalFailure, "kubelet did not start")
    );
    let cause = &diagnose("waitcondition-timeout")[0];
    assert_eq!(
        (cause.kind.clone(), cause.message.as_str()),
        (CauseKind::Timeout, "0 of 2 received")
    );

    let stack: Stack = load("heat-octavia-ovn-round-robin-stack-show", "stack");
    let events: Vec<Event> = load("heat-octavia-ovn-round-robin-events", "events");
    let cause = &causes(&stack.reference(), stack.created, &[], &events)[0];
    assert_eq!(
        (cause.kind.clone(), cause.path.join("/")),
        (CauseKind::LoadBalancer, "pool".to_owned())
    );
    assert!(cause.request_id.is_some());
}

fn event(id: usize, time: &str, name: &str, physical: &str, status: &str, reason: &str) -> Event {
    let href = |rest: &str| format!("http://h/v1/p/stacks/cluster/root{rest}");
    serde_json::from_value(json!({
        "id": id.to_string(), "event_time": format!("2026-12-01T{time}Z"), "resource_name": name,
        "physical_resource_id": physical, "resource_status": status, "resource_status_reason": reason,
        "links": [{"rel": "stack", "href": href("")}, {"rel": "root_stack", "href": href("")}],
    }))
    .unwrap()
}

#[test]
fn op_02_the_first_real_cause_wins_over_followers() {
    let failed = "CREATE_FAILED";
    let aborted =
        "CREATE aborted (Task create from Server \"server2\" Stack \"cluster\" [x] cancelled)";
    let host = "ResourceInError: resources.server1: Went to status ERROR due to \"Message: No valid host was found. , Code: 500\"";
    let events = [
        event(1, "10:02:05", "server2", "b", failed, aborted),
        event(2, "10:02:01", "server1", "a", failed, host),
        event(
            3,
            "10:02:06",
            "group",
            "g",
            failed,
            "ResourceInError: resources.group.resources.server1: x",
        ),
        event(
            4,
            "10:02:07",
            "cluster",
            "root",
            failed,
            "Resource CREATE failed: ResourceInError: resources.server1: x",
        ),
    ];
    let root = magnum_heat::stack::StackRef::new("cluster", "root");
    let all = causes(&root, None, &[], &events);
    assert_eq!(all[0].resource(), "server1");
    assert_eq!(all[0].kind, CauseKind::NoValidHost);
    assert!(all.last().unwrap().follower);
    let since = DateTime::parse_from_rfc3339("2026-12-01T10:02:02Z")
        .unwrap()
        .with_timezone(&Utc);
    assert!(
        causes(&root, Some(since), &[], &events)
            .iter()
            .all(|c| c.resource() != "server1" || c.path.len() > 1)
    );
    assert!(StackStatus::parse(failed).is_failed());
}
