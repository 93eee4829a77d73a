//! `InitConfiguration` and `JoinConfiguration` of v1beta4.

use serde::{Deserialize, Serialize};

/// A duration as Go writes it: `8m0s`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct GoDuration(String);

impl TryFrom<String> for GoDuration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut rest = text.as_str();
        let mut parts = 0;
        while !rest.is_empty() {
            let digits = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(rest.len());
            let unit = ["ms", "us", "ns", "h", "m", "s"]
                .iter()
                .find(|u| rest[digits..].starts_with(**u));
            match unit {
                Some(unit) if digits > 0 => rest = &rest[digits + unit.len()..],
                None if text == "0" => break,
                _ => return Err(format!("{text:?} is not a duration")),
            }
            parts += 1;
        }
        if parts == 0 && text != "0" {
            return Err(format!("{text:?} is not a duration"));
        }
        Ok(Self(text))
    }
}

impl From<GoDuration> for String {
    fn from(duration: GoDuration) -> Self {
        duration.0
    }
}

/// A name and a value; the value is a string.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arg {
    /// Name, without dashes.
    pub name: String,
    /// Value.
    pub value: String,
}

/// A taint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value.
    #[serde(default)]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Effect,
}

/// A taint's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum Effect {
    /// Nothing new is put there.
    NoSchedule,
    /// Avoided.
    PreferNoSchedule,
    /// What is there goes.
    NoExecute,
}

/// When images are pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "the words say it")]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

/// `nodeRegistration`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeRegistration {
    /// Name of the node.
    pub name: Option<String>,
    /// Container runtime.
    pub cri_socket: Option<String>,
    /// Absent: kubeadm's default; empty: none.
    pub taints: Option<Vec<Taint>>,
    /// Flags of the kubelet.
    #[serde(default)]
    pub kubelet_extra_args: Vec<Arg>,
    /// Preflight checks that only warn.
    #[serde(default)]
    pub ignore_preflight_errors: Vec<String>,
    /// Pulling.
    pub image_pull_policy: Option<PullPolicy>,
    /// One image at a time.
    pub image_pull_serial: Option<bool>,
}

impl NodeRegistration {
    /// The last value of a kubelet flag.
    #[must_use]
    pub fn kubelet_arg(&self, name: &str) -> Option<&str> {
        self.kubelet_extra_args
            .iter()
            .rev()
            .find(|a| a.name == name)
            .map(|a| a.value.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct Timeouts {
    pub control_plane_component_health_check: Option<GoDuration>,
    pub kubelet_health_check: Option<GoDuration>,
    #[serde(rename = "kubernetesAPICall")]
    pub kubernetes_api_call: Option<GoDuration>,
    #[serde(rename = "etcdAPICall")]
    pub etcd_api_call: Option<GoDuration>,
    pub tls_bootstrap: Option<GoDuration>,
    pub discovery: Option<GoDuration>,
    pub upgrade_manifests: Option<GoDuration>,
}

/// `localAPIEndpoint`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LocalApiEndpoint {
    /// Own address.
    pub advertise_address: Option<String>,
    /// Own port.
    pub bind_port: Option<u16>,
}

/// `patches`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patches {
    /// Where they lie.
    pub directory: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct BootstrapToken {
    pub token: String,
    pub description: Option<String>,
    pub ttl: Option<GoDuration>,
    pub expires: Option<String>,
    #[serde(default)]
    pub usages: Vec<String>,
    #[serde(default)]
    pub groups: Vec<String>,
}

/// `kind: InitConfiguration`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct InitConfiguration {
    #[serde(default)]
    pub bootstrap_tokens: Vec<BootstrapToken>,
    pub dry_run: Option<bool>,
    pub node_registration: NodeRegistration,
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: LocalApiEndpoint,
    pub certificate_key: Option<String>,
    #[serde(default)]
    pub skip_phases: Vec<String>,
    pub patches: Option<Patches>,
    pub timeouts: Option<Timeouts>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct FileDiscovery {
    pub kube_config_path: String,
}

/// `discovery`; only the file form is what our nodes use.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct Discovery {
    pub file: FileDiscovery,
    pub tls_bootstrap_token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct JoinControlPlane {
    #[serde(rename = "localAPIEndpoint")]
    pub local_api_endpoint: LocalApiEndpoint,
    pub certificate_key: Option<String>,
}

/// `kind: JoinConfiguration`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(missing_docs, reason = "kubeadm's own words")]
pub struct JoinConfiguration {
    pub dry_run: Option<bool>,
    pub node_registration: NodeRegistration,
    pub ca_cert_path: Option<String>,
    pub discovery: Discovery,
    pub control_plane: Option<JoinControlPlane>,
    #[serde(default)]
    pub skip_phases: Vec<String>,
    pub patches: Option<Patches>,
    pub timeouts: Option<Timeouts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations() {
        for good in ["8m0s", "1.5h", "0", "0s", "100ms", "8760h0m0s"] {
            assert!(GoDuration::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "8", "m", "8 m", "8d"] {
            assert!(GoDuration::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
