use http::Method;
use serde_json::{Value, json};

use crate::openstack::tried::Tried;

fn image_and_flavor(cloud: &Value, images: &Value, flavor: &str) -> (Value, Value) {
    let flavors = cloud["flavors"].as_array().unwrap();
    let flavor = flavors.iter().find(|f| f["name"] == flavor).unwrap()["id"].clone();
    (images["images"][0]["id"].clone(), flavor)
}

async fn basics(cloud: &Tried, flavor: &str) -> (Value, Value) {
    let flavors = cloud.get("/compute/v2.1/flavors").await;
    let images = cloud.get("/image/v2/images?name=ubuntu-k8s-v1.36").await;
    image_and_flavor(&flavors, &images, flavor)
}

#[tokio::test]
async fn a_server_is_built_on_its_port_and_gives_it_back() {
    let cloud = Tried::start().await;
    let (network, subnet, _) = cloud.network("10.9.0.0/24").await;
    let body =
        json!({"port": {"network_id": network, "name": "p", "fixed_ips": [{"subnet_id": subnet}]}});
    let port = cloud.post("/network/v2.0/ports", body).await["port"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (image, flavor) = basics(&cloud, "m1.small").await;
    let group = json!({"server_group": {"name": "g", "policies": ["soft-anti-affinity"]}});
    let group =
        cloud.post("/compute/v2.1/os-server-groups", group).await["server_group"]["id"].clone();
    let body = json!({
        "server": {
            "name": "s", "flavorRef": flavor, "imageRef": image, "key_name": "testkey", "user_data": "I2Nsb3Vk", "config_drive": true,
            "networks": [{"port": port}], "metadata": {"a": "b"},
        },
        "os:scheduler_hints": {"group": group},
    });
    let made = cloud.post("/compute/v2.1/servers", body).await;
    let path = format!(
        "/compute/v2.1/servers/{}",
        made["server"]["id"].as_str().unwrap()
    );
    let server = cloud.until(&path, "/server/status", "ACTIVE").await;
    assert_eq!(server["server"]["addresses"]["net"][0]["addr"], "10.9.0.2");
    assert!(server["server"].get("OS-EXT-SRV-ATTR:user_data").is_none());
    let list = "/compute/v2.1/servers/detail?all_tenants=1";
    let seen = cloud
        .versioned(&cloud.admin, "compute 2.79", Method::GET, list, None)
        .await;
    assert_eq!(
        seen.body["servers"][0]["OS-EXT-SRV-ATTR:user_data"],
        "I2Nsb3Vk"
    );
    assert_eq!(seen.headers["openstack-api-version"], "compute 2.79");
    let bound = cloud.get(&format!("/network/v2.0/ports/{port}")).await;
    assert_eq!(bound["port"]["device_id"], made["server"]["id"]);
    assert_eq!(bound["port"]["device_owner"], "compute:nova");
    let members = cloud
        .get(&format!(
            "/compute/v2.1/os-server-groups/{}",
            group.as_str().unwrap()
        ))
        .await;
    assert_eq!(
        members["server_group"]["members"],
        json!([made["server"]["id"]])
    );

    assert_eq!(cloud.delete(&path).await.status, 204);
    cloud.until_gone(&path).await;
    let freed = cloud.get(&format!("/network/v2.0/ports/{port}")).await;
    assert_eq!(freed["port"]["device_id"], "");
}
