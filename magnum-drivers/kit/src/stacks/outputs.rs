//! Reading the infrastructure's outputs.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use serde_json::Value;

use crate::memo::InfraOutputs;

/// An output that is missing or is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the infrastructure stack has no usable output {name:?}")]
pub struct OutputProblem {
    /// The output.
    pub name: &'static str,
}

/// Reads the outputs. Null and empty values count as absent (rule `SM-04`).
///
/// # Errors
/// A required output that is absent or unusable: read them again later.
pub fn read_outputs(outputs: &BTreeMap<String, Value>) -> Result<InfraOutputs, OutputProblem> {
    let text = |name: &str| {
        outputs
            .get(name)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let required = |name: &'static str| text(name).ok_or(OutputProblem { name });
    fn parsed<T: FromStr>(name: &'static str, text: &str) -> Result<T, OutputProblem> {
        text.parse().map_err(|_| OutputProblem { name })
    }
    Ok(InfraOutputs {
        network: required("network")?,
        subnet: required("subnet")?,
        cidr: parsed("cidr", &required("cidr")?)?,
        mtu: outputs
            .get("mtu")
            .and_then(|mtu| mtu.as_u64().or_else(|| mtu.as_str()?.parse().ok()))
            .and_then(|mtu| u32::try_from(mtu).ok())
            .filter(|mtu| *mtu > 0),
        control_plane_group: text("control_plane_group"),
        worker_group: text("worker_group"),
        server_group: text("server_group"),
        pool: text("pool"),
        api_port: text("api_port"),
        address: parsed("address", &required("address")?)?,
        floating_address: text("floating_address")
            .map(|address| parsed::<IpAddr>("floating_address", &address))
            .transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sm_04_null_outputs_are_absent() {
        let mut outputs: BTreeMap<String, Value> = [
            ("network", json!("n")),
            ("subnet", json!("s")),
            ("cidr", json!("10.0.0.0/24")),
            ("mtu", json!(1450)),
            ("address", json!("10.0.0.5")),
            ("floating_address", Value::Null),
            ("pool", json!("")),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let read = read_outputs(&outputs).unwrap();
        assert_eq!(read.client_address().to_string(), "10.0.0.5");
        assert_eq!((read.mtu, read.pool), (Some(1450), None));
        outputs.insert("address".into(), Value::Null);
        assert_eq!(read_outputs(&outputs).unwrap_err().name, "address");
    }
}
