//! Load balancers and what hangs on them. A load balancer that is busy answers 409; Heat tries again.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{Context, Created};
use crate::openstack::heat::failure::Failure;

const BASE: &str = "/load-balancer/v2/lbaas";
const LB: &str = "octavia.loadbalancer";
const LISTENER: &str = "octavia.listener";
const POOL: &str = "octavia.pool";
const SUBNET: &str = "neutron.subnet";

type Row = (&'static str, &'static str, &'static str);

const LOAD_BALANCER: [Row; 8] = [
    ("vip_subnet", "vip_subnet_id", SUBNET),
    ("vip_address", "vip_address", ""),
    ("provider", "provider", ""),
    ("description", "description", ""),
    ("admin_state_up", "admin_state_up", ""),
    ("flavor", "flavor_id", ""),
    ("availability_zone", "availability_zone", ""),
    ("tenant_id", "project_id", ""),
];
const LISTENERS: [Row; 10] = [
    ("loadbalancer", "loadbalancer_id", LB),
    ("default_pool", "default_pool_id", POOL),
    ("protocol", "protocol", ""),
    ("protocol_port", "protocol_port", ""),
    ("connection_limit", "connection_limit", ""),
    ("allowed_cidrs", "allowed_cidrs", ""),
    ("description", "description", ""),
    ("admin_state_up", "admin_state_up", ""),
    ("default_tls_container_ref", "default_tls_container_ref", ""),
    ("sni_container_refs", "sni_container_refs", ""),
];
const POOLS: [Row; 8] = [
    ("loadbalancer", "loadbalancer_id", LB),
    ("listener", "listener_id", LISTENER),
    ("lb_algorithm", "lb_algorithm", ""),
    ("protocol", "protocol", ""),
    ("session_persistence", "session_persistence", ""),
    ("description", "description", ""),
    ("admin_state_up", "admin_state_up", ""),
    ("tls_enabled", "tls_enabled", ""),
];
const MEMBERS: [Row; 8] = [
    ("address", "address", ""),
    ("protocol_port", "protocol_port", ""),
    ("subnet", "subnet_id", SUBNET),
    ("weight", "weight", ""),
    ("monitor_address", "monitor_address", ""),
    ("monitor_port", "monitor_port", ""),
    ("admin_state_up", "admin_state_up", ""),
    ("tags", "tags", ""),
];
const MONITORS: [Row; 9] = [
    ("pool", "pool_id", POOL),
    ("type", "type", ""),
    ("delay", "delay", ""),
    ("timeout", "timeout", ""),
    ("max_retries", "max_retries", ""),
    ("http_method", "http_method", ""),
    ("url_path", "url_path", ""),
    ("expected_codes", "expected_codes", ""),
    ("admin_state_up", "admin_state_up", ""),
];

struct Shape {
    path: String,
    key: &'static str,
    rows: &'static [Row],
    named: bool,
}

async fn shape(cx: &Context<'_>) -> Result<Shape, Failure> {
    let new = |path: String, key, rows, named| Shape {
        path,
        key,
        rows,
        named,
    };
    Ok(match cx.resource.kind.as_str() {
        "OS::Octavia::LoadBalancer" => new(
            format!("{BASE}/loadbalancers"),
            "loadbalancer",
            &LOAD_BALANCER[..],
            true,
        ),
        "OS::Octavia::Listener" => new(
            format!("{BASE}/listeners"),
            "listener",
            &LISTENERS[..],
            true,
        ),
        "OS::Octavia::Pool" => new(format!("{BASE}/pools"), "pool", &POOLS[..], true),
        "OS::Octavia::PoolMember" => {
            let pool = cx.find(POOL, cx.text("pool")).await?;
            new(
                format!("{BASE}/pools/{pool}/members"),
                "member",
                &MEMBERS[..],
                false,
            )
        }
        "OS::Octavia::HealthMonitor" => new(
            format!("{BASE}/healthmonitors"),
            "healthmonitor",
            &MONITORS[..],
            false,
        ),
        other => return Err(Failure::unsupported(format!("the resource type {other}"))),
    })
}

async fn fields(cx: &Context<'_>, shape: &Shape) -> Result<Map<String, Value>, Failure> {
    let mut body = cx.body(shape.rows).await?;
    body.retain(|_, v| *v != json!("") && !v.is_null());
    if let Some(Value::Object(persistence)) = body.get_mut("session_persistence") {
        persistence.retain(|_, v| !v.is_null());
    }
    if shape.named {
        body.insert("name".to_owned(), json!(cx.name()));
    }
    Ok(body)
}

fn busy(failure: &Failure) -> bool {
    failure.status == StatusCode::CONFLICT
}

pub(super) async fn create(cx: &Context<'_>) -> Result<Option<Created>, Failure> {
    let shape = shape(cx).await?;
    let body = json!({shape.key: fields(cx, &shape).await?});
    match cx.client.post(&shape.path, body).await {
        Ok(answer) => Created::of(&answer, shape.key),
        Err(failure) if busy(&failure) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Whether the object is `ACTIVE`.
pub(super) async fn settled(cx: &Context<'_>) -> Result<bool, Failure> {
    let shape = shape(cx).await?;
    let body = cx
        .client
        .get(&format!("{}/{}", shape.path, cx.id()))
        .await?;
    match body[shape.key]["provisioning_status"].as_str() {
        Some("ACTIVE") => Ok(true),
        Some("ERROR") => Err(Failure::new(
            "ResourceInError",
            "Went to status ERROR due to \"Unknown\"",
        )),
        _ => Ok(false),
    }
}

pub(super) async fn update(cx: &Context<'_>, changed: &[&str]) -> Result<Option<()>, Failure> {
    let shape = shape(cx).await?;
    let mut body = fields(cx, &shape).await?;
    let sent: Vec<&str> = shape
        .rows
        .iter()
        .filter(|(p, _, _)| changed.contains(p))
        .map(|(_, f, _)| *f)
        .collect();
    body.retain(|field, _| {
        sent.contains(&field.as_str()) || (field == "name" && changed.contains(&"name"))
    });
    for (property, field, _) in shape.rows.iter().filter(|(p, _, _)| changed.contains(p)) {
        if cx.get(property).is_none() {
            body.insert((*field).to_owned(), Value::Null);
        }
    }
    match cx
        .client
        .put(
            &format!("{}/{}", shape.path, cx.id()),
            json!({shape.key: body}),
        )
        .await
    {
        Ok(_) => Ok(Some(())),
        Err(failure) if busy(&failure) => Ok(None),
        Err(failure) => Err(failure),
    }
}

pub(super) async fn delete(cx: &Context<'_>) -> Result<bool, Failure> {
    let shape = match shape(cx).await {
        Ok(shape) => shape,
        // The pool of a member is gone, and the member with it.
        Err(failure) if failure.status == StatusCode::NOT_FOUND => return Ok(true),
        Err(failure) => return Err(failure),
    };
    match cx
        .client
        .send(Method::DELETE, &format!("{}/{}", shape.path, cx.id()), None)
        .await
    {
        Ok(_) => Ok(true),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(true),
        Err(failure) if busy(&failure) => Ok(false),
        Err(failure) => Err(failure),
    }
}

pub(super) async fn deleted(cx: &Context<'_>) -> Result<bool, Failure> {
    let found = match shape(cx).await {
        Ok(shape) => cx
            .client
            .get(&format!("{}/{}", shape.path, cx.id()))
            .await
            .map(|b| b[shape.key].clone()),
        Err(failure) => Err(failure),
    };
    match found {
        Ok(object) => Ok(object["provisioning_status"] == "DELETED"),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(true),
        Err(failure) => Err(failure),
    }
}

pub(super) async fn live(cx: &Context<'_>) -> Result<Value, Failure> {
    let shape = shape(cx).await?;
    Ok(cx
        .client
        .get(&format!("{}/{}", shape.path, cx.id()))
        .await?[shape.key]
        .clone())
}
