use http::Method;
use serde_json::{Value, json};

use crate::openstack::tried::{Tried, same_keys};
use crate::openstack::{Service, seed};

fn sample() -> Value {
    serde_json::from_str(include_str!("sample.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

async fn refused(cloud: &Tried, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
    let reply = cloud.call(&cloud.demo, method, path, body).await;
    (reply.status.as_u16(), reply.body["NeutronError"].clone())
}

#[tokio::test]
async fn shapes_are_those_of_the_real_service() {
    let cloud = Tried::start().await;
    let (network, subnet, _) = cloud.network("10.9.0.0/24").await;
    let port = cloud
        .post(
            "/network/v2.0/ports",
            json!({"port": {"network_id": network}}),
        )
        .await;
    let public = cloud.get("/network/v2.0/networks?name=public").await["networks"][0].clone();
    let body =
        json!({"floatingip": {"floating_network_id": public["id"], "port_id": port["port"]["id"]}});
    let floating = cloud.post("/network/v2.0/floatingips", body).await["floatingip"].clone();
    assert_eq!(floating["status"], "ACTIVE");
    let group = json!({"security_group": {"name": "g"}});
    cloud.post("/network/v2.0/security-groups", group).await;
    let sample = sample();
    let of = |list: &Value, key: &str| list[key][0].clone();
    for (path, key) in [
        (format!("networks?id={network}"), "networks"),
        (format!("subnets?id={subnet}"), "subnets"),
        ("ports".to_owned(), "ports"),
        ("routers".to_owned(), "routers"),
        ("security-groups".to_owned(), "security_groups"),
        ("floatingips".to_owned(), "floatingips"),
    ] {
        let list = cloud.get(&format!("/network/v2.0/{path}")).await;
        same_keys(key, &sample[key], &of(&list, key));
    }
    let quota = cloud
        .get(&format!(
            "/network/v2.0/quotas/{}/details.json",
            seed::DEMO_PROJECT
        ))
        .await;
    same_keys("quota", &sample["quota_details"], &quota);
    assert_eq!(quota["quota"]["floatingip"]["used"], 1);
    let agents = cloud
        .call(&cloud.admin, Method::GET, "/network/v2.0/agents", None)
        .await;
    same_keys("agents", &sample["agents"], &agents.body);
}

#[tokio::test]
async fn what_is_in_use_cannot_be_deleted() {
    let cloud = Tried::start().await;
    let (network, subnet, router) = cloud.network("10.9.0.0/28").await;
    let group = cloud
        .post(
            "/network/v2.0/security-groups",
            json!({"security_group": {"name": "g"}}),
        )
        .await;
    let group = text(&group["security_group"]["id"]).to_owned();
    let body = json!({"port": {"network_id": network, "security_groups": [group]}});
    let port = cloud.post("/network/v2.0/ports", body).await["port"].clone();
    let id = text(&port["id"]);
    assert_eq!(port["fixed_ips"][0]["ip_address"], "10.9.0.2");
    let cases = [
        (format!("networks/{network}"), "NetworkInUse"),
        (format!("subnets/{subnet}"), "SubnetInUse"),
        (format!("routers/{router}"), "RouterInUse"),
        (format!("security-groups/{group}"), "SecurityGroupInUse"),
    ];
    for (path, kind) in &cases {
        let (status, error) = refused(
            &cloud,
            Method::DELETE,
            &format!("/network/v2.0/{path}"),
            None,
        )
        .await;
        assert_eq!((status, text(&error["type"])), (409, *kind));
    }
    let body = json!({"port": {"network_id": network, "fixed_ips": [{"subnet_id": subnet, "ip_address": "10.9.0.2"}]}});
    let (status, error) = refused(&cloud, Method::POST, "/network/v2.0/ports", Some(body)).await;
    assert_eq!(status, 409);
    assert_eq!(
        error["message"],
        format!("IP address 10.9.0.2 already allocated in subnet {subnet}")
    );

    assert_eq!(
        cloud
            .delete(&format!("/network/v2.0/ports/{id}"))
            .await
            .status,
        204
    );
    let path = format!("/network/v2.0/routers/{router}/remove_router_interface");
    let body = json!({"subnet_id": subnet});
    assert_eq!(
        cloud
            .call(&cloud.demo, Method::PUT, &path, Some(body.clone()))
            .await
            .status,
        200
    );
    let (status, error) = refused(&cloud, Method::PUT, &path, Some(body)).await;
    assert_eq!(
        (status, text(&error["type"])),
        (404, "RouterInterfaceNotFoundForSubnet")
    );
    for (path, _) in cases.into_iter().rev() {
        assert_eq!(
            cloud.delete(&format!("/network/v2.0/{path}")).await.status,
            204,
            "{path}"
        );
    }
    let left = cloud
        .cloud
        .service::<super::Neutron>()
        .inventory(Some(seed::DEMO_PROJECT));
    for kind in ["networks", "subnets", "ports", "routers", "floatingips"] {
        assert_eq!(left[kind], json!([]), "{kind}");
    }
    assert_eq!(
        left["security_groups"].as_array().unwrap().len(),
        1,
        "the default group stays"
    );
}

#[tokio::test]
async fn floating_ips_need_a_way_and_follow_their_port() {
    let cloud = Tried::start().await;
    let (network, subnet, router) = cloud.network("10.9.0.0/24").await;
    let public = cloud.get("/network/v2.0/networks?name=public").await["networks"][0]["id"].clone();
    let port = cloud
        .post(
            "/network/v2.0/ports",
            json!({"port": {"network_id": network}}),
        )
        .await["port"]["id"]
        .clone();
    let lonely = cloud
        .post(
            "/network/v2.0/networks",
            json!({"network": {"name": "lonely"}}),
        )
        .await["network"]["id"]
        .clone();
    let body = json!({"subnet": {"network_id": lonely, "cidr": "10.10.0.0/24", "ip_version": 4}});
    cloud.post("/network/v2.0/subnets", body).await;
    let far = cloud
        .post(
            "/network/v2.0/ports",
            json!({"port": {"network_id": lonely}}),
        )
        .await["port"]["id"]
        .clone();
    let ask =
        |port: &Value| json!({"floatingip": {"floating_network_id": public, "port_id": port}});
    let (status, error) = refused(
        &cloud,
        Method::POST,
        "/network/v2.0/floatingips",
        Some(ask(&far)),
    )
    .await;
    assert_eq!(
        (status, text(&error["type"])),
        (404, "ExternalGatewayForFloatingIPNotFound")
    );
    let made = cloud.post("/network/v2.0/floatingips", ask(&port)).await["floatingip"].clone();
    assert_eq!(made["router_id"], router);
    let (status, error) = refused(
        &cloud,
        Method::POST,
        "/network/v2.0/floatingips",
        Some(ask(&port)),
    )
    .await;
    assert_eq!(
        (status, text(&error["type"])),
        (409, "FloatingIPPortAlreadyAssociated")
    );
    let path = format!("/network/v2.0/routers/{router}/remove_router_interface");
    let (status, _) = refused(
        &cloud,
        Method::PUT,
        &path,
        Some(json!({"subnet_id": subnet})),
    )
    .await;
    assert_eq!(status, 409);
    cloud
        .delete(&format!("/network/v2.0/ports/{}", text(&port)))
        .await;
    let path = format!("/network/v2.0/floatingips/{}", text(&made["id"]));
    let after = cloud.get(&path).await;
    assert_eq!(after["floatingip"]["port_id"], Value::Null);
    assert_eq!(after["floatingip"]["status"], "DOWN");
    assert_eq!(cloud.delete(&path).await.status, 204);
    assert_eq!(
        cloud.get("/network/v2.0/floatingips").await["floatingips"],
        json!([])
    );
}

#[tokio::test]
async fn quotas_policy_and_foreign_projects() {
    let cloud = Tried::start().await;
    let (network, ..) = cloud.network("10.9.0.0/24").await;
    let path = format!("/network/v2.0/networks/{network}");
    let foreign = cloud.call(&cloud.neighbour, Method::GET, &path, None).await;
    assert_eq!(foreign.status, 404);
    assert_eq!(foreign.body["NeutronError"]["type"], "NetworkNotFound");
    let quota = format!("/network/v2.0/quotas/{}", seed::DEMO_PROJECT);
    let body = json!({"quota": {"network": 1, "floatingip": 0}});
    let (status, error) = refused(&cloud, Method::PUT, &quota, Some(body.clone())).await;
    assert_eq!(
        (status, text(&error["message"])),
        (403, "rule:update_quota is disallowed by policy")
    );
    assert_eq!(
        cloud
            .call(&cloud.admin, Method::PUT, &quota, Some(body))
            .await
            .status,
        200
    );
    let (status, error) = refused(
        &cloud,
        Method::POST,
        "/network/v2.0/networks",
        Some(json!({"network": {"name": "x"}})),
    )
    .await;
    assert_eq!((status, text(&error["type"])), (409, "OverQuota"));
    assert_eq!(
        error["message"],
        "Quota exceeded for resources: ['network']."
    );
    let external = json!({"network": {"name": "x", "router:external": true}});
    let (status, _) = refused(
        &cloud,
        Method::POST,
        "/network/v2.0/networks",
        Some(external),
    )
    .await;
    assert_eq!(status, 403);
    let (status, error) =
        refused(&cloud, Method::GET, "/network/v2.0/networks?foo=bar", None).await;
    assert_eq!(
        (status, text(&error["message"])),
        (400, "['foo'] is invalid attribute for filtering")
    );
    let odd = cloud
        .call(&cloud.demo, Method::GET, "/network/v2.0/nonsense", None)
        .await;
    assert_eq!(odd.status, 501);
    let none = cloud
        .cloud
        .call(Method::GET, "/network/v2.0/networks", None, &[], None)
        .await
        .unwrap();
    assert_eq!(none.status, 401);
}

#[tokio::test]
async fn security_groups_need_port_security() {
    let cloud = Tried::start().await;
    let body = json!({"network": {"name": "open", "port_security_enabled": false}});
    let network = cloud.post("/network/v2.0/networks", body).await["network"]["id"].clone();
    let body = json!({"subnet": {"network_id": network, "cidr": "10.9.0.0/24", "ip_version": 4, "gateway_ip": null}});
    cloud.post("/network/v2.0/subnets", body).await;
    let plain = cloud
        .post(
            "/network/v2.0/ports",
            json!({"port": {"network_id": network}}),
        )
        .await;
    assert_eq!(plain["port"]["security_groups"], json!([]));
    assert_eq!(plain["port"]["fixed_ips"][0]["ip_address"], "10.9.0.1");
    let group = cloud
        .get("/network/v2.0/security-groups?name=default")
        .await["security_groups"][0]["id"]
        .clone();
    let body = json!({"port": {"network_id": network, "security_groups": [group]}});
    let (status, error) = refused(&cloud, Method::POST, "/network/v2.0/ports", Some(body)).await;
    assert_eq!(
        (status, text(&error["type"])),
        (400, "PortSecurityAndIPRequiredForSecurityGroups")
    );
}

#[tokio::test]
async fn tags_filters_and_pages() {
    let cloud = Tried::start().await;
    for name in ["a", "b", "c"] {
        cloud
            .post("/network/v2.0/networks", json!({"network": {"name": name}}))
            .await;
    }
    let own = format!("/network/v2.0/networks?project_id={}", seed::DEMO_PROJECT);
    let all = cloud.get(&own).await;
    assert_eq!(all["networks"].as_array().unwrap().len(), 3);
    let id = text(&all["networks"][1]["id"]).to_owned();
    let path = format!("/network/v2.0/networks/{id}/tags");
    let body = json!({"tags": ["q", "r"]});
    assert_eq!(
        cloud
            .call(&cloud.demo, Method::PUT, &path, Some(body.clone()))
            .await
            .body,
        body
    );
    let tagged = cloud.get("/network/v2.0/networks?tags=q,r").await;
    assert_eq!(tagged["networks"][0]["id"], json!(id));
    let (status, error) = refused(&cloud, Method::DELETE, &format!("{path}/zz"), None).await;
    assert_eq!((status, text(&error["type"])), (404, "TagNotFound"));
    let first = cloud.get(&format!("{own}&limit=2&fields=id")).await;
    let next = text(&first["networks_links"][0]["href"]);
    let next = &next[next.find("/network").unwrap()..];
    let rest = cloud.get(next).await;
    assert_eq!(rest["networks"].as_array().unwrap().len(), 1);
    assert_eq!(rest["networks"][0], json!({"id": all["networks"][2]["id"]}));
}

#[tokio::test]
async fn rules_are_checked_and_counted() {
    let cloud = Tried::start().await;
    let made = cloud
        .post(
            "/network/v2.0/security-groups",
            json!({"security_group": {"name": "g"}}),
        )
        .await;
    let group = made["security_group"]["id"].clone();
    let rule = |extra: Value| {
        let mut body = json!({"security_group_id": group, "direction": "ingress"});
        body.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        Some(json!({"security_group_rule": body}))
    };
    let path = "/network/v2.0/security-group-rules";
    let ssh = json!({"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"});
    assert_eq!(
        cloud
            .call(&cloud.demo, Method::POST, path, rule(ssh.clone()))
            .await
            .status,
        201
    );
    for (extra, status, kind) in [
        (ssh, 409, "SecurityGroupRuleExists"),
        (
            json!({"protocol": "foo"}),
            400,
            "SecurityGroupRuleInvalidProtocol",
        ),
        (
            json!({"protocol": "tcp", "port_range_min": 3, "port_range_max": 2}),
            400,
            "SecurityGroupInvalidPortRange",
        ),
        (
            json!({"port_range_min": 3, "port_range_max": 4}),
            400,
            "SecurityGroupProtocolRequiredWithPorts",
        ),
        (
            json!({"remote_ip_prefix": "fe80::/64"}),
            400,
            "SecurityGroupRuleParameterConflict",
        ),
    ] {
        let (code, error) = refused(&cloud, Method::POST, path, rule(extra)).await;
        assert_eq!((code, text(&error["type"])), (status, kind));
    }
    assert_eq!(
        cloud
            .call(
                &cloud.demo,
                Method::POST,
                path,
                rule(json!({"protocol": 4}))
            )
            .await
            .body["security_group_rule"]["protocol"],
        "4"
    );
}
