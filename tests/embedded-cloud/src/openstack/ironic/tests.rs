use http::Method;
use serde_json::Value;

use crate::openstack::tried::{Tried, same_keys};

#[tokio::test]
async fn nodes_are_seen_by_admins_only() {
    let cloud = Tried::start().await;
    let sample: Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    let path = "/baremetal/v1/nodes/detail";
    let nodes = cloud
        .versioned(&cloud.admin, "baremetal 1.78", Method::GET, path, None)
        .await;
    assert_eq!(nodes.body["nodes"].as_array().unwrap().len(), 4);
    same_keys("node", &sample["node"], &nodes.body["nodes"][0]);
    assert_eq!(
        nodes.headers["x-openstack-ironic-api-maximum-version"],
        "1.111"
    );
    assert_eq!(cloud.get(path).await["nodes"].as_array().unwrap().len(), 0);
    let lost = cloud
        .call(&cloud.admin, Method::GET, "/baremetal/v1/nodes/zz", None)
        .await;
    assert_eq!(lost.status, 404);
    let page = cloud
        .call(
            &cloud.admin,
            Method::GET,
            "/baremetal/v1/nodes?limit=1&fields=name,uuid",
            None,
        )
        .await;
    assert!(page.body["next"].as_str().unwrap().contains("marker="));
}
