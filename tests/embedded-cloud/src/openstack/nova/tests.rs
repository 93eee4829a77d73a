use http::Method;
use serde_json::{Value, json};

use crate::openstack::seed;
use crate::openstack::tried::{Tried, same_keys};

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

fn sample() -> Value {
    serde_json::from_str(include_str!("sample.json")).unwrap()
}

async fn boot(cloud: &Tried, flavor: &str, network: &str, extra: Value) -> http::Response<Value> {
    let (image, flavor) = basics(cloud, flavor).await;
    let mut server = json!({"name": "s", "flavorRef": flavor, "imageRef": image, "networks": [{"uuid": network}]});
    server
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    let body = Some(json!({"server": server}));
    let reply = cloud
        .call(&cloud.demo, Method::POST, "/compute/v2.1/servers", body)
        .await;
    http::Response::builder()
        .status(reply.status)
        .body(reply.body)
        .unwrap()
}

fn path_of(made: &http::Response<Value>) -> String {
    assert_eq!(made.status(), 202, "{}", made.body());
    format!(
        "/compute/v2.1/servers/{}",
        made.body()["server"]["id"].as_str().unwrap()
    )
}

#[tokio::test]
async fn shapes_are_those_of_the_real_service() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let path = path_of(&boot(&cloud, "m1.small", &network, json!({})).await);
    cloud.until(&path, "/server/status", "ACTIVE").await;
    let sample = sample();
    let list = "/compute/v2.1/servers/detail";
    for (key, version, token, path) in [
        ("2.1", "compute 2.1", &cloud.demo, list.to_owned()),
        (
            "2.79-admin",
            "compute 2.79",
            &cloud.admin,
            format!("{list}?all_tenants=1"),
        ),
        ("2.96", "compute 2.96", &cloud.demo, list.to_owned()),
    ] {
        let shown = cloud
            .versioned(token, version, Method::GET, &path, None)
            .await;
        same_keys(key, &sample[key], &shown.body["servers"][0]);
    }
    for (key, path) in [
        ("flavors", "/compute/v2.1/flavors/detail".to_owned()),
        ("keypairs", "/compute/v2.1/os-keypairs".to_owned()),
        ("limits", "/compute/v2.1/limits".to_owned()),
        (
            "quota_set",
            format!("/compute/v2.1/os-quota-sets/{}/detail", seed::DEMO_PROJECT),
        ),
        (
            "availability_zones",
            "/compute/v2.1/os-availability-zone".to_owned(),
        ),
    ] {
        same_keys(key, &sample[key], &cloud.get(&path).await);
    }
    let services = cloud
        .call(&cloud.admin, Method::GET, "/compute/v2.1/os-services", None)
        .await;
    same_keys("services", &sample["services"], &services.body);
    let interfaces = format!("{path}/os-interface");
    let interfaces = cloud
        .versioned(&cloud.demo, "compute 2.79", Method::GET, &interfaces, None)
        .await;
    same_keys("interface", &sample["interface"], &interfaces.body);
    let keypair = "/compute/v2.1/os-keypairs/testkey";
    let keypair = cloud
        .versioned(&cloud.demo, "compute 2.10", Method::GET, keypair, None)
        .await;
    same_keys("keypair", &sample["keypair"], &keypair.body);
    for (version, key, body) in [
        (
            "compute 2.1",
            "group_2.1",
            json!({"name": "g", "policies": ["affinity"]}),
        ),
        (
            "compute 2.79",
            "group_2.79",
            json!({"name": "g", "policy": "affinity"}),
        ),
    ] {
        let path = "/compute/v2.1/os-server-groups";
        let body = Some(json!({"server_group": body}));
        let made = cloud
            .versioned(&cloud.demo, version, Method::POST, path, body)
            .await;
        same_keys(key, &sample[key], &made.body);
    }
}

#[tokio::test]
async fn op_01_an_exceeded_quota_has_the_real_text() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let path = path_of(&boot(&cloud, "m1.small", &network, json!({})).await);
    let quota = format!("/compute/v2.1/os-quota-sets/{}", seed::DEMO_PROJECT);
    let body = json!({"quota_set": {"instances": 1, "force": true}});
    assert_eq!(
        cloud
            .call(&cloud.demo, Method::PUT, &quota, Some(body.clone()))
            .await
            .status,
        403
    );
    assert_eq!(
        cloud
            .call(&cloud.admin, Method::PUT, &quota, Some(body))
            .await
            .status,
        200
    );
    let refused = boot(&cloud, "m1.small", &network, json!({})).await;
    assert_eq!(refused.status(), 403);
    let text = "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances";
    assert_eq!(
        refused.body(),
        &json!({"forbidden": {"code": 403, "message": text}})
    );
    cloud.delete(&path).await;
    cloud.until_gone(&path).await;
    assert_eq!(
        boot(&cloud, "m1.small", &network, json!({})).await.status(),
        202
    );
}

#[tokio::test]
async fn bare_metal_takes_a_node_and_ends_in_error_without_one() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let mut paths = Vec::new();
    for _ in 0..4 {
        let path = path_of(&boot(&cloud, "baremetal", &network, json!({})).await);
        cloud.until(&path, "/server/status", "ACTIVE").await;
        paths.push(path);
    }
    let nodes = cloud
        .call(
            &cloud.admin,
            Method::GET,
            "/baremetal/v1/nodes?provision_state=active",
            None,
        )
        .await;
    assert_eq!(nodes.body["nodes"].as_array().unwrap().len(), 4);
    let over = path_of(&boot(&cloud, "baremetal", &network, json!({})).await);
    let failed = cloud.until(&over, "/server/status", "ERROR").await;
    assert_eq!(
        failed["server"]["fault"]["message"],
        "No valid host was found. "
    );
    let list = cloud
        .versioned(
            &cloud.demo,
            "compute 2.79",
            Method::GET,
            "/compute/v2.1/servers/detail?status=ERROR",
            None,
        )
        .await;
    same_keys("error", &sample()["error"], &list.body["servers"][0]);
    let candidates = "/placement/allocation_candidates?resources=CUSTOM_BAREMETAL:1";
    let none = cloud
        .call(&cloud.admin, Method::GET, candidates, None)
        .await;
    assert_eq!(none.body["allocation_requests"], json!([]));
    for path in paths.iter().chain([&over]) {
        assert_eq!(cloud.delete(path).await.status, 204);
        cloud.until_gone(path).await;
    }
    for _ in 0..200 {
        let free = cloud
            .call(&cloud.admin, Method::GET, candidates, None)
            .await;
        if free.body["allocation_requests"].as_array().unwrap().len() == 4 {
            let left = cloud
                .get(&format!(
                    "/network/v2.0/ports?network_id={network}&device_owner=compute:nova"
                ))
                .await;
            assert_eq!(
                left["ports"],
                json!([]),
                "ports that Nova made end with their servers"
            );
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the nodes did not become free");
}

#[tokio::test]
async fn requests_are_checked_before_anything_is_made() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let lost = "00000000-0000-0000-0000-000000000000";
    for (extra, text) in [
        (
            json!({"flavorRef": "zzz"}),
            "Flavor zzz could not be found.",
        ),
        (json!({"imageRef": lost}), "Can not find requested image"),
        (json!({"key_name": "nokey"}), "Invalid key_name provided."),
        (
            json!({"availability_zone": "mars"}),
            "The requested availability zone is not available",
        ),
        (
            json!({"security_groups": [{"name": "nosuch"}]}),
            "Unable to find security_group with name or id 'nosuch'",
        ),
        (
            json!({"name": ""}),
            "Invalid input for field/attribute name. Value: . '' should be non-empty",
        ),
    ] {
        let refused = boot(&cloud, "m1.small", &network, extra).await;
        assert_eq!(refused.status(), 400);
        assert_eq!(refused.body()["badRequest"]["message"], text);
    }
    let refused = boot(&cloud, "m1.small", lost, json!({})).await;
    assert_eq!(
        refused.body()["badRequest"]["message"],
        format!("Network {lost} could not be found.")
    );
    let long = boot(
        &cloud,
        "m1.small",
        &network,
        json!({"user_data": "A".repeat(65536)}),
    )
    .await;
    assert_eq!(long.status(), 400);
    assert_eq!(
        boot(
            &cloud,
            "m1.small",
            &network,
            json!({"user_data": "A".repeat(65532)})
        )
        .await
        .status(),
        202
    );
    let made = cloud.cloud.ledger().entries();
    assert_eq!(made.iter().filter(|e| e.kind == "server").count(), 1);
}

#[tokio::test]
async fn versions_are_negotiated() {
    let cloud = Tried::start().await;
    let path = "/compute/v2.1/servers";
    let odd = cloud
        .versioned(&cloud.demo, "compute 9.99", Method::GET, path, None)
        .await;
    assert_eq!(odd.status, 406);
    let text = "Version 9.99 is not supported by the API. Minimum is 2.1 and maximum is 2.103.";
    assert_eq!(odd.body["computeFault"]["message"], text);
    let latest = cloud
        .versioned(&cloud.demo, "compute latest", Method::GET, path, None)
        .await;
    assert_eq!(latest.headers["x-openstack-nova-api-version"], "2.103");
    let all = cloud
        .call(
            &cloud.demo,
            Method::GET,
            "/compute/v2.1/servers/detail?all_tenants=1",
            None,
        )
        .await;
    assert_eq!(all.status, 403);
}

#[tokio::test]
async fn power_actions_and_volumes() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let image = cloud.get("/image/v2/images?name=test-image").await["images"][0]["id"].clone();
    let disk = json!({
        "boot_index": 0, "uuid": image, "source_type": "image", "destination_type": "volume", "volume_size": 5,
        "delete_on_termination": true,
    });
    let extra = json!({"imageRef": "", "block_device_mapping_v2": [disk]});
    let path = path_of(&boot(&cloud, "m1.small", &network, extra).await);
    let server = cloud.until(&path, "/server/status", "ACTIVE").await;
    assert_eq!(server["server"]["image"], "");
    let volumes = format!("/volume/v3/{}/volumes/detail", seed::DEMO_PROJECT);
    let volume = cloud.get(&volumes).await["volumes"][0].clone();
    assert_eq!(
        server["server"]["os-extended-volumes:volumes_attached"],
        json!([{"id": volume["id"]}])
    );
    assert_eq!(
        (&volume["status"], &volume["bootable"]),
        (&json!("in-use"), &json!("true"))
    );
    let action = format!("{path}/action");
    let act = |body: Value| cloud.call(&cloud.demo, Method::POST, &action, Some(body));
    assert_eq!(act(json!({"os-start": null})).await.status, 409);
    assert_eq!(act(json!({"os-stop": null})).await.status, 202);
    cloud.until(&path, "/server/status", "SHUTOFF").await;
    assert_eq!(act(json!({"os-start": null})).await.status, 202);
    cloud.until(&path, "/server/status", "ACTIVE").await;
    assert_eq!(act(json!({"os-getConsoleOutput": {}})).await.status, 200);
    assert_eq!(
        act(json!({"foo": null})).await.body["badRequest"]["message"],
        "There is no such action: foo"
    );
    cloud.delete(&path).await;
    cloud.until_gone(&path).await;
    assert_eq!(cloud.get(&volumes).await["volumes"], json!([]));
}

#[tokio::test]
async fn strict_anti_affinity_runs_out_of_hosts() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let (image, flavor) = basics(&cloud, "m1.small").await;
    let group = json!({"server_group": {"name": "g", "policies": ["anti-affinity"]}});
    let group =
        cloud.post("/compute/v2.1/os-server-groups", group).await["server_group"]["id"].clone();
    let mut states = Vec::new();
    for _ in 0..=super::HOSTS {
        let body = json!({
            "server": {"name": "s", "flavorRef": flavor, "imageRef": image, "networks": [{"uuid": network}]},
            "os:scheduler_hints": {"group": group},
        });
        let made = cloud.post("/compute/v2.1/servers", body).await;
        let path = format!(
            "/compute/v2.1/servers/{}",
            made["server"]["id"].as_str().unwrap()
        );
        for _ in 0..200 {
            let state = cloud.get(&path).await["server"]["status"]
                .as_str()
                .unwrap()
                .to_owned();
            if state != "BUILD" {
                states.push(state);
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    assert_eq!(states.iter().filter(|s| *s == "ACTIVE").count(), 8);
    assert_eq!(states.last().unwrap(), "ERROR");
}

#[tokio::test]
async fn a_build_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = crate::openstack::tried::fast();
    options.journal = Some(folder.path().to_owned());
    options.latency.server = std::time::Duration::from_secs(3600);
    let cloud = Tried::with(options.clone()).await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let path = path_of(&boot(&cloud, "m1.small", &network, json!({})).await);
    cloud.cloud.flush().await;
    cloud.cloud.stop();
    drop(cloud);
    options.latency.server = std::time::Duration::from_millis(1);
    let again = Tried::with(options).await;
    again.until(&path, "/server/status", "ACTIVE").await;
    let ports = again
        .get(&format!(
            "/network/v2.0/ports?network_id={network}&device_owner=compute:nova"
        ))
        .await;
    assert_eq!(
        ports["ports"].as_array().unwrap().len(),
        1,
        "nothing is made twice"
    );
}

#[tokio::test]
async fn a_volume_is_attached_to_a_running_server_and_detached() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let path = path_of(&boot(&cloud, "m1.small", &network, json!({})).await);
    cloud.until(&path, "/server/status", "ACTIVE").await;
    let volumes = format!("/volume/v3/{}/volumes", seed::DEMO_PROJECT);
    let made = cloud.post(&volumes, json!({"volume": {"size": 1}})).await;
    let id = made["volume"]["id"].as_str().unwrap().to_owned();
    let volume = format!("{volumes}/{id}");
    cloud.until(&volume, "/volume/status", "available").await;
    let attach = format!("{path}/os-volume_attachments");
    let body = json!({"volumeAttachment": {"volumeId": id}});
    let shown = cloud.post(&attach, body.clone()).await;
    assert_eq!(shown["volumeAttachment"]["device"], "/dev/sdb");
    cloud.until(&volume, "/volume/status", "in-use").await;
    assert_eq!(
        cloud
            .call(&cloud.demo, Method::POST, &attach, Some(body))
            .await
            .status,
        400
    );
    assert_eq!(cloud.delete(&volume).await.status, 400);
    let attached = format!("{attach}/{id}");
    assert_eq!(cloud.delete(&attached).await.status, 202);
    assert_eq!(cloud.delete(&attached).await.status, 404);
    let extend = json!({"os-extend": {"new_size": 2}});
    let extended = cloud
        .call(
            &cloud.demo,
            Method::POST,
            &format!("{volume}/action"),
            Some(extend),
        )
        .await;
    assert_eq!(extended.status, 202);
    assert_eq!(cloud.get(&volume).await["volume"]["size"], 2);
}
