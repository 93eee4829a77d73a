use http::Method;
use serde_json::{Value, json};

use crate::openstack::tried::{Tried, same_keys};

#[tokio::test]
async fn nodes_can_be_asked_for_by_class_and_trait() {
    let cloud = Tried::start().await;
    let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    let ask = |query: &str| {
        let path = format!("/placement/allocation_candidates?{query}");
        async {
            cloud
                .versioned(&cloud.admin, "placement 1.36", Method::GET, &{ path }, None)
                .await
        }
    };
    let one = ask("resources=CUSTOM_BAREMETAL:1&limit=1").await.body;
    let summary = one["provider_summaries"]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap();
    same_keys(
        "summary",
        &sample["candidates"]["provider_summaries"]["U"],
        summary,
    );
    assert_eq!(one["allocation_requests"].as_array().unwrap().len(), 1);
    let lost = ask("resources=CUSTOM_X:1").await;
    assert_eq!(lost.status, 400);
    let lost = ask("resources=CUSTOM_BAREMETAL:1&required=CUSTOM_FAST").await;
    assert!(
        lost.body["errors"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("No such trait(s): CUSTOM_FAST.")
    );
    let put = cloud
        .call(
            &cloud.admin,
            Method::PUT,
            "/baremetal/v1/nodes/bm-2/traits/CUSTOM_FAST",
            None,
        )
        .await;
    assert_eq!(put.status, 204);
    let found = ask("resources=CUSTOM_BAREMETAL:1&required=CUSTOM_FAST")
        .await
        .body;
    assert_eq!(found["allocation_requests"].as_array().unwrap().len(), 1);
    let id = found["provider_summaries"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let path = format!("/placement/resource_providers/{id}/inventories");
    let inventories = cloud.call(&cloud.admin, Method::GET, &path, None).await;
    same_keys("inventories", &sample["inventories"], &inventories.body);
    let usages = format!("/placement/resource_providers/{id}/usages");
    let usages = cloud.call(&cloud.admin, Method::GET, &usages, None).await;
    assert_eq!(usages.body["usages"], json!({"CUSTOM_BAREMETAL": 0}));
    let demo = cloud
        .call(
            &cloud.demo,
            Method::GET,
            "/placement/resource_providers",
            None,
        )
        .await;
    assert_eq!(demo.status, 403);
}
