use http::Method;
use serde_json::{Value, json};

use crate::openstack::tried::{Tried, same_keys};

fn local(url: &Value) -> String {
    let url = url.as_str().unwrap();
    url[url.find("/key-manager").unwrap()..].to_owned()
}

#[tokio::test]
async fn secrets_are_stored_read_and_gone() {
    let cloud = Tried::start().await;
    let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    let body = json!({"name": "ca", "payload": "hello", "payload_content_type": "text/plain"});
    let made = cloud.post("/key-manager/v1/secrets", body).await["secret_ref"].clone();
    let list = cloud.get("/key-manager/v1/secrets").await;
    same_keys("secrets", &sample["secrets"], &list);
    let path = local(&made);
    assert_eq!(cloud.get(&format!("{path}/payload")).await, "hello");
    let again = cloud
        .call(&cloud.demo, Method::PUT, &path, Some(json!("x")))
        .await;
    assert_eq!(
        again.body["description"],
        "Secret already has data, cannot modify it."
    );
    let binary = json!({
        "name": "b", "payload": "AAECAw==", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64",
    });
    let binary = cloud.post("/key-manager/v1/secrets", binary).await["secret_ref"].clone();
    let body = json!({"name": "c", "type": "generic", "secret_refs": [{"name": "a", "secret_ref": made}, {"name": "b", "secret_ref": binary}]});
    let container = local(&cloud.post("/key-manager/v1/containers", body).await["container_ref"]);
    same_keys(
        "container",
        &sample["container"],
        &cloud.get(&container).await,
    );
    let third = cloud
        .post("/key-manager/v1/secrets", json!({"name": "empty"}))
        .await;
    let third = third["secret_ref"].clone();
    let entry = json!({"name": "third", "secret_ref": third});
    let secrets = format!("{container}/secrets");
    cloud.post(&secrets, entry.clone()).await;
    let again = cloud
        .call(&cloud.demo, Method::POST, &secrets, Some(entry))
        .await;
    assert_eq!(again.status, 409);
    let count = async || {
        let container = cloud.get(&container).await;
        container["secret_refs"].as_array().map(Vec::len)
    };
    assert_eq!(count().await, Some(3));
    assert_eq!(cloud.delete(&local(&third)).await.status, 204);
    assert_eq!(
        count().await,
        Some(2),
        "a secret that is gone is in no container"
    );
    assert_eq!(cloud.delete(&container).await.status, 204);
    assert_eq!(cloud.delete(&path).await.status, 204);
    let gone = cloud.call(&cloud.demo, Method::GET, &path, None).await;
    assert_eq!(
        gone.body,
        json!({"code": 404, "title": "Not Found", "description": "Secret not found."})
    );
}

#[tokio::test]
async fn a_member_without_the_creator_role_is_refused_unless_listed() {
    let cloud = Tried::start().await;
    let refused = cloud
        .call(
            &cloud.neighbour,
            Method::GET,
            "/key-manager/v1/secrets",
            None,
        )
        .await;
    let text =
        "Secret(s) retrieval attempt not allowed - please review your user/project privileges";
    assert_eq!(
        refused.body,
        json!({"code": 403, "title": "Forbidden", "description": text})
    );
    let body = json!({"payload": "hello", "payload_content_type": "text/plain"});
    let path = local(&cloud.post("/key-manager/v1/secrets", body).await["secret_ref"]);
    assert_eq!(
        cloud
            .call(&cloud.neighbour, Method::GET, &path, None)
            .await
            .status,
        403
    );
    assert_eq!(
        cloud.get(&format!("{path}/acl")).await,
        json!({"read": {"project-access": true}})
    );
    let acl =
        json!({"read": {"users": [crate::openstack::seed::DEMO2_USER], "project-access": false}});
    assert_eq!(
        cloud
            .call(&cloud.demo, Method::PUT, &format!("{path}/acl"), Some(acl))
            .await
            .status,
        200
    );
    let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    same_keys(
        "acl",
        &sample["acl"],
        &cloud.get(&format!("{path}/acl")).await,
    );
    let read = cloud
        .call(
            &cloud.neighbour,
            Method::GET,
            &format!("{path}/payload"),
            None,
        )
        .await;
    assert_eq!(read.body, "hello");
}
