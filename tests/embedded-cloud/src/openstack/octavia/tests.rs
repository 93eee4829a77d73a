use http::Method;
use serde_json::json;

use crate::openstack::tried::Tried;

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
