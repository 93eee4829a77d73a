use http::Method;
use serde_json::json;

use crate::openstack::tried::{Tried, same_keys};

#[tokio::test]
async fn a_load_balancer_is_locked_while_it_changes_and_ends_with_its_port() {
    let cloud = Tried::start().await;
    let (_, subnet, _) = cloud.network("10.9.0.0/24").await;
    let lbaas = "/load-balancer/v2/lbaas";
    let body = json!({"loadbalancer": {"name": "lb", "vip_subnet_id": subnet}});
    let lb = cloud.post(&format!("{lbaas}/loadbalancers"), body).await["loadbalancer"].clone();
    assert_eq!(lb["provisioning_status"], "PENDING_CREATE");
    let id = lb["id"].as_str().unwrap();
    let path = format!("{lbaas}/loadbalancers/{id}");
    let listener =
        json!({"listener": {"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 6443}});
    let early = cloud
        .call(
            &cloud.demo,
            Method::POST,
            &format!("{lbaas}/listeners"),
            Some(listener.clone()),
        )
        .await;
    assert_eq!(early.status, 409);
    assert_eq!(
        early.body["faultstring"],
        format!("Load Balancer {id} is immutable and cannot be updated.")
    );
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let listener =
        cloud.post(&format!("{lbaas}/listeners"), listener).await["listener"]["id"].clone();
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let refused = json!({"pool": {"listener_id": listener, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}});
    let refused = cloud
        .call(
            &cloud.demo,
            Method::POST,
            &format!("{lbaas}/pools"),
            Some(refused),
        )
        .await;
    assert_eq!(refused.status, 501);
    let pool = json!({"pool": {"listener_id": listener, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"}});
    let pool = cloud.post(&format!("{lbaas}/pools"), pool).await["pool"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let member =
        json!({"member": {"address": "10.9.0.50", "protocol_port": 6443, "subnet_id": subnet}});
    cloud
        .post(&format!("{lbaas}/pools/{pool}/members"), member)
        .await;
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let monitor = json!({"healthmonitor": {"pool_id": pool, "type": "TCP", "delay": 5, "timeout": 4, "max_retries": 3}});
    cloud
        .post(&format!("{lbaas}/healthmonitors"), monitor)
        .await;
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let tree = cloud.get(&format!("{path}/status")).await;
    let listener = &tree["statuses"]["loadbalancer"]["listeners"][0];
    assert_eq!(listener["pools"][0]["members"][0]["address"], "10.9.0.50");
    assert_eq!(listener["pools"][0]["health_monitor"]["type"], "TCP");
    let plain = cloud.delete(&path).await;
    assert_eq!(plain.status, 400);
    assert_eq!(
        cloud.delete(&format!("{path}?cascade=true")).await.status,
        204
    );
    cloud.until_gone(&path).await;
    let port = lb["vip_port_id"].as_str().unwrap();
    assert_eq!(
        cloud
            .call(
                &cloud.demo,
                Method::GET,
                &format!("/network/v2.0/ports/{port}"),
                None
            )
            .await
            .status,
        404
    );
    let left = cloud.get(&format!("{lbaas}/pools")).await;
    assert_eq!(left["pools"], json!([]));
}

async fn whole(cloud: &Tried, provider: Option<&str>) -> (String, String, String) {
    let (_, subnet, _) = cloud.network("10.9.0.0/24").await;
    let lbaas = "/load-balancer/v2/lbaas";
    let body =
        json!({"loadbalancer": {"name": "lb", "vip_subnet_id": subnet, "provider": provider}});
    let made = cloud.post(&format!("{lbaas}/loadbalancers"), body).await;
    let id = made["loadbalancer"]["id"].as_str().unwrap().to_owned();
    let path = format!("{lbaas}/loadbalancers/{id}");
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let listener =
        json!({"listener": {"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 6443}});
    let listener =
        cloud.post(&format!("{lbaas}/listeners"), listener).await["listener"]["id"].clone();
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let algorithm = if provider.is_none() {
        "SOURCE_IP_PORT"
    } else {
        "ROUND_ROBIN"
    };
    let pool =
        json!({"pool": {"listener_id": listener, "protocol": "TCP", "lb_algorithm": algorithm}});
    let pool = cloud.post(&format!("{lbaas}/pools"), pool).await["pool"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    (path, pool, subnet)
}

#[tokio::test]
async fn shapes_are_those_of_the_real_service() {
    let cloud = Tried::start().await;
    let (path, pool, subnet) = whole(&cloud, None).await;
    let lbaas = "/load-balancer/v2/lbaas";
    let member =
        json!({"member": {"address": "10.9.0.50", "protocol_port": 6443, "subnet_id": subnet}});
    let member = cloud
        .post(&format!("{lbaas}/pools/{pool}/members"), member)
        .await;
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let monitor = json!({"healthmonitor": {"pool_id": pool, "type": "TCP", "delay": 5, "timeout": 4, "max_retries": 3}});
    cloud
        .post(&format!("{lbaas}/healthmonitors"), monitor.clone())
        .await;
    let pending = cloud
        .call(
            &cloud.demo,
            Method::POST,
            &format!("{lbaas}/healthmonitors"),
            Some(monitor.clone()),
        )
        .await;
    let text = format!("Pool {pool} is immutable and cannot be updated.");
    assert_eq!(
        (pending.status.as_u16(), &pending.body["faultstring"]),
        (409, &json!(text))
    );
    cloud
        .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
        .await;
    let twice = cloud
        .call(
            &cloud.demo,
            Method::POST,
            &format!("{lbaas}/healthmonitors"),
            Some(monitor),
        )
        .await;
    assert_eq!(
        twice.body["faultstring"],
        "This pool already has a health monitor"
    );
    let sample: serde_json::Value = serde_json::from_str(include_str!("sample.json")).unwrap();
    for key in ["loadbalancers", "listeners", "pools", "healthmonitors"] {
        let list = cloud.get(&format!("{lbaas}/{key}")).await;
        same_keys(key, &sample[key], &list[key][0]);
        assert_eq!(list[format!("{key}_links")], json!([]));
    }
    same_keys("member", &sample["member"], &member["member"]);
    same_keys(
        "status",
        &sample["status"],
        &cloud.get(&format!("{path}/status")).await,
    );
    same_keys(
        "stats",
        &sample["stats"],
        &cloud.get(&format!("{path}/stats")).await,
    );
    same_keys(
        "providers",
        &sample["providers"],
        &cloud.get(&format!("{lbaas}/providers")).await,
    );
    let foreign = cloud.call(&cloud.neighbour, Method::GET, &path, None).await;
    assert_eq!(foreign.status, 403);
    let state = cloud.get(&path).await;
    assert_eq!(
        state["loadbalancer"]["operating_status"], "ERROR",
        "nothing answers at the member's address"
    );
}

#[tokio::test]
async fn requests_are_refused_with_the_real_texts() {
    let cloud = Tried::start().await;
    let (path, pool, subnet) = whole(&cloud, None).await;
    let lbaas = "/load-balancer/v2/lbaas";
    let lost = "00000000-0000-0000-0000-000000000000";
    let id = path.rsplit('/').next().unwrap();
    let cases = [
        ("loadbalancers", json!({"loadbalancer": {"vip_subnet_id": subnet, "provider": "zz"}}), 400, "Provider 'zz' is not enabled.".to_owned()),
        ("loadbalancers", json!({"loadbalancer": {"vip_subnet_id": lost}}), 400, format!("Subnet {lost} not found.")),
        ("listeners", json!({"listener": {"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 6443}}), 409,
         "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 6443".to_owned()),
        ("listeners", json!({"listener": {"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 1, "allowed_cidrs": ["10.0.0.0/8"]}}), 501,
         "Provider 'ovn' does not support a requested option: OVN provider does not support allowed_cidrs option".to_owned()),
        ("healthmonitors", json!({"healthmonitor": {"pool_id": pool, "type": "TCP", "delay": 5, "timeout": 4, "max_retries": 3, "url_path": "/x"}}), 400,
         "url_path is not a valid option for health monitors of type TCP".to_owned()),
    ];
    for (kind, body, status, text) in cases {
        let reply = cloud
            .call(
                &cloud.demo,
                Method::POST,
                &format!("{lbaas}/{kind}"),
                Some(body),
            )
            .await;
        assert_eq!(
            (reply.status.as_u16(), &reply.body["faultstring"]),
            (status, &json!(text))
        );
    }
    let gone = cloud
        .call(
            &cloud.demo,
            Method::GET,
            &format!("{lbaas}/pools/{lost}"),
            None,
        )
        .await;
    assert_eq!(
        gone.body,
        json!({"faultcode": "Client", "faultstring": format!("Pool {lost} not found."), "debuginfo": null})
    );
}

#[tokio::test]
async fn amphora_is_there_by_option_and_takes_round_robin_and_a_batch_of_members() {
    let mut options = crate::openstack::tried::fast();
    options.load_balancer_providers = vec!["ovn".to_owned(), "amphora".to_owned()];
    let cloud = Tried::with(options).await;
    let (path, pool, _) = whole(&cloud, Some("amphora")).await;
    let lb = cloud.get(&path).await["loadbalancer"].clone();
    let port = cloud
        .get(&format!(
            "/network/v2.0/ports/{}",
            lb["vip_port_id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(port["port"]["device_owner"], "Octavia");
    let members = format!("/load-balancer/v2/lbaas/pools/{pool}/members");
    let batch = |addresses: &[&str]| {
        let all: Vec<_> = addresses
            .iter()
            .map(|a| json!({"address": a, "protocol_port": 80}))
            .collect();
        Some(json!({"members": all}))
    };
    for wanted in [&["10.9.0.5", "10.9.0.6"][..], &["10.9.0.6", "10.9.0.7"][..]] {
        assert_eq!(
            cloud
                .call(&cloud.demo, Method::PUT, &members, batch(wanted))
                .await
                .status,
            202
        );
        cloud
            .until(&path, "/loadbalancer/provisioning_status", "ACTIVE")
            .await;
        let list = cloud.get(&members).await;
        let found: Vec<_> = list["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["address"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(found, wanted);
    }
    let pool = format!("/load-balancer/v2/lbaas/pools/{pool}");
    assert_eq!(cloud.delete(&pool).await.status, 204);
    cloud.until_gone(&pool).await;
    let listeners = cloud.get("/load-balancer/v2/lbaas/listeners").await;
    assert_eq!(listeners["listeners"][0]["default_pool_id"], json!(null));
}
