//! Scripted faults.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServiceKind;

/// When a fault drops the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drop {
    /// The request is not applied.
    Before,
    /// The request is applied, its answer is lost.
    After,
}

/// One fault: which requests it meets and what it does to them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Set by the cloud.
    #[serde(default)]
    pub id: u64,
    /// `nova`, `neutron`, ...; all services when absent.
    #[serde(default)]
    pub service: Option<String>,
    /// `POST`, ...; all when absent.
    #[serde(default)]
    pub method: Option<String>,
    /// A regular expression on the path behind the service's prefix, with query (`^/v2.1/servers$`); all when absent.
    #[serde(default)]
    pub path: Option<String>,
    /// Text that the request's body must contain.
    #[serde(default)]
    pub body_contains: Option<String>,
    /// How many matching requests pass first. Default 0.
    #[serde(default)]
    pub skip: u32,
    /// How many requests it meets; without end when absent.
    #[serde(default)]
    pub count: Option<u32>,
    /// Waits so many milliseconds first.
    #[serde(default)]
    pub delay_ms: u64,
    /// Answers this status; the request is not applied.
    #[serde(default)]
    pub status: Option<u16>,
    /// The body for `status`; a plain error in the service's shape when absent.
    #[serde(default)]
    pub body: Option<Value>,
    /// A `Retry-After` header for `status`, seconds.
    #[serde(default)]
    pub retry_after: Option<u32>,
    /// Drops the connection.
    #[serde(default)]
    pub drop: Option<Drop>,
    /// How many requests it met so far.
    #[serde(default)]
    pub hits: u32,
}

impl Fault {
    /// The wait before anything else.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }
}

/// All faults that are set.
#[derive(Debug, Default)]
pub struct Faults(Mutex<(u64, Vec<(Fault, Regex)>)>);

impl Faults {
    /// Adds a fault; the later one wins over the earlier.
    ///
    /// # Errors
    /// When the path is not a regular expression.
    pub fn add(&self, mut fault: Fault) -> Result<Fault, regex::Error> {
        let path = Regex::new(fault.path.as_deref().unwrap_or(""))?;
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0 += 1;
        fault.id = guard.0;
        guard.1.push((fault.clone(), path));
        Ok(fault)
    }

    /// All faults.
    #[must_use]
    pub fn list(&self) -> Vec<Fault> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .iter()
            .map(|(f, _)| f.clone())
            .collect()
    }

    /// Removes one fault, or all.
    pub fn clear(&self, id: Option<u64>) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard
            .1
            .retain(|(fault, _)| id.is_some_and(|id| fault.id != id));
    }

    /// Whether a fault is set at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .is_empty()
    }

    /// The fault for this request, counted.
    #[must_use]
    pub fn meet(
        &self,
        service: ServiceKind,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Option<Fault> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (fault, _) = guard.1.iter_mut().rev().find(|(fault, regex)| {
            fault.service.as_deref().is_none_or(|s| s == service.name())
                && fault
                    .method
                    .as_deref()
                    .is_none_or(|m| m.eq_ignore_ascii_case(method))
                && fault.count.is_none_or(|count| fault.hits < count)
                && regex.is_match(path)
                && fault
                    .body_contains
                    .as_deref()
                    .is_none_or(|text| String::from_utf8_lossy(body).contains(text))
        })?;
        if fault.skip > 0 {
            fault.skip -= 1;
            return None;
        }
        fault.hits += 1;
        Some(fault.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_meets_only_its_requests_and_only_so_often() {
        let faults = Faults::default();
        let fault = serde_json::json!({"service": "nova", "method": "post", "path": "^/v2.1/servers$", "count": 1, "skip": 1, "status": 503});
        faults.add(serde_json::from_value(fault).unwrap()).unwrap();
        let meet = |method, path| faults.meet(ServiceKind::Nova, method, path, b"").is_some();
        assert!(!meet("GET", "/v2.1/servers"));
        assert!(!meet("POST", "/v2.1/servers/x"));
        assert!(!meet("POST", "/v2.1/servers"), "skipped");
        assert!(meet("POST", "/v2.1/servers"));
        assert!(!meet("POST", "/v2.1/servers"), "used up");
        assert_eq!(faults.list()[0].hits, 1);
        faults.clear(None);
        assert!(faults.is_empty());
    }
}
