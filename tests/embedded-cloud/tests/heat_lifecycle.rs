//! Stacks on the embedded cloud, as a client sees them.

mod support;

use serde_json::json;

use support::Client;

#[tokio::test]
async fn a_stack_is_created_updated_and_deleted_with_nothing_left() {
    let (cloud, client) = support::start().await;
    // Neutron makes a project's default group when first asked.
    client.get("/network/v2.0/security-groups").await;
    let before = client.inventory().await;
    let stack = client
        .create("first", &support::cluster(2), json!({}))
        .await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "CREATE_COMPLETE", "{shown}");
    let outputs = shown["outputs"].as_array().unwrap();
    let address = outputs
        .iter()
        .find(|o| o["output_key"] == "address")
        .unwrap();
    assert!(
        address["output_value"]
            .as_str()
            .unwrap()
            .starts_with("10.0.0."),
        "{outputs:?}"
    );
    let ids = client.physical(&stack).await;
    client.update(&stack, &support::cluster(3)).await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "UPDATE_COMPLETE", "{shown}");
    let grown = client.physical(&stack).await;
    for (name, id) in &ids {
        assert_eq!(grown.get(name), Some(id), "{name} kept");
    }
    assert!(grown.contains_key("server_2"));
    let mut smaller = support::cluster(3);
    smaller["resources"]
        .as_object_mut()
        .unwrap()
        .remove("server_0");
    smaller["resources"]
        .as_object_mut()
        .unwrap()
        .remove("port_0");
    smaller["resources"]
        .as_object_mut()
        .unwrap()
        .remove("member_1");
    smaller["outputs"] = json!({});
    client.update(&stack, &smaller).await;
    assert_eq!(
        client.settle(&stack).await["stack_status"],
        "UPDATE_COMPLETE"
    );
    let left = client.physical(&stack).await;
    assert!(!left.contains_key("server_0"));
    assert_eq!(left.get("server_1"), grown.get("server_1"));
    client.delete(&stack).await;
    assert_eq!(
        client.settle(&stack).await["stack_status"],
        "DELETE_COMPLETE"
    );
    assert_eq!(client.inventory().await, before);
    cloud.shutdown().await;
}

#[tokio::test]
async fn a_quota_failure_names_its_cause_and_siblings_complete() {
    let (cloud, client) = support::start().await;
    client
        .quota(
            "/compute/v2.1/os-quota-sets",
            json!({"quota_set": {"instances": 2, "force": true}}),
        )
        .await;
    let stack = client
        .create("quota", &support::cluster(3), json!({}))
        .await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "CREATE_FAILED");
    let reason = shown["stack_status_reason"].as_str().unwrap();
    assert!(
        reason.starts_with("Resource CREATE failed: Forbidden: resources.server_"),
        "{reason}"
    );
    assert!(reason.contains("Quota exceeded for instances: Requested 1, but already used 2 of 2 instances (HTTP 403) (Request-ID: req-"), "{reason}");
    let states = client.wait_states(&stack).await;
    let failed: Vec<_> = states
        .iter()
        .filter(|(_, s)| *s == "CREATE_FAILED")
        .collect();
    assert_eq!(failed.len(), 1, "{states:?}");
    let complete = states
        .iter()
        .filter(|(n, s)| {
            n.starts_with("server_") && *n != "server_group" && *s == "CREATE_COMPLETE"
        })
        .count();
    assert_eq!(complete, 2, "{states:?}");
    let ids = client.physical(&stack).await;
    client
        .quota(
            "/compute/v2.1/os-quota-sets",
            json!({"quota_set": {"instances": 10, "force": true}}),
        )
        .await;
    client.update(&stack, &support::cluster(3)).await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "UPDATE_COMPLETE", "{shown}");
    let after = client.physical(&stack).await;
    for (name, id) in ids.iter().filter(|(_, id)| !id.is_empty()) {
        if !failed.iter().any(|(n, _)| *n == name) {
            assert_eq!(after.get(name), Some(id), "{name}");
        }
    }
    client.delete(&stack).await;
    assert_eq!(
        client.settle(&stack).await["stack_status"],
        "DELETE_COMPLETE"
    );
    cloud.shutdown().await;
}

#[tokio::test]
async fn a_second_update_supersedes_the_first_and_builds_nothing_twice() {
    let (cloud, client) = support::start().await;
    let stack = client
        .create("twice", &support::cluster(1), json!({}))
        .await;
    client.settle(&stack).await;
    client.update(&stack, &support::cluster(2)).await;
    tokio::time::sleep(std::time::Duration::from_millis(40)).await;
    client.update(&stack, &support::cluster(3)).await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "UPDATE_COMPLETE", "{shown}");
    let servers = client.ledger("server", "create").await;
    assert_eq!(servers.len(), 3, "{servers:?}");
    cloud.shutdown().await;
}

#[tokio::test]
async fn signals_reach_the_handle_and_a_failure_there_fails_nothing() {
    let (cloud, client) = support::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": {"h": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}}},
        "outputs": {"signal": {"value": {"get_attr": ["h", "signal"]}}},
    });
    let stack = client.create("signal", &template, json!({})).await;
    let shown = client.settle(&stack).await;
    let signal: serde_json::Value =
        serde_json::from_str(shown["outputs"][0]["output_value"].as_str().unwrap()).unwrap();
    let node = Client::signal_login(&signal).await;
    let url = signal["alarm_url"].as_str().unwrap();
    let body = json!({"id": "preflight", "status": "FAILURE", "reason": "CLUSTERNODE FAIL E15: no address", "data": "x"});
    let (status, answer) = node.send("POST", url, Some(body)).await;
    assert_eq!((status, answer), (200, json!(null)));
    let template_url = url.replace("/resources/h/signal", "/template");
    assert_eq!(node.send("GET", &template_url, None).await.0, 403);
    let metadata = client.get(&format!("{stack}/resources/h/metadata")).await;
    assert_eq!(
        metadata["metadata"]["preflight"]["status"], "FAILURE",
        "{metadata}"
    );
    let events = client.get(&format!("{stack}/events")).await;
    assert_eq!(events["events"][0]["resource_status"], "SIGNAL_COMPLETE");
    assert_eq!(
        events["events"][0]["resource_status_reason"],
        "Signal: status:FAILURE reason:CLUSTERNODE FAIL E15: no address"
    );
    assert_eq!(
        client.get(&stack).await["stack"]["stack_status"],
        "CREATE_COMPLETE"
    );
    client.delete(&stack).await;
    client.settle(&stack).await;
    assert_eq!(node.send("POST", url, Some(json!({}))).await.0, 401);
    cloud.shutdown().await;
}

#[tokio::test]
async fn wait_conditions_count_fail_and_time_out() {
    let (cloud, client) = support::start().await;
    let template = |timeout: u32, count: u32| {
        json!({
            "heat_template_version": "2021-04-16",
            "resources": {
                "h": {"type": "OS::Heat::WaitConditionHandle"},
                "w": {"type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "h"}, "timeout": timeout, "count": count}},
            },
            "outputs": {"d": {"value": {"get_attr": ["w", "data"]}}},
        })
    };
    let stack = client.create("late", &template(1, 2), json!({})).await;
    let shown = client.settle(&stack).await;
    assert_eq!(
        shown["stack_status_reason"],
        "Resource CREATE failed: WaitConditionTimeout: resources.w: 0 of 2 received"
    );
    let stack = client.create("fails", &template(60, 2), json!({})).await;
    client
        .signal(
            &stack,
            "h",
            json!({"status": "FAILURE", "reason": "kubelet did not start"}),
        )
        .await;
    let shown = client.settle(&stack).await;
    assert_eq!(
        shown["stack_status_reason"],
        "Resource CREATE failed: WaitConditionFailure: resources.w: kubelet did not start"
    );
    let stack = client.create("good", &template(60, 1), json!({})).await;
    client
        .signal(&stack, "h", json!({"id": "1", "data": "node ready"}))
        .await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "CREATE_COMPLETE");
    assert_eq!(
        shown["outputs"][0]["output_value"],
        "{\"1\": \"node ready\"}"
    );
    cloud.shutdown().await;
}
