//! The cloud as a process of its own: killed at any moment, it goes on where it was.
#![allow(clippy::unwrap_used, reason = "test code: a panic is the report")]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use support::Client;

fn start(folder: &Path, extra: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_embedded-cloud"));
    command.arg("--journal").arg(folder).args(extra);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The base URL once the process answers.
async fn ready(folder: &Path, child: &Child) -> String {
    for _ in 0..500 {
        let pid = std::fs::read_to_string(folder.join("pid")).unwrap_or_default();
        if pid.trim() == child.id().to_string() {
            let port = std::fs::read_to_string(folder.join("port")).unwrap();
            return format!("http://127.0.0.1:{}", port.trim());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the cloud did not start");
}

#[tokio::test]
async fn op_01_a_cloud_killed_during_a_create_builds_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), &[]);
    let base = ready(folder.path(), &child).await;
    let client = Client::login(&base, "demo", "demopw", "demo").await;
    client.get("/network/v2.0/security-groups").await;
    let before = client.inventory().await;
    let stack = client
        .create("first", &support::cluster(4), json!({}))
        .await;
    for pause in [5, 40, 90, 150, 60] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        child = start(folder.path(), &[]);
        assert_eq!(ready(folder.path(), &child).await, base, "the port stays");
    }
    let shown = client.settle(&stack).await;
    assert_eq!(shown["stack_status"], "CREATE_COMPLETE", "{shown}");
    assert_eq!(client.ledger("stack", "create").await, ["first"]);
    let mut servers = client.ledger("server", "create").await;
    servers.sort();
    assert_eq!(servers, ["node-0", "node-1", "node-2", "node-3"]);
    client.delete(&stack).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    child.kill().unwrap();
    child.wait().unwrap();
    child = start(folder.path(), &[]);
    ready(folder.path(), &child).await;
    assert_eq!(
        client.settle(&stack).await["stack_status"],
        "DELETE_COMPLETE"
    );
    assert_eq!(client.inventory().await, before);
    assert_eq!(
        client.send("POST", "/_embedded/shutdown", None).await.0,
        202
    );
    assert!(child.wait().unwrap().success());
    assert!(
        !folder.path().join("port").exists(),
        "an orderly end takes its port file away"
    );
}
