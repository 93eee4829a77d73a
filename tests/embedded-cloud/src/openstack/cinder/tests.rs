use http::Method;
use serde_json::{Value, json};

use crate::openstack::seed;
use crate::openstack::tried::{Tried, same_keys};

#[tokio::test]
async fn volumes_live_and_quotas_count() {
    let cloud = Tried::start().await;
    let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    let base = format!("/volume/v3/{}", seed::DEMO_PROJECT);
    let body = json!({"volume": {"size": 1, "name": "v", "metadata": {"m": "n"}}});
    let made = cloud.post(&format!("{base}/volumes"), body.clone()).await["volume"].clone();
    assert_eq!(made["status"], "creating");
    let path = format!("{base}/volumes/{}", made["id"].as_str().unwrap());
    let shown = cloud.until(&path, "/volume/status", "available").await;
    same_keys("volume", &sample["volume"], &shown["volume"]);
    same_keys(
        "types",
        &sample["types"],
        &cloud.get(&format!("{base}/types")).await,
    );
    same_keys(
        "limits",
        &sample["limits"],
        &cloud.get(&format!("{base}/limits")).await,
    );
    let quota = format!("{base}/os-quota-sets/{}", seed::DEMO_PROJECT);
    same_keys("quota", &sample["quota"], &cloud.get(&quota).await);
    let admin = format!(
        "/volume/v3/{}/os-quota-sets/{}",
        seed::ADMIN_PROJECT,
        seed::DEMO_PROJECT
    );
    let limit = json!({"quota_set": {"volumes": 1}});
    assert_eq!(
        cloud
            .call(&cloud.admin, Method::PUT, &admin, Some(limit))
            .await
            .status,
        200
    );
    let over = cloud
        .call(
            &cloud.demo,
            Method::POST,
            &format!("{base}/volumes"),
            Some(body),
        )
        .await;
    assert_eq!(over.status, 413);
    let text =
        "VolumeLimitExceeded: Maximum number of volumes allowed (1) exceeded for quota 'volumes'.";
    assert_eq!(over.body["overLimit"]["message"], text);
    let wrong = cloud.call(&cloud.neighbour, Method::GET, &path, None).await;
    assert_eq!(wrong.body["badRequest"]["message"], "Malformed request url");
    assert_eq!(cloud.delete(&path).await.status, 202);
    cloud.until_gone(&path).await;
}
