//! The bundle that comes with the library.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::addon::Addon;
use super::cloud_conf::cloud_conf;
use super::error::AddonError;
use super::manifest::Template;
use super::phase::AddonPhase;
use super::source::AddonSource;
use super::values::{AddonValues, CloudAccess};
use crate::bootstrap::Cni;

const FLANNEL: Template = Template {
    name: "flannel",
    phase: AddonPhase::Network,
    text: include_str!("../../manifests/flannel.yaml.hbs"),
};
const CLOUD_CONTROLLER_MANAGER: Template = Template {
    name: "openstack-cloud-controller-manager",
    phase: AddonPhase::CloudProvider,
    text: include_str!("../../manifests/openstack-cloud-controller-manager.yaml.hbs"),
};
const CINDER_CSI: Template = Template {
    name: "cinder-csi",
    phase: AddonPhase::Storage,
    text: include_str!("../../manifests/cinder-csi.yaml.hbs"),
};
const METRICS_SERVER: Template = Template {
    name: "metrics-server",
    phase: AddonPhase::Extras,
    text: include_str!("../../manifests/metrics-server.yaml.hbs"),
};

/// The add-ons that come with the library: flannel, the OpenStack cloud provider, Cinder volumes, the metrics server.
///
/// Manifests and versions are data in the crate's `manifests` directory, for Kubernetes
/// [`supported_minors`](super::supported_minors).
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinAddons;

impl AddonSource for BuiltinAddons {
    fn addons(&self, values: &AddonValues) -> Result<Vec<Addon>, AddonError> {
        let mut addons = Vec::new();
        match values.cni {
            Cni::Flannel => addons.push(flannel(values)?),
            Cni::None => {}
            Cni::Calico | Cni::Cilium => {
                return Err(AddonError::Unsupported {
                    what: format!("CNI {}", values.cni),
                    reason: "the bundle has no manifests for it; choose flannel, or none and apply your own".to_owned(),
                });
            }
        }
        if let Some(cloud) = &values.cloud {
            let secret = cloud_secret(cloud)?;
            let cluster = format!("--cluster-name={}", values.cluster_id);
            let data = json!({"secret_data": secret, "config_hash": hash(&secret), "cluster_name_arg": cluster});
            addons.push(CLOUD_CONTROLLER_MANAGER.render(values, data)?);
            if values.cinder {
                let cluster = format!("--cluster={}", values.cluster_id);
                let data = json!({"config_hash": hash(&secret), "cluster_arg": cluster});
                addons.push(CINDER_CSI.render(values, data)?);
            }
        } else if values.cinder {
            return Err(AddonError::Unsupported {
                what: "Cinder CSI without a cloud provider".to_owned(),
                reason: "it needs the cluster's credential for its cloud".to_owned(),
            });
        }
        if values.metrics {
            let trust = if values.serving_certificates {
                "--kubelet-certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
            } else {
                "--kubelet-insecure-tls"
            };
            addons.push(METRICS_SERVER.render(values, json!({"kubelet_trust_arg": trust}))?);
        }
        Ok(addons)
    }
}

fn flannel(values: &AddonValues) -> Result<Addon, AddonError> {
    if values.pod_cidr.addr().is_ipv6() {
        return Err(AddonError::Unsupported {
            what: format!("flannel with the pod range {}", values.pod_cidr),
            reason: "only IPv4 is rendered".to_owned(),
        });
    }
    let cni_conf = json!({
        "name": "cbr0",
        "cniVersion": "0.3.1",
        "plugins": [
            {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    let mut backend = json!({"Type": "vxlan"});
    if let Some(mtu) = values.network_mtu {
        if mtu < 576 {
            let reason = format!("an MTU of {mtu} leaves no room for an overlay");
            return Err(AddonError::Invalid {
                addon: FLANNEL.name.to_owned(),
                reason,
            });
        }
        // The MTU of the nodes' network: flannel itself takes its 50 bytes off.
        backend["MTU"] = mtu.into();
    }
    let net_conf = json!({"Network": values.pod_cidr.to_string(), "EnableNFTables": false, "Backend": backend});
    let (cni_conf, net_conf) = (cni_conf.to_string(), net_conf.to_string());
    let config_hash = hash(&json!([cni_conf, net_conf]));
    FLANNEL.render(
        values,
        json!({"cni_conf": cni_conf, "net_conf": net_conf, "config_hash": config_hash}),
    )
}

/// Data of the Secret `cloud-config`.
fn cloud_secret(cloud: &CloudAccess) -> Result<Value, AddonError> {
    let conf = cloud_conf(cloud)?;
    let mut data = json!({"cloud.conf": STANDARD.encode(conf.expose_secret())});
    if let Some(ca) = &cloud.ca {
        data["ca.pem"] = STANDARD.encode(ca).into();
    }
    Ok(data)
}

/// A short hash: pods restart when what they read changes.
fn hash(value: &Value) -> String {
    Sha256::digest(value.to_string().as_bytes())
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests;
