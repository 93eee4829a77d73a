//! What is counted and timed of calls and logins: with feature `metrics` through the `metrics` facade, else nothing. The
//! front page lists names and labels.

use http::StatusCode;

use crate::{Error, request::ServiceType};

/// One call under way.
#[cfg_attr(not(feature = "metrics"), allow(dead_code))]
pub(super) struct Call {
    service: ServiceType,
    operation: &'static str,
    #[cfg(feature = "metrics")]
    started: tokio::time::Instant,
}

#[cfg(not(feature = "metrics"))]
impl Call {
    pub(super) fn begin(service: ServiceType, operation: &'static str) -> Self {
        Self { service, operation }
    }
    pub(super) fn repeat(&self, _reason: &'static str) {}
    pub(super) fn end(&self, _result: Result<StatusCode, &Error>) {}
}

#[cfg(feature = "metrics")]
impl Call {
    pub(super) fn begin(service: ServiceType, operation: &'static str) -> Self {
        Self {
            service,
            operation,
            started: tokio::time::Instant::now(),
        }
    }

    pub(super) fn repeat(&self, reason: &'static str) {
        let (service, operation) = (self.service.name(), self.operation);
        metrics::counter!("openstack_repeats_total", "service" => service, "operation" => operation, "reason" => reason)
            .increment(1);
    }

    pub(super) fn end(&self, result: Result<StatusCode, &Error>) {
        let (service, operation) = (self.service.name(), self.operation);
        let outcome = match result {
            Ok(status) => class(status),
            Err(error) => match error.status() {
                Some(status) => class(status),
                None if error.may_have_happened() || matches!(error, Error::Http { .. }) => {
                    "no_answer"
                }
                None => "not_sent",
            },
        };
        metrics::counter!("openstack_calls_total", "service" => service, "operation" => operation, "outcome" => outcome)
            .increment(1);
        metrics::histogram!("openstack_call_seconds", "service" => service, "operation" => operation)
            .record(self.started.elapsed().as_secs_f64());
    }
}

#[cfg(feature = "metrics")]
fn class(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

/// A login has ended.
#[cfg_attr(not(feature = "metrics"), allow(unused_variables))]
pub(super) fn login(ok: bool) {
    #[cfg(feature = "metrics")]
    metrics::counter!("openstack_logins_total", "outcome" => if ok { "ok" } else { "failed" })
        .increment(1);
}
