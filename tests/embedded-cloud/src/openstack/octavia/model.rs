//! What Octavia keeps.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use http::StatusCode;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::{ApiError, ServiceKind};

/// The kinds below a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Listener.
    Listener,
    /// Pool.
    Pool,
    /// Member of a pool.
    Member,
    /// Health monitor of a pool.
    Monitor,
}

impl Kind {
    /// The name in messages.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Listener => "Listener",
            Self::Pool => "Pool",
            Self::Member => "Member",
            Self::Monitor => "Health Monitor",
        }
    }

    /// The key of one in bodies.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Listener => "listener",
            Self::Pool => "pool",
            Self::Member => "member",
            Self::Monitor => "healthmonitor",
        }
    }

    /// The key of lists, and the path.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Listener => "listeners",
            Self::Pool => "pools",
            Self::Member => "members",
            Self::Monitor => "healthmonitors",
        }
    }

    /// The name of its quota.
    #[must_use]
    pub const fn quota(self) -> &'static str {
        match self {
            Self::Listener => "listener",
            Self::Pool => "pool",
            Self::Member => "member",
            Self::Monitor => "health_monitor",
        }
    }

    /// The attributes a user may set, with their defaults. Those without default must be given.
    #[must_use]
    pub fn attributes(self) -> Vec<(&'static str, Option<Value>)> {
        let null = || Some(Value::Null);
        let tls = || {
            [
                ("tls_ciphers", null()),
                ("tls_versions", null()),
                ("alpn_protocols", null()),
            ]
        };
        let mut all = vec![
            ("name", Some(json!(""))),
            ("admin_state_up", Some(json!(true))),
            ("tags", Some(json!([]))),
        ];
        match self {
            Self::Listener => {
                all.extend([
                    ("description", Some(json!(""))),
                    ("protocol", None),
                    ("protocol_port", None),
                    ("connection_limit", Some(json!(-1))),
                    ("default_tls_container_ref", null()),
                    ("sni_container_refs", Some(json!([]))),
                    ("default_pool_id", null()),
                    ("l7policies", Some(json!([]))),
                    ("insert_headers", Some(json!({}))),
                    ("timeout_client_data", Some(json!(50000))),
                    ("timeout_member_connect", Some(json!(5000))),
                    ("timeout_member_data", Some(json!(50000))),
                    ("timeout_tcp_inspect", Some(json!(0))),
                    ("client_ca_tls_container_ref", null()),
                    ("client_authentication", Some(json!("NONE"))),
                    ("client_crl_container_ref", null()),
                    ("allowed_cidrs", null()),
                    ("hsts_max_age", null()),
                    ("hsts_include_subdomains", Some(json!(false))),
                    ("hsts_preload", Some(json!(false))),
                ]);
                all.extend(tls());
            }
            Self::Pool => {
                all.extend([
                    ("description", Some(json!(""))),
                    ("protocol", None),
                    ("lb_algorithm", None),
                    ("session_persistence", null()),
                    ("tls_container_ref", null()),
                    ("ca_tls_container_ref", null()),
                    ("crl_container_ref", null()),
                    ("tls_enabled", Some(json!(false))),
                ]);
                all.extend(tls());
            }
            Self::Member => all.extend([
                ("address", None),
                ("protocol_port", None),
                ("weight", Some(json!(1))),
                ("backup", Some(json!(false))),
                ("subnet_id", null()),
                ("monitor_address", null()),
                ("monitor_port", null()),
            ]),
            Self::Monitor => all.extend([
                ("type", None),
                ("delay", None),
                ("timeout", None),
                ("max_retries", None),
                ("max_retries_down", Some(json!(3))),
                ("http_method", null()),
                ("url_path", null()),
                ("expected_codes", null()),
                ("http_version", null()),
                ("domain_name", null()),
            ]),
        }
        all
    }
}

/// A listener, pool, member or monitor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// Id.
    pub id: String,
    /// Kind.
    pub kind: Kind,
    /// Owner.
    pub project_id: String,
    /// The load balancer.
    pub balancer_id: String,
    /// The pool of a member or monitor.
    pub pool_id: Option<String>,
    /// `PENDING_CREATE`, `ACTIVE`, ...
    pub provisioning: String,
    /// Every attribute of [`Kind::attributes`].
    pub fields: Map<String, Value>,
    /// Made.
    pub created_at: DateTime<Utc>,
    /// Changed.
    pub updated_at: Option<DateTime<Utc>>,
}

/// A load balancer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Balancer {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Owner.
    pub project_id: String,
    /// On as the owner wants it.
    pub admin_state_up: bool,
    /// `PENDING_CREATE`, `ACTIVE`, ...
    pub provisioning: String,
    /// `ovn` or `amphora`.
    pub provider: String,
    /// Address of the VIP.
    pub vip_address: String,
    /// Its port.
    pub vip_port_id: String,
    /// The port was made for it and ends with it.
    pub own_port: bool,
    /// Its subnet.
    pub vip_subnet_id: String,
    /// Its network.
    pub vip_network_id: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Availability zone.
    pub availability_zone: Option<String>,
    /// Made.
    pub created_at: DateTime<Utc>,
    /// Changed.
    pub updated_at: Option<DateTime<Utc>>,
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OctaviaState {
    /// Load balancers by id.
    pub balancers: IndexMap<String, Balancer>,
    /// Listeners, pools, members and monitors by id.
    pub parts: IndexMap<String, Part>,
    /// Limits by project and resource.
    pub quotas: BTreeMap<String, BTreeMap<String, i64>>,
}

/// Resources that have a quota; none is limited by default.
pub const QUOTAS: [&str; 7] = [
    "load_balancer",
    "listener",
    "member",
    "pool",
    "health_monitor",
    "l7policy",
    "l7rule",
];

/// An error of Octavia.
pub(super) fn fault(status: u16, message: impl Into<String>) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = if status.is_server_error() {
        "Server"
    } else {
        "Client"
    };
    ApiError::new(ServiceKind::Octavia, status, kind, message)
}

/// 404.
pub(super) fn missing(title: &str, id: &str) -> ApiError {
    fault(404, format!("{title} {id} not found."))
}

/// 403 for everything that is not allowed.
pub(super) fn refused() -> ApiError {
    fault(403, "Policy does not allow this request to be performed.")
}

impl OctaviaState {
    /// The parts of a load balancer of one kind.
    pub fn parts_of<'a>(&'a self, balancer: &'a str, kind: Kind) -> impl Iterator<Item = &'a Part> {
        self.parts
            .values()
            .filter(move |p| p.balancer_id == balancer && p.kind == kind)
    }

    /// The parts of a pool of one kind.
    pub fn parts_in<'a>(&'a self, pool: &'a str, kind: Kind) -> impl Iterator<Item = &'a Part> {
        self.parts
            .values()
            .filter(move |p| p.kind == kind && p.pool_id.as_deref() == Some(pool))
    }

    /// The listeners that lead to a pool.
    pub fn listeners_of<'a>(&'a self, pool: &'a str) -> impl Iterator<Item = &'a Part> {
        self.parts.values().filter(move |p| {
            p.kind == Kind::Listener && p.fields["default_pool_id"].as_str() == Some(pool)
        })
    }

    /// Refuses one more than the quota.
    ///
    /// # Errors
    /// 403.
    pub fn reserve(&self, project: &str, resource: &str, title: &str) -> Result<(), ApiError> {
        let limit = self
            .quotas
            .get(project)
            .and_then(|q| q.get(resource))
            .copied()
            .unwrap_or(-1);
        let used = if resource == "load_balancer" {
            self.balancers
                .values()
                .filter(|b| b.project_id == project)
                .count()
        } else {
            self.parts
                .values()
                .filter(|p| p.project_id == project && p.kind.quota() == resource)
                .count()
        };
        if limit >= 0 && used as u64 >= limit.unsigned_abs() {
            return Err(fault(
                403,
                format!("Quota has been met for resources: {title}"),
            ));
        }
        Ok(())
    }

    /// Locks a load balancer and what leads to a pool for a change.
    ///
    /// # Errors
    /// 409 while it is pending.
    pub fn lock(
        &mut self,
        balancer: &str,
        pool: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<(), ApiError> {
        if let Some(pool) = pool.and_then(|id| self.parts.get(id))
            && pool.provisioning != "ACTIVE"
        {
            return Err(fault(
                409,
                format!("Pool {} is immutable and cannot be updated.", pool.id),
            ));
        }
        let lb = self
            .balancers
            .get_mut(balancer)
            .ok_or_else(|| missing("Load Balancer", balancer))?;
        if lb.provisioning != "ACTIVE" {
            return Err(fault(
                409,
                format!("Load Balancer {balancer} is immutable and cannot be updated."),
            ));
        }
        "PENDING_UPDATE".clone_into(&mut lb.provisioning);
        lb.updated_at = Some(now);
        if let Some(pool) = pool {
            let listeners: Vec<String> = self.listeners_of(pool).map(|l| l.id.clone()).collect();
            for id in listeners.into_iter().chain([pool.to_owned()]) {
                if let Some(part) = self.parts.get_mut(&id) {
                    "PENDING_UPDATE".clone_into(&mut part.provisioning);
                    part.updated_at = Some(now);
                }
            }
        }
        Ok(())
    }

    /// Ends whatever is pending at a load balancer. Returns it when it was deleted.
    pub fn settle(&mut self, balancer: &str, now: DateTime<Utc>) -> Option<Balancer> {
        let deleted = self
            .balancers
            .get(balancer)
            .is_some_and(|b| b.provisioning == "PENDING_DELETE");
        if deleted {
            self.parts.retain(|_, part| part.balancer_id != balancer);
            return self.balancers.shift_remove(balancer);
        }
        self.parts.retain(|_, part| {
            part.balancer_id != balancer || part.provisioning != "PENDING_DELETE"
        });
        let pools: Vec<String> = self
            .parts
            .values()
            .filter(|p| p.kind == Kind::Pool)
            .map(|p| p.id.clone())
            .collect();
        self.parts.retain(|_, part| {
            part.pool_id
                .as_ref()
                .is_none_or(|pool| pools.contains(pool))
        });
        for part in self
            .parts
            .values_mut()
            .filter(|p| p.balancer_id == balancer)
        {
            let lost = part
                .fields
                .get("default_pool_id")
                .and_then(Value::as_str)
                .is_some_and(|id| !pools.iter().any(|p| p == id));
            if lost {
                part.fields.insert("default_pool_id".into(), Value::Null);
            }
            if part.provisioning != "ACTIVE" {
                "ACTIVE".clone_into(&mut part.provisioning);
                part.updated_at = Some(now);
            }
        }
        if let Some(lb) = self.balancers.get_mut(balancer) {
            "ACTIVE".clone_into(&mut lb.provisioning);
            lb.updated_at = Some(now);
        }
        None
    }
}
