//! `/etc/clusternode/kubeadm.yaml`, read by strict types: an unknown or misspelt field is refused.

mod cluster;
mod kubelet;
mod registration;

pub use cluster::{
    Algorithm, ApiServerSpec, ClusterConfiguration, ComponentSpec, Dns, Etcd, ExternalEtcd,
    HostPathMount, LocalEtcd, Networking, ProxyAddon,
};
pub use kubelet::{KubeProxyConfiguration, KubeletConfiguration, ProxyMode};
pub use registration::{
    Arg, BootstrapToken, Discovery, Effect, FileDiscovery, GoDuration, InitConfiguration,
    JoinConfiguration, JoinControlPlane, LocalApiEndpoint, NodeRegistration, Patches, PullPolicy,
    Taint, Timeouts,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The documents of one file.
#[derive(Debug, Clone, Default)]
pub struct Documents {
    /// `InitConfiguration`.
    pub init: Option<InitConfiguration>,
    /// `ClusterConfiguration`.
    pub cluster: Option<ClusterConfiguration>,
    /// `JoinConfiguration`.
    pub join: Option<JoinConfiguration>,
    /// `KubeletConfiguration`.
    pub kubelet: Option<KubeletConfiguration>,
    /// `KubeProxyConfiguration`.
    pub proxy: Option<KubeProxyConfiguration>,
    /// The documents as they stand, by kind: what kubeadm stores in its config maps.
    pub raw: Vec<(String, Value)>,
}

impl Documents {
    /// Parses all documents.
    ///
    /// # Errors
    /// The first document that does not fit, with its kind and the field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut documents = Self::default();
        for part in split(text) {
            let value: Value =
                serde_saphyr::from_str(&part).map_err(|e| format!("not YAML: {e}"))?;
            documents.add(value)?;
        }
        Ok(documents)
    }

    fn add(&mut self, value: Value) -> Result<(), String> {
        let kind = value["kind"].as_str().unwrap_or_default().to_owned();
        let api = value["apiVersion"].as_str().unwrap_or_default();
        let expected = match kind.as_str() {
            "InitConfiguration" | "ClusterConfiguration" | "JoinConfiguration" => {
                "kubeadm.k8s.io/v1beta4"
            }
            "KubeletConfiguration" => "kubelet.config.k8s.io/v1beta1",
            "KubeProxyConfiguration" => "kubeproxy.config.k8s.io/v1alpha1",
            _ => return Err(format!("unknown kind {kind:?}")),
        };
        if api != expected {
            return Err(format!("{kind}: apiVersion {api:?}, expected {expected}"));
        }
        if self.raw.iter().any(|(k, _)| *k == kind) {
            return Err(format!("{kind} is given twice"));
        }
        let mut fields = value.clone();
        if let Some(map) = fields.as_object_mut() {
            map.shift_remove("kind");
            map.shift_remove("apiVersion");
        }
        match kind.as_str() {
            "InitConfiguration" => self.init = Some(typed(&kind, fields)?),
            "ClusterConfiguration" => self.cluster = Some(typed(&kind, fields)?),
            "JoinConfiguration" => self.join = Some(typed(&kind, fields)?),
            "KubeletConfiguration" => self.kubelet = Some(typed(&kind, fields)?),
            _ => self.proxy = Some(typed(&kind, fields)?),
        }
        self.raw.push((kind, value));
        Ok(())
    }

    /// A document as it stands.
    #[must_use]
    pub fn raw(&self, kind: &str) -> Option<&Value> {
        self.raw.iter().find(|(k, _)| k == kind).map(|(_, v)| v)
    }

    /// The registration of the init or join document.
    #[must_use]
    pub fn registration(&self) -> Option<&NodeRegistration> {
        let init = self.init.as_ref().map(|i| &i.node_registration);
        init.or_else(|| self.join.as_ref().map(|j| &j.node_registration))
    }
}

fn typed<T: DeserializeOwned>(kind: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| format!("{kind}: {e}"))
}

/// Reads a stored document (a config map's value) of one kind.
pub(crate) fn one(text: &str, kind: &str) -> Result<Documents, String> {
    let documents = Documents::parse(text)?;
    match documents.raw(kind) {
        Some(_) => Ok(documents),
        None => Err(format!("no {kind}")),
    }
}

fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    parts.retain(|p| {
        p.lines()
            .any(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#'))
    });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOIN: &str = r"apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {file: {kubeConfigPath: /etc/kubernetes/bootstrap/discovery.conf}}
nodeRegistration:
  name: w
  criSocket: unix:///run/containerd/containerd.sock
  imagePullPolicy: IfNotPresent
  kubeletExtraArgs: [{name: cloud-provider, value: external}]
timeouts: {discovery: 20m0s}
";

    #[test]
    fn strictness_names_the_field() {
        Documents::parse(JOIN).unwrap();
        for (from, to, expected) in [
            ("discovery: {file", "discoverey: {file", "discoverey"),
            ("v1beta4", "v1beta3", "v1beta3"),
            ("value: external", "value: true", "string"),
            ("20m0s", "20 minutes", "duration"),
            ("IfNotPresent", "Sometimes", "Sometimes"),
            ("kind: Join", "kind: Leave", "LeaveConfiguration"),
        ] {
            let why = Documents::parse(&JOIN.replace(from, to)).unwrap_err();
            assert!(why.contains(expected), "{expected}: {why}");
        }
        assert!(
            Documents::parse(&format!("{JOIN}---\n{JOIN}"))
                .unwrap_err()
                .contains("twice")
        );
    }
}
