//! Listeners, pools, members and health monitors.

use std::net::IpAddr;
use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value, json};

use super::super::ask::{Answer, Ask};
use super::super::neutron::Neutron;
use super::super::{ApiError, Build};
use super::model::{Kind, OctaviaState, Part, fault, missing, refused};
use super::{Octavia, provider, routes};

const HTTP_ONLY: [&str; 5] = [
    "http_method",
    "url_path",
    "expected_codes",
    "http_version",
    "domain_name",
];

impl Octavia {
    /// A part the caller may use.
    fn part(&self, ask: &Ask, kind: Kind, id: &str) -> Result<Part, ApiError> {
        let found = self
            .state
            .read(|s| s.parts.get(id).filter(|p| p.kind == kind).cloned());
        let found = found.ok_or_else(|| missing(kind.title(), id))?;
        if ask.caller.sees(&found.project_id) {
            Ok(found)
        } else {
            Err(refused())
        }
    }

    /// `/listeners`, `/pools`, `/healthmonitors`, and `/pools/{pool}/members` when a pool is given.
    pub(super) fn parts(
        self: &Arc<Self>,
        ask: &Ask,
        kind: Kind,
        pool: Option<&str>,
        rest: &[&str],
    ) -> Result<Answer, ApiError> {
        if let Some(pool) = pool
            && let Err(error) = self.part(ask, Kind::Pool, pool)
        {
            // The pool is looked up before the API's own error handler is in place.
            if error.status() == http::StatusCode::NOT_FOUND {
                let body =
                    json!({"code": 404, "title": "Bad Request", "description": error.message()});
                return Ok(Answer::json(404, body));
            }
            return Err(error);
        }
        let mine = |part: &&Part| {
            part.kind == kind
                && ask.caller.sees(&part.project_id)
                && pool.is_none_or(|p| part.pool_id.as_deref() == Some(p))
        };
        let find = |id: &str| {
            let part = self.part(ask, kind, id)?;
            if mine(&&part) {
                Ok(part)
            } else {
                Err(missing(kind.title(), id))
            }
        };
        match (&ask.method, rest) {
            (&Method::GET, []) => {
                let views = self.state.read(|s| {
                    s.parts
                        .values()
                        .filter(mine)
                        .map(|p| s.part_view(&ask.cloud, p))
                        .collect()
                });
                let path = pool.map_or_else(
                    || kind.plural().to_owned(),
                    |pool| format!("pools/{pool}/members"),
                );
                routes::list(ask, kind.plural(), &path, views)
            }
            (&Method::POST, []) => self.create_part(ask, kind, pool),
            (&Method::GET, [id]) => {
                let part = find(id)?;
                let view = self.state.read(|s| s.part_view(&ask.cloud, &part));
                Ok(Answer::json(200, json!({kind.singular(): view})))
            }
            (&Method::PUT, [id]) => {
                let part = find(id)?;
                self.update_part(ask, &part)
            }
            (&Method::DELETE, [id]) => {
                let part = find(id)?;
                self.delete_part(ask, &part)
            }
            (&Method::PUT, []) if kind == Kind::Member => {
                self.replace_members(ask, pool.unwrap_or_default())
            }
            _ => Err(ask.unknown()),
        }
    }

    fn create_part(
        self: &Arc<Self>,
        ask: &Ask,
        kind: Kind,
        pool: Option<&str>,
    ) -> Result<Answer, ApiError> {
        let empty = Map::new();
        let body = ask.object(kind.singular()).unwrap_or(&empty);
        let fields = read_fields(kind, body)?;
        let text = |key: &str| {
            body.get(key)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        for key in ["default_pool", "members", "healthmonitor", "l7policies"] {
            if body
                .get(key)
                .is_some_and(|v| !v.is_null() && v != &json!([]))
            {
                return Err(ask.unknown());
            }
        }
        let pool = pool
            .or_else(|| text("pool_id").filter(|_| kind == Kind::Monitor))
            .map(str::to_owned);
        let listener = text("listener_id").filter(|_| kind == Kind::Pool);
        let balancer = match (kind, text("loadbalancer_id"), listener, &pool) {
            (Kind::Pool, _, Some(listener), _) => {
                self.part(ask, Kind::Listener, listener)?.balancer_id
            }
            (Kind::Listener | Kind::Pool, Some(id), None, _) => id.to_owned(),
            (Kind::Pool, None, None, _) => {
                return Err(fault(
                    400,
                    "Validation failure: Must provide at least one of: loadbalancer_id, listener_id",
                ));
            }
            (Kind::Member | Kind::Monitor, _, _, Some(pool)) => {
                self.part(ask, Kind::Pool, pool)?.balancer_id
            }
            _ => {
                let key = if kind == Kind::Listener {
                    "loadbalancer_id"
                } else {
                    "pool_id"
                };
                return Err(mandatory(key));
            }
        };
        let lb = self.balancer(ask, &balancer)?;
        if kind == Kind::Member {
            check_member_subnet(ask, &fields)?;
        }
        let now = ask.cloud.now();
        let part = Part {
            id: ask.cloud.uuid(),
            kind,
            project_id: lb.project_id.clone(),
            balancer_id: balancer.clone(),
            pool_id: pool.clone(),
            provisioning: "PENDING_CREATE".to_owned(),
            fields,
            created_at: now,
            updated_at: None,
        };
        let view = self.state.write(|s| {
            unlocked(s, &balancer, pool.as_deref())?;
            s.reserve(&part.project_id, kind.quota(), kind.title())?;
            check_unique(s, &part, listener)?;
            provider::check(&lb.provider, kind, &part.fields)?;
            s.lock(&balancer, pool.as_deref(), now)?;
            if let Some(listener) = listener.and_then(|id| s.parts.get_mut(id)) {
                listener
                    .fields
                    .insert("default_pool_id".into(), part.id.clone().into());
                "PENDING_UPDATE".clone_into(&mut listener.provisioning);
            }
            s.parts.insert(part.id.clone(), part.clone());
            Ok::<_, ApiError>(s.part_view(&ask.cloud, &part))
        })?;
        self.start(&ask.cloud, &balancer, Build::LoadBalancerChange);
        Ok(Answer::json(201, json!({kind.singular(): view})))
    }

    fn update_part(self: &Arc<Self>, ask: &Ask, part: &Part) -> Result<Answer, ApiError> {
        let kind = part.kind;
        let empty = Map::new();
        let body = ask.object(kind.singular()).unwrap_or(&empty);
        let known = kind.attributes();
        for key in body.keys() {
            let fixed = matches!(
                key.as_str(),
                "protocol" | "protocol_port" | "address" | "subnet_id" | "type"
            );
            if fixed && !(kind == Kind::Listener && key == "default_pool_id")
                || !known.iter().any(|(name, _)| name == key)
            {
                return Err(unknown_attribute(kind, key));
            }
        }
        let lb = self.balancer(ask, &part.balancer_id)?;
        let now = ask.cloud.now();
        let mut fields = part.fields.clone();
        fields.extend(body.iter().map(|(key, value)| (key.clone(), value.clone())));
        let pool = if kind == Kind::Pool {
            None
        } else {
            part.pool_id.as_deref()
        };
        let view = self.state.write(|s| {
            unlocked(s, &part.balancer_id, pool)?;
            provider::check(&lb.provider, kind, &fields)?;
            s.lock(&part.balancer_id, pool, now)?;
            let part = s
                .parts
                .get_mut(&part.id)
                .ok_or_else(|| missing(kind.title(), &part.id))?;
            part.fields = fields;
            "PENDING_UPDATE".clone_into(&mut part.provisioning);
            part.updated_at = Some(now);
            let part = part.clone();
            Ok::<_, ApiError>(s.part_view(&ask.cloud, &part))
        })?;
        self.start(&ask.cloud, &part.balancer_id, Build::LoadBalancerChange);
        Ok(Answer::json(200, json!({kind.singular(): view})))
    }

    fn delete_part(self: &Arc<Self>, ask: &Ask, part: &Part) -> Result<Answer, ApiError> {
        let now = ask.cloud.now();
        self.state.write(|s| {
            s.lock(&part.balancer_id, part.pool_id.as_deref(), now)?;
            for other in s.parts.values_mut() {
                if other.id == part.id
                    || (part.kind == Kind::Pool && other.pool_id.as_ref() == Some(&part.id))
                {
                    "PENDING_DELETE".clone_into(&mut other.provisioning);
                }
            }
            Ok::<_, ApiError>(())
        })?;
        self.start(&ask.cloud, &part.balancer_id, Build::LoadBalancerChange);
        Ok(Answer::empty(204))
    }

    fn replace_members(self: &Arc<Self>, ask: &Ask, pool: &str) -> Result<Answer, ApiError> {
        let additive = ask
            .param("additive_only")
            .is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let holder = self.part(ask, Kind::Pool, pool)?;
        let wanted = ask
            .body
            .get("members")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut new = Vec::new();
        for body in &wanted {
            let fields = read_fields(Kind::Member, body.as_object().unwrap_or(&Map::new()))?;
            check_member_subnet(ask, &fields)?;
            new.push(fields);
        }
        let now = ask.cloud.now();
        self.state.write(|s| {
            s.lock(&holder.balancer_id, Some(pool), now)?;
            let same = |fields: &Map<String, Value>, part: &Part| {
                fields["address"] == part.fields["address"]
                    && fields["protocol_port"] == part.fields["protocol_port"]
            };
            for part in s
                .parts
                .values_mut()
                .filter(|p| p.kind == Kind::Member && p.pool_id.as_deref() == Some(pool))
            {
                match new.iter().position(|fields| same(fields, part)) {
                    Some(at) => {
                        part.fields = new.swap_remove(at);
                        "PENDING_UPDATE".clone_into(&mut part.provisioning);
                    }
                    None if !additive => "PENDING_DELETE".clone_into(&mut part.provisioning),
                    None => {}
                }
            }
            for fields in new {
                let part = Part {
                    id: ask.cloud.uuid(),
                    kind: Kind::Member,
                    project_id: holder.project_id.clone(),
                    balancer_id: holder.balancer_id.clone(),
                    pool_id: Some(pool.to_owned()),
                    provisioning: "PENDING_CREATE".to_owned(),
                    fields,
                    created_at: now,
                    updated_at: None,
                };
                s.parts.insert(part.id.clone(), part);
            }
            Ok::<_, ApiError>(())
        })?;
        self.start(&ask.cloud, &holder.balancer_id, Build::LoadBalancerChange);
        Ok(Answer::empty(202))
    }
}

/// Refuses while pending, before anything else is looked at.
fn unlocked(s: &OctaviaState, balancer: &str, pool: Option<&str>) -> Result<(), ApiError> {
    if pool
        .and_then(|id| s.parts.get(id))
        .is_some_and(|p| p.provisioning != "ACTIVE")
    {
        return Err(fault(
            409,
            format!(
                "Pool {} is immutable and cannot be updated.",
                pool.unwrap_or_default()
            ),
        ));
    }
    if s.balancers
        .get(balancer)
        .is_some_and(|b| b.provisioning != "ACTIVE")
    {
        return Err(fault(
            409,
            format!("Load Balancer {balancer} is immutable and cannot be updated."),
        ));
    }
    Ok(())
}

fn mandatory(name: &str) -> ApiError {
    let why = "Mandatory field missing.";
    fault(
        400,
        format!("Invalid input for field/attribute {name}. Value: 'None'. {why}"),
    )
}

fn unknown_attribute(kind: Kind, key: &str) -> ApiError {
    let argument = if kind == Kind::Monitor {
        "health_monitor"
    } else {
        kind.singular()
    };
    fault(
        400,
        format!(
            "Unknown attribute for argument {argument}_.{}: {key}",
            kind.singular()
        ),
    )
}

fn read_fields(kind: Kind, body: &Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    let known = kind.attributes();
    let parents: &[&str] = match kind {
        Kind::Listener => &["loadbalancer_id", "default_pool"],
        Kind::Pool => &["loadbalancer_id", "listener_id", "members", "healthmonitor"],
        Kind::Member => &["request_sriov"],
        Kind::Monitor => &["pool_id"],
    };
    for key in body.keys() {
        let common = matches!(key.as_str(), "project_id" | "tenant_id");
        if !common && !parents.contains(&key.as_str()) && !known.iter().any(|(name, _)| name == key)
        {
            return Err(unknown_attribute(kind, key));
        }
    }
    let mut fields = Map::new();
    for (name, default) in known {
        let given = body.get(name).filter(|value| !value.is_null());
        let value = match (given, default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => default,
            (None, None) => {
                return Err(mandatory(name));
            }
        };
        fields.insert(name.to_owned(), value);
    }
    check_values(kind, &mut fields)?;
    Ok(fields)
}

fn check_values(kind: Kind, fields: &mut Map<String, Value>) -> Result<(), ApiError> {
    let text = |fields: &Map<String, Value>, key: &str| {
        fields
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if kind == Kind::Member {
        let address = text(fields, "address");
        if address.parse::<IpAddr>().is_err() {
            let why = "Value should be IPv4 or IPv6 format";
            return Err(fault(
                400,
                format!("Invalid input for field/attribute address. Value: '{address}'. {why}"),
            ));
        }
    }
    if let Some(port) = fields.get("protocol_port")
        && !port.as_u64().is_some_and(|n| (1..=65535).contains(&n))
    {
        return Err(fault(
            400,
            format!(
                "Invalid input for field/attribute protocol_port. Value: '{port}'. Value should be lower or equal to 65535"
            ),
        ));
    }
    if kind == Kind::Pool {
        const KNOWN: [&str; 4] = [
            "LEAST_CONNECTIONS",
            "ROUND_ROBIN",
            "SOURCE_IP_PORT",
            "SOURCE_IP",
        ];
        let algorithm = text(fields, "lb_algorithm");
        if !KNOWN.contains(&algorithm.as_str()) {
            let why = format!("Value should be one of: {}", KNOWN.join(", "));
            let text = format!(
                "Invalid input for field/attribute lb_algorithm. Value: '{algorithm}'. {why}"
            );
            return Err(fault(400, text));
        }
    }
    if kind == Kind::Monitor {
        let monitor = text(fields, "type");
        let http = matches!(monitor.as_str(), "HTTP" | "HTTPS");
        if let Some(key) = HTTP_ONLY
            .iter()
            .find(|key| !http && fields.get(**key).is_some_and(|v| !v.is_null()))
        {
            return Err(fault(
                400,
                format!("{key} is not a valid option for health monitors of type {monitor}"),
            ));
        }
        if http {
            for (key, default) in [
                ("http_method", "GET"),
                ("url_path", "/"),
                ("expected_codes", "200"),
            ] {
                if fields.get(key).is_none_or(Value::is_null) {
                    fields.insert(key.to_owned(), default.into());
                }
            }
        }
    }
    Ok(())
}

fn check_member_subnet(ask: &Ask, fields: &Map<String, Value>) -> Result<(), ApiError> {
    let Some(subnet) = fields.get("subnet_id").and_then(Value::as_str) else {
        return Ok(());
    };
    let known = ask
        .cloud
        .service::<Neutron>()
        .state
        .read(|s| s.subnet(&ask.caller, subnet).is_ok());
    if known {
        Ok(())
    } else {
        Err(fault(400, format!("Subnet {subnet} not found.")))
    }
}

fn check_unique(s: &OctaviaState, part: &Part, listener: Option<&str>) -> Result<(), ApiError> {
    let same = |other: &Part, key: &str| other.fields.get(key) == part.fields.get(key);
    match part.kind {
        Kind::Listener => {
            let twin = s
                .parts_of(&part.balancer_id, Kind::Listener)
                .find(|l| same(l, "protocol_port") && same(l, "protocol"));
            if twin.is_some() {
                let (protocol, port) = (
                    part.fields["protocol"].as_str().unwrap_or_default(),
                    &part.fields["protocol_port"],
                );
                return Err(fault(
                    409,
                    format!(
                        "Another Listener on this Load Balancer is already using protocol {protocol} and protocol_port {port}"
                    ),
                ));
            }
        }
        Kind::Pool => {
            let taken = listener
                .and_then(|id| s.parts.get(id))
                .is_some_and(|l| !l.fields["default_pool_id"].is_null());
            if taken {
                return Err(fault(409, "This listener already has a default pool"));
            }
        }
        Kind::Member => {
            let pool = part.pool_id.as_deref().unwrap_or_default();
            if s.parts_in(pool, Kind::Member)
                .any(|m| same(m, "address") && same(m, "protocol_port"))
            {
                let (ip, port) = (
                    part.fields["address"].as_str().unwrap_or_default(),
                    &part.fields["protocol_port"],
                );
                return Err(fault(
                    409,
                    format!(
                        "Another member on this pool is already using ip {ip} on protocol_port {port}"
                    ),
                ));
            }
        }
        Kind::Monitor => {
            let pool = part.pool_id.as_deref().unwrap_or_default();
            if s.parts_in(pool, Kind::Monitor).next().is_some() {
                return Err(fault(409, "This pool already has a health monitor"));
            }
        }
    }
    Ok(())
}
