//! Failure reasons of Heat and the services behind it, in one sentence that an operator can act on.

use magnum_core::driver::{Cause, CauseKind};

use super::resources::is_follow_up;

/// Says why a resource failed, in a sentence that names the subject (such as `node group gpu, member gpu-7f2kq`).
#[must_use]
pub fn describe(resource: &str, reason: &str, subject: &str) -> Cause {
    let text = without_prefix(reason);
    let (kind, what) = classify(&text);
    let sentence = match what {
        Some(what) => format!("{what}; {subject}"),
        None if is_follow_up(&text) => {
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

/// Says why Heat refused a request for good.
#[must_use]
pub fn refusal(error: &magnum_heat::Error) -> Cause {
    let text = error.to_string();
    let (kind, what) = classify(&text);
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

/// Heat's reason without the names of Python exceptions and resource paths before it.
fn without_prefix(reason: &str) -> String {
    let mut text = reason.trim();
    loop {
        let Some((head, rest)) = text.split_once(": ") else {
            break;
        };
        let exception = !head.is_empty()
            && head
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
            && head.chars().any(|c| c.is_ascii_uppercase());
        let path = head.starts_with("resources.") || head.starts_with("resources[");
        if exception || path {
            text = rest.trim_start();
        } else {
            break;
        }
    }
    text.split(" (HTTP ")
        .next()
        .unwrap_or(text)
        .trim()
        .trim_end_matches('.')
        .to_owned()
}

fn classify(text: &str) -> (CauseKind, Option<String>) {
    let lower = text.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&["quota"]) {
        return (CauseKind::Quota, Some(quota_sentence(text)));
    }
    if has(&[
        "no valid host",
        "novalidhost",
        "not enough hosts",
        "no hosts available",
    ]) {
        return (
            CauseKind::Capacity,
            Some("no host or machine has room for the flavor (No valid host was found)".to_owned()),
        );
    }
    if has(&[
        "requestlimitexceeded",
        "request limit exceeded",
        "maximum template size",
        "resource limit",
    ]) {
        return (CauseKind::Limit, None);
    }
    if has(&["image"]) {
        return (CauseKind::Image, None);
    }
    if has(&[
        "load balancer",
        "loadbalancer",
        "octavia",
        "listener",
        "pool",
    ]) {
        return (CauseKind::LoadBalancer, None);
    }
    if has(&["volume", "cinder", "block device"]) {
        return (CauseKind::Volume, None);
    }
    if has(&["forbidden", "policy", "not authorized"]) {
        return (CauseKind::Policy, None);
    }
    if has(&[
        "port", "network", "subnet", "floating", "neutron", "binding", "external",
    ]) {
        return (CauseKind::Network, None);
    }
    if has(&["timed out", "timeout"]) {
        return (CauseKind::Timeout, None);
    }
    (CauseKind::Unknown, None)
}

/// Nova: `Quota exceeded for instances: Requested 1, but already used 10 of 10 instances`; Neutron: `Quota exceeded for resources: ['port'].`
fn quota_sentence(text: &str) -> String {
    let service = ["nova", "neutron", "cinder", "octavia"]
        .into_iter()
        .find(|name| text.to_ascii_lowercase().contains(name));
    let after = |marker: &str| {
        text.split_once(marker).map(|(_, rest)| {
            rest.chars()
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                .collect::<String>()
        })
    };
    if let Some((_, rest)) = text.split_once("Requested ")
        && let Some((needs, rest)) = rest.split_once(", but already used ")
        && let Some((used, rest)) = rest.split_once(" of ")
    {
        let limit: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let what = after("exceeded for ").unwrap_or_else(|| "resources".to_owned());
        return format!("Nova quota exceeded: {what} {used} of {limit}, needs {needs} more");
    }
    if let Some((_, rest)) = text.split_once("resources: [") {
        let what: String = rest
            .chars()
            .take_while(|c| *c != ']')
            .filter(|c| *c != '\'' && *c != '"')
            .collect();
        return format!("Neutron quota exceeded: {what}");
    }
    match service {
        Some(service) => {
            let mut name = service.to_owned();
            name[..1].make_ascii_uppercase();
            format!("{name} quota exceeded: {text}")
        }
        None => format!("quota exceeded: {text}"),
    }
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
