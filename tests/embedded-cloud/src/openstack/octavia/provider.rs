//! What a provider does not support.

use serde_json::{Map, Value};

use super::super::ApiError;
use super::model::{Kind, fault};

/// Refuses what the provider of a load balancer cannot do.
///
/// # Errors
/// 501 with the provider's own text.
pub fn check(provider: &str, kind: Kind, fields: &Map<String, Value>) -> Result<(), ApiError> {
    if provider != "ovn" {
        return Ok(());
    }
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let no = |what: String| {
        Err(fault(
            501,
            format!(
                "Provider 'ovn' does not support a requested option: OVN provider does not support {what}"
            ),
        ))
    };
    let protocol = text("protocol");
    match kind {
        Kind::Listener | Kind::Pool if !matches!(protocol, "TCP" | "UDP" | "SCTP") => {
            no(format!("{protocol} protocol"))
        }
        Kind::Listener if fields.get("allowed_cidrs").is_some_and(|v| !v.is_null()) => {
            no("allowed_cidrs option".to_owned())
        }
        Kind::Pool if text("lb_algorithm") != "SOURCE_IP_PORT" => {
            no(format!("{} algorithm", text("lb_algorithm")))
        }
        Kind::Monitor if !matches!(text("type"), "TCP" | "UDP-CONNECT") => no(format!(
            "{} health monitor type. Supported types: UDP-CONNECT, TCP",
            text("type")
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nl_09_ovn_refuses_round_robin_with_its_own_text() {
        let pool = json!({"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"});
        let error = check("ovn", Kind::Pool, pool.as_object().unwrap()).unwrap_err();
        assert_eq!(error.status(), 501);
        assert_eq!(
            error.message(),
            "Provider 'ovn' does not support a requested option: OVN provider does not support ROUND_ROBIN algorithm"
        );
        assert!(check("amphora", Kind::Pool, pool.as_object().unwrap()).is_ok());
        let monitor = json!({"type": "HTTP"});
        assert!(check("ovn", Kind::Monitor, monitor.as_object().unwrap()).is_err());
    }
}
