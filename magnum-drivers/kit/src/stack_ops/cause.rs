//! Failure reasons of Heat and the services behind it, in one sentence that an operator can act on.

use magnum_core::driver::{Cause, CauseKind};

use magnum_heat::diagnose::{QuotaNumbers, Reason};

/// Says why a resource failed, in a sentence that names the subject (such as `node group gpu, member gpu-7f2kq`).
#[must_use]
pub fn describe(resource: &str, reason: &str, subject: &str) -> Cause {
    let parsed = Reason::parse(reason);
    let (kind, what) = classify(&parsed, resource_type(resource));
    let text = parsed.message.trim().trim_end_matches('.');
    let sentence = match what {
        Some(what) => format!("{what}; {subject}"),
        None if parsed.is_follower() => {
            format!("{resource} was given up because another resource failed; {subject}")
        }
        None => format!("{resource}: {text}; {subject}"),
    };
    Cause {
        kind,
        sentence,
        subject: Some(subject.to_owned()),
    }
}

/// The type of a resource by the names that our documents give.
fn resource_type(name: &str) -> Option<&'static str> {
    let kind = name.split_once('_').map_or(name, |(kind, _)| kind);
    Some(match kind {
        "server" => "OS::Nova::Server",
        "volume" => "OS::Cinder::Volume",
        "port" => "OS::Neutron::Port",
        "member" => "OS::Octavia::PoolMember",
        _ => match name {
            "api_load_balancer" => "OS::Octavia::LoadBalancer",
            "api_listener" => "OS::Octavia::Listener",
            "api_pool" => "OS::Octavia::Pool",
            "api_monitor" => "OS::Octavia::HealthMonitor",
            _ => return None,
        },
    })
}

/// Says why Heat refused a request for good.
#[must_use]
pub fn refusal(error: &magnum_heat::Error) -> Cause {
    let text = error.to_string();
    let message = error
        .api()
        .map_or(text.as_str(), |api| api.message.as_str());
    let (kind, what) = classify(&Reason::parse(message), None);
    let kind = match error {
        _ if kind != CauseKind::Unknown => kind,
        magnum_heat::Error::ForeignStack { .. } => CauseKind::InvalidInput,
        _ => match error.status().map(|status| status.as_u16()) {
            Some(403) => CauseKind::Policy,
            Some(400 | 409) => CauseKind::InvalidInput,
            _ => CauseKind::Unknown,
        },
    };
    Cause {
        kind,
        sentence: what.unwrap_or(text),
        subject: None,
    }
}

/// The service whose quota a resource counts against.
fn quota_service(resource: &str) -> &'static str {
    match resource {
        "instances" | "cores" | "ram" | "server_groups" | "server_group_members" => "Nova",
        "volumes" | "gigabytes" => "Cinder",
        "loadbalancer" | "load_balancer" | "listener" | "pool" | "member" | "health_monitor" => {
            "Octavia"
        }
        _ => "Neutron",
    }
}

fn quota_sentence(numbers: &QuotaNumbers) -> String {
    let QuotaNumbers {
        resource,
        requested,
        used,
        limit,
        ..
    } = numbers;
    let mut sentence = format!("{} quota exceeded: {resource}", quota_service(resource));
    if let (Some(used), Some(limit)) = (used, limit) {
        sentence.push_str(&format!(" {used} of {limit}"));
    }
    if let Some(requested) = requested {
        sentence.push_str(&format!(", needs {requested} more"));
    }
    sentence
}

fn classify(reason: &Reason, resource_type: Option<&str>) -> (CauseKind, Option<String>) {
    use magnum_heat::diagnose::CauseKind as Heat;
    let kind = Heat::of(reason, resource_type);
    let sentence = match &kind {
        Heat::Quota(numbers) => Some(quota_sentence(numbers)),
        Heat::NoValidHost => {
            Some("no host or machine has room for the flavor (No valid host was found)".to_owned())
        }
        _ => None,
    };
    let kind = match kind {
        Heat::Quota(_) => CauseKind::Quota,
        Heat::NoValidHost => CauseKind::Capacity,
        Heat::PortBinding | Heat::NoAddress => CauseKind::Network,
        Heat::Image => CauseKind::Image,
        Heat::Flavor | Heat::NotFound => CauseKind::InvalidInput,
        Heat::Policy => CauseKind::Policy,
        Heat::Limit => CauseKind::Limit,
        Heat::Timeout => CauseKind::Timeout,
        Heat::LoadBalancer => CauseKind::LoadBalancer,
        Heat::SignalFailure => CauseKind::Bootstrap,
        Heat::Volume => CauseKind::Volume,
        _ => CauseKind::Unknown,
    };
    (kind, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn op_01_the_sentence_has_the_numbers_and_the_member() {
        let cause = describe(
            "server_7f2kq",
            "Forbidden: resources.server_7f2kq: Quota exceeded for instances: Requested 1, but already used 10 of 10 instances (HTTP 403) (Request-ID: req-1)",
            "node group gpu, member gpu-7f2kq",
        );
        assert_eq!(cause.kind, CauseKind::Quota);
        assert_eq!(
            cause.sentence,
            "Nova quota exceeded: instances 10 of 10, needs 1 more; node group gpu, member gpu-7f2kq"
        );
        let ports = describe(
            "port_a",
            "OverQuotaClient: resources.port_a: Quota exceeded for resources: ['port'].",
            "g",
        );
        assert_eq!(ports.sentence, "Neutron quota exceeded: port; g");
        let host = describe(
            "server_a",
            "ResourceInError: resources.server_a: Went to status ERROR due to \"Message: No valid host was found. , Code: 500\"",
            "g",
        );
        assert_eq!(host.kind, CauseKind::Capacity);
        let other = describe("server_a", "CREATE aborted (Task create cancelled)", "g");
        assert!(other.sentence.contains("another resource failed"));
    }
}
