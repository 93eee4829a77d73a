//! Networks, subnets, routers, ports and floating IPs.

use http::Method;
use serde_json::{Map, Value, json};

use super::{Context, Created};
use crate::openstack::heat::failure::Failure;

const NET: &str = "neutron.network";
const SUBNET: &str = "neutron.subnet";
const PORT: &str = "neutron.port";
const ROUTER: &str = "neutron.router";

/// Plural path and singular key of the types that are one plain object.
fn plain(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "OS::Neutron::Net" => ("networks", "network"),
        "OS::Neutron::Subnet" => ("subnets", "subnet"),
        "OS::Neutron::Router" => ("routers", "router"),
        "OS::Neutron::Port" => ("ports", "port"),
        "OS::Neutron::SecurityGroup" => ("security-groups", "security_group"),
        "OS::Neutron::SecurityGroupRule" => ("security-group-rules", "security_group_rule"),
        _ => ("floatingips", "floatingip"),
    }
}

async fn fields(cx: &Context<'_>) -> Result<Map<String, Value>, Failure> {
    let mut body = match cx.resource.kind.as_str() {
        "OS::Neutron::Net" => {
            cx.body(&[
                ("admin_state_up", "admin_state_up", ""),
                ("port_security_enabled", "port_security_enabled", ""),
                ("dns_domain", "dns_domain", ""),
                ("availability_zone_hints", "availability_zone_hints", ""),
                ("tenant_id", "tenant_id", ""),
            ])
            .await?
        }
        "OS::Neutron::Subnet" => subnet(cx).await?,
        "OS::Neutron::Router" => router(cx).await?,
        "OS::Neutron::Port" => port(cx).await?,
        _ => {
            cx.body(&[
                ("floating_network", "floating_network_id", NET),
                ("floating_subnet", "subnet_id", SUBNET),
                ("port_id", "port_id", PORT),
                ("fixed_ip_address", "fixed_ip_address", ""),
                ("floating_ip_address", "floating_ip_address", ""),
                ("dns_name", "dns_name", ""),
                ("dns_domain", "dns_domain", ""),
            ])
            .await?
        }
    };
    if cx.flag("shared") {
        body.insert("shared".to_owned(), json!(true));
    }
    if cx.resource.kind != "OS::Neutron::FloatingIP" {
        body.insert("name".to_owned(), json!(cx.name()));
    }
    Ok(body)
}

async fn subnet(cx: &Context<'_>) -> Result<Map<String, Value>, Failure> {
    let mut body = cx
        .body(&[
            ("network", "network_id", NET),
            ("cidr", "cidr", ""),
            ("ip_version", "ip_version", ""),
            ("enable_dhcp", "enable_dhcp", ""),
            ("dns_nameservers", "dns_nameservers", ""),
            ("allocation_pools", "allocation_pools", ""),
            ("host_routes", "host_routes", ""),
            ("ipv6_address_mode", "ipv6_address_mode", ""),
            ("ipv6_ra_mode", "ipv6_ra_mode", ""),
            ("prefixlen", "prefixlen", ""),
            ("subnetpool", "subnetpool_id", ""),
            ("tenant_id", "tenant_id", ""),
        ])
        .await?;
    match cx.resource.properties.get("gateway_ip") {
        Some(Value::String(text)) if text.is_empty() => {
            body.insert("gateway_ip".to_owned(), Value::Null);
        }
        Some(Value::String(text)) => {
            body.insert("gateway_ip".to_owned(), json!(text));
        }
        _ => {}
    }
    Ok(body)
}

async fn router(cx: &Context<'_>) -> Result<Map<String, Value>, Failure> {
    let mut body = cx.body(&[("admin_state_up", "admin_state_up", "")]).await?;
    if let Some(Value::Object(gateway)) = cx.get("external_gateway_info") {
        let mut info = Map::new();
        if let Some(network) = gateway.get("network").and_then(Value::as_str) {
            info.insert("network_id".to_owned(), json!(cx.find(NET, network).await?));
        }
        if let Some(snat) = gateway.get("enable_snat") {
            info.insert("enable_snat".to_owned(), snat.clone());
        }
        if let Some(Value::Array(list)) = gateway.get("external_fixed_ips") {
            info.insert("external_fixed_ips".to_owned(), fixed_ips(cx, list).await?);
        }
        body.insert("external_gateway_info".to_owned(), Value::Object(info));
    }
    Ok(body)
}

async fn fixed_ips(cx: &Context<'_>, list: &[Value]) -> Result<Value, Failure> {
    let mut out = Vec::new();
    for item in list {
        let mut entry = Map::new();
        let subnet = ["subnet", "subnet_id"]
            .iter()
            .find_map(|k| item.get(k).and_then(Value::as_str));
        if let Some(subnet) = subnet.filter(|s| !s.is_empty()) {
            entry.insert(
                "subnet_id".to_owned(),
                json!(cx.find(SUBNET, subnet).await?),
            );
        }
        if let Some(address) = item.get("ip_address").filter(|v| !v.is_null()) {
            entry.insert("ip_address".to_owned(), address.clone());
        }
        out.push(Value::Object(entry));
    }
    Ok(Value::Array(out))
}

async fn port(cx: &Context<'_>) -> Result<Map<String, Value>, Failure> {
    let mut body = cx
        .body(&[
            ("network", "network_id", NET),
            ("admin_state_up", "admin_state_up", ""),
            ("allowed_address_pairs", "allowed_address_pairs", ""),
            ("binding:vnic_type", "binding:vnic_type", ""),
            ("dns_name", "dns_name", ""),
            ("mac_address", "mac_address", ""),
            ("port_security_enabled", "port_security_enabled", ""),
        ])
        .await?;
    for key in ["device_id", "device_owner"] {
        if !cx.text(key).is_empty() {
            body.insert(key.to_owned(), json!(cx.text(key)));
        }
    }
    if let Some(Value::Array(list)) = cx.get("fixed_ips") {
        body.insert("fixed_ips".to_owned(), fixed_ips(cx, list).await?);
    } else if cx.flag("no_fixed_ips") {
        body.insert("fixed_ips".to_owned(), json!([]));
    }
    if let Some(Value::Array(list)) = cx.get("security_groups") {
        let mut groups = Vec::new();
        for group in list.iter().filter_map(Value::as_str) {
            groups.push(json!(cx.find("neutron.security_group", group).await?));
        }
        body.insert("security_groups".to_owned(), Value::Array(groups));
    }
    if let Some(Value::Array(pairs)) = body.get_mut("allowed_address_pairs") {
        for pair in pairs.iter_mut().filter_map(Value::as_object_mut) {
            pair.retain(|_, v| !v.is_null());
        }
    }
    Ok(body)
}

async fn set_tags(cx: &Context<'_>, path: &str, id: &str) -> Result<(), Failure> {
    if let Some(tags @ Value::Array(_)) = cx.get("tags") {
        cx.client
            .put(
                &format!("/network/v2.0/{path}/{id}/tags"),
                json!({"tags": tags}),
            )
            .await?;
    }
    Ok(())
}

pub(super) async fn create(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    match cx.resource.kind.as_str() {
        "OS::Neutron::RouterInterface" => return add_interface(cx).await,
        "OS::Neutron::FloatingIPAssociation" => {
            associate(cx, false).await?;
            return Ok(Created::id(format!(
                "{}:{}",
                cx.text("floatingip_id"),
                cx.text("port_id")
            )));
        }
        _ => {}
    }
    let (path, key) = plain(&cx.resource.kind);
    let body = cx
        .client
        .post(
            &format!("/network/v2.0/{path}"),
            json!({key: fields(cx).await?}),
        )
        .await?;
    let created = Created::of(&body, key)?;
    if let Some(created) = &created {
        set_tags(cx, path, &created.id).await?;
    }
    Ok(created)
}

async fn add_interface(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let router = cx.find(ROUTER, cx.text("router")).await?;
    let (name, id) = match cx.text("port") {
        "" => ("subnet_id", cx.find(SUBNET, cx.text("subnet")).await?),
        port => ("port_id", cx.find(PORT, port).await?),
    };
    let path = format!("/network/v2.0/routers/{router}/add_router_interface");
    cx.client.put(&path, json!({name: id})).await?;
    Ok(Created::id(format!("{router}:{name}={id}")))
}

async fn associate(cx: &Context<'_>, clear: bool) -> Result<(), Failure> {
    let floating = match cx.resource.physical_id.as_deref() {
        Some(id) if clear => id.split(':').next().unwrap_or_default().to_owned(),
        _ => cx.text("floatingip_id").to_owned(),
    };
    let mut body = json!({"port_id": if clear { Value::Null } else { json!(cx.text("port_id")) }});
    if let (false, Some(address)) = (clear, cx.get("fixed_ip_address")) {
        body["fixed_ip_address"] = address.clone();
    }
    cx.client
        .put(
            &format!("/network/v2.0/floatingips/{floating}"),
            json!({"floatingip": body}),
        )
        .await?;
    Ok(())
}

pub(super) async fn update(cx: &Context<'_>, changed: &[&str]) -> Result<(), Failure> {
    let kind = cx.resource.kind.as_str();
    if kind == "OS::Neutron::FloatingIPAssociation" {
        return associate(cx, false).await;
    }
    let (path, key) = plain(kind);
    let mut body = fields(cx).await?;
    let sent = |field: &String| {
        changed.contains(&field.as_str())
            || (field == "name" && changed.contains(&"name"))
            || (field == "fixed_ips" && changed.contains(&"no_fixed_ips"))
    };
    body.retain(|field, _| sent(field));
    if kind == "OS::Neutron::FloatingIP"
        && changed.contains(&"port_id")
        && cx.get("port_id").is_none()
    {
        body.insert("port_id".to_owned(), Value::Null);
    }
    if !body.is_empty() {
        cx.client
            .put(
                &format!("/network/v2.0/{path}/{}", cx.id()),
                json!({key: body}),
            )
            .await?;
    }
    if changed.contains(&"tags") {
        set_tags(cx, path, cx.id()).await?;
    }
    Ok(())
}

pub(super) async fn delete(cx: &Context<'_>) -> Result<bool, Failure> {
    let gone = |failure: Failure| {
        if failure.status.as_u16() == 404 {
            Ok(true)
        } else {
            Err(failure)
        }
    };
    match cx.resource.kind.as_str() {
        "OS::Neutron::RouterInterface" => {
            let (router, rest) = cx.id().split_once(':').unwrap_or_default();
            let (name, id) = rest.split_once('=').unwrap_or_default();
            let path = format!("/network/v2.0/routers/{router}/remove_router_interface");
            cx.client
                .put(&path, json!({name: id}))
                .await
                .map(|_| true)
                .or_else(gone)
        }
        "OS::Neutron::FloatingIPAssociation" => {
            associate(cx, true).await.map(|()| true).or_else(gone)
        }
        kind => {
            let (path, _) = plain(kind);
            cx.client
                .send(
                    Method::DELETE,
                    &format!("/network/v2.0/{path}/{}", cx.id()),
                    None,
                )
                .await
                .map(|_| true)
                .or_else(gone)
        }
    }
}

pub(super) async fn live(cx: &Context<'_>) -> Result<Value, Failure> {
    let kind = cx.resource.kind.as_str();
    if kind == "OS::Neutron::RouterInterface" || kind == "OS::Neutron::FloatingIPAssociation" {
        return Ok(json!({}));
    }
    let (path, key) = plain(kind);
    let mut object = cx
        .client
        .get(&format!("/network/v2.0/{path}/{}", cx.id()))
        .await?[key]
        .clone();
    if kind == "OS::Neutron::Port" {
        let fixed = object["fixed_ips"].as_array().cloned().unwrap_or_default();
        let mut subnets = Vec::new();
        for id in fixed.iter().filter_map(|f| f["subnet_id"].as_str()) {
            subnets.push(
                cx.client
                    .get(&format!("/network/v2.0/subnets/{id}"))
                    .await?["subnet"]
                    .clone(),
            );
        }
        object["subnets"] = json!(subnets);
    }
    Ok(object)
}
