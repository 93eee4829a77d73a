//! `OS::Octavia`: load balancers and what belongs to them.

use serde_json::{Map, Value as Json};

use super::properties;
use crate::hot::{Properties, Value};

properties! {
    /// A load balancer.
    LoadBalancer = "OS::Octavia::LoadBalancer" {
        required {
            /// Subnet of the address, by name or id.
            vip_subnet,
        }
        optional {
            /// Name.
            name,
            /// Description.
            description,
            /// The address, where it is to be a certain one.
            vip_address,
            /// Provider: `amphora`, `ovn`, ...
            provider,
            /// Flavor of the load balancer, by name or id.
            flavor,
            /// Availability zone.
            availability_zone,
            /// Administrative state.
            admin_state_up,
        }
    }
}

properties! {
    /// A listener.
    Listener = "OS::Octavia::Listener" {
        required {
            /// Protocol: `TCP`, `HTTP`, ...
            protocol,
            /// Port.
            protocol_port,
        }
        optional {
            /// Load balancer, by name or id.
            loadbalancer,
            /// Pool, by name or id.
            default_pool,
            /// Name.
            name,
            /// Description.
            description,
            /// Ranges that may connect. Not every provider knows it.
            allowed_cidrs,
            /// Most connections; -1 is any number.
            connection_limit,
            /// Administrative state.
            admin_state_up,
        }
    }
}

properties! {
    /// A pool.
    Pool = "OS::Octavia::Pool" {
        required {
            /// `ROUND_ROBIN`, `LEAST_CONNECTIONS`, `SOURCE_IP`, `SOURCE_IP_PORT`.
            lb_algorithm,
            /// Protocol: `TCP`, `HTTP`, ...
            protocol,
        }
        optional {
            /// Listener, by name or id.
            listener,
            /// Load balancer, by name or id, for a pool without a listener.
            loadbalancer,
            /// Name.
            name,
            /// Description.
            description,
            /// Keeps a client at a member: a map with `type`.
            session_persistence,
            /// Administrative state.
            admin_state_up,
        }
    }
}

properties! {
    /// A member of a pool.
    PoolMember = "OS::Octavia::PoolMember" {
        required {
            /// Pool, by name or id.
            pool,
            /// Address.
            address,
            /// Port.
            protocol_port,
        }
        optional {
            /// Subnet of the address, by name or id.
            subnet,
            /// Share of the load, 0 to 256.
            weight,
            /// Port that is checked instead.
            monitor_port,
            /// Address that is checked instead.
            monitor_address,
            /// Administrative state.
            admin_state_up,
            /// Tags.
            tags,
        }
    }
}

/// What an HTTP check asks and expects.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HttpCheck {
    /// Path: `/healthz`.
    pub url_path: Value,
    /// Method; `None` is Octavia's `GET`.
    pub http_method: Option<Value>,
    /// Status codes: `200`, `200-204`; `None` is Octavia's `200`.
    pub expected_codes: Option<Value>,
}

impl HttpCheck {
    /// `GET` of this path, status 200.
    pub fn get(url_path: impl Into<Value>) -> Self {
        Self {
            url_path: url_path.into(),
            http_method: None,
            expected_codes: None,
        }
    }

    /// Other status codes.
    #[must_use]
    pub fn expecting(mut self, codes: impl Into<Value>) -> Self {
        self.expected_codes = Some(codes.into());
        self
    }
}

/// A health monitor. HTTP fields exist only on HTTP and HTTPS checks, because they are made with them (`NL-07`).
#[derive(Debug, Clone, PartialEq)]
pub struct HealthMonitor {
    pool: Value,
    kind: &'static str,
    http: Option<HttpCheck>,
    delay: Value,
    timeout: Value,
    max_retries: Value,
}

impl HealthMonitor {
    fn of(pool: Value, kind: &'static str, http: Option<HttpCheck>) -> Self {
        Self {
            pool,
            kind,
            http,
            delay: 10.into(),
            timeout: 5.into(),
            max_retries: 3.into(),
        }
    }

    /// Checks that a connection can be made.
    pub fn tcp(pool: impl Into<Value>) -> Self {
        Self::of(pool.into(), "TCP", None)
    }

    /// Checks by HTTP.
    pub fn http(pool: impl Into<Value>, check: HttpCheck) -> Self {
        Self::of(pool.into(), "HTTP", Some(check))
    }

    /// Checks by HTTPS.
    pub fn https(pool: impl Into<Value>, check: HttpCheck) -> Self {
        Self::of(pool.into(), "HTTPS", Some(check))
    }

    /// Checks that a TLS hello is answered.
    pub fn tls_hello(pool: impl Into<Value>) -> Self {
        Self::of(pool.into(), "TLS-HELLO", None)
    }

    /// Seconds between checks (default 10), seconds until one fails (default 5), failures until a member is down
    /// (default 3).
    #[must_use]
    pub fn timing(
        mut self,
        delay: impl Into<Value>,
        timeout: impl Into<Value>,
        max_retries: impl Into<Value>,
    ) -> Self {
        self.delay = delay.into();
        self.timeout = timeout.into();
        self.max_retries = max_retries.into();
        self
    }
}

impl Properties for HealthMonitor {
    const TYPE: &'static str = "OS::Octavia::HealthMonitor";

    fn into_properties(self) -> Map<String, Json> {
        let mut map = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(key.to_owned(), value.into_json());
            }
        };
        put("pool", Some(self.pool));
        put("type", Some(self.kind.into()));
        put("delay", Some(self.delay));
        put("timeout", Some(self.timeout));
        put("max_retries", Some(self.max_retries));
        if let Some(http) = self.http {
            put("url_path", Some(http.url_path));
            put("http_method", http.http_method);
            put("expected_codes", http.expected_codes);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::{Resource, get_resource};

    #[test]
    fn nl_07_http_fields_only_on_http_monitors() {
        let keys = |monitor: HealthMonitor| {
            Resource::new(monitor)
                .properties()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let tcp = keys(HealthMonitor::tcp(get_resource("pool")).timing(5, 4, 3));
        assert_eq!(tcp, "pool type delay timeout max_retries");
        let http = keys(HealthMonitor::https(
            get_resource("pool"),
            HttpCheck::get("/readyz").expecting("200"),
        ));
        assert_eq!(
            http,
            "pool type delay timeout max_retries url_path expected_codes"
        );
    }
}
