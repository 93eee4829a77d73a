//! Scripted faults as clients and Heat meet them.

mod support;

use serde_json::json;

#[tokio::test]
async fn a_fault_answers_delays_or_drops() {
    let (cloud, client) = support::start().await;
    client.fault(json!({"service": "nova", "method": "GET", "path": "^/v2.1/flavors", "status": 503, "retry_after": 3, "count": 1})).await;
    let answer = client.answer("GET", "/compute/v2.1/flavors", None).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "3");
    assert_eq!(
        client.send("GET", "/compute/v2.1/flavors", None).await.0,
        200
    );
    let net = json!({"network": {"name": "lost"}});
    client.fault(json!({"service": "neutron", "method": "POST", "path": "networks", "drop": "after", "count": 1})).await;
    let http = reqwest::Client::new();
    let request = http
        .post(format!("{}/network/v2.0/networks", client.base))
        .header("x-auth-token", &client.token);
    let sent = request
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&net).unwrap())
        .send()
        .await;
    assert!(sent.is_err(), "no answer");
    let found = client.get("/network/v2.0/networks?name=lost").await;
    assert_eq!(found["networks"].as_array().unwrap().len(), 1, "applied");
    client
        .fault(json!({"path": "^/v2.0/networks", "delay_ms": 150}))
        .await;
    let began = std::time::Instant::now();
    client.get("/network/v2.0/networks").await;
    assert!(began.elapsed().as_millis() >= 150);
    assert_eq!(
        client.send("DELETE", "/_embedded/faults", None).await.0,
        204
    );
    cloud.shutdown().await;
}

#[tokio::test]
async fn heat_meets_faults_too() {
    let (cloud, client) = support::start().await;
    let fault = json!({"service": "nova", "method": "POST", "path": "^/v2.1/servers$", "body_contains": "node-1", "status": 500,
        "body": {"computeFault": {"code": 500, "message": "no"}}, "count": 1});
    client.fault(fault).await;
    let stack = client
        .create("faulty", &support::cluster(2), json!({}))
        .await;
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "CREATE_FAILED");
    let reason = shown["stack_status_reason"].as_str().unwrap();
    assert!(
        reason.starts_with(
            "Resource CREATE failed: ClientException: resources.server_1: no (HTTP 500)"
        ),
        "{reason}"
    );
    cloud.shutdown().await;
}

#[tokio::test]
async fn an_unknown_request_is_a_loud_501() {
    let (cloud, client) = support::start().await;
    for path in [
        "/heat/v2/x",
        "/compute/v9/nothing",
        "/nothing",
        "/identity/v2.0/tokens",
    ] {
        let (status, answer) = client.send("GET", path, None).await;
        assert_eq!(status, 501, "{path}: {answer}");
        let text = answer.to_string().to_lowercase();
        assert!(text.contains("embedded cloud does not"), "{answer}");
    }
    cloud.shutdown().await;
}
