//! `cloud.conf`, the configuration of the cloud provider and of the volume driver.

use std::fmt::Write as _;

use secrecy::{ExposeSecret, SecretString};

use super::error::AddonError;
use super::values::{CloudAccess, CloudCredential};

/// Where the CA bundle lies in the pods.
const CA_FILE: &str = "/etc/config/ca.pem";

/// Renders the file.
pub(crate) fn cloud_conf(cloud: &CloudAccess) -> Result<SecretString, AddonError> {
    let mut ini = Ini::default();
    ini.section("Global");
    ini.set("auth-url", &cloud.auth_url);
    ini.set("region", &cloud.region);
    match &cloud.credential {
        CloudCredential::ApplicationCredential { id, secret } => {
            ini.set("application-credential-id", id);
            ini.set("application-credential-secret", secret.expose_secret());
        }
        CloudCredential::Trust {
            trustee_id,
            trustee_password,
            trust_id,
        } => {
            ini.set("trustee-id", trustee_id);
            ini.set("trustee-password", trustee_password.expose_secret());
            ini.set("trust-id", trust_id.expose_secret());
        }
    }
    if cloud.ca.is_some() {
        ini.set("ca-file", CA_FILE);
    }
    ini.section("Networking");
    for (key, name) in [
        ("internal-network-name", &cloud.internal_network_name),
        ("public-network-name", &cloud.public_network_name),
    ] {
        if let Some(name) = name {
            ini.set(key, name);
        }
    }
    ini.section("LoadBalancer");
    match &cloud.load_balancer {
        None => ini.set("enabled", "false"),
        Some(options) => {
            ini.set("lb-provider", &options.provider);
            if options.provider == "ovn" {
                ini.set("lb-method", "SOURCE_IP_PORT");
            }
            if let Some(network) = &options.floating_network_id {
                ini.set("floating-network-id", network);
            }
            ini.set("subnet-id", &options.subnet_id);
            ini.set("create-monitor", "true");
            ini.set("manage-security-groups", "true");
        }
    }
    ini.section("BlockStorage");
    ini.set("ignore-volume-az", "true");
    // The metadata address is closed on the nodes.
    ini.section("Metadata");
    ini.set("search-order", "configDrive,metadataService");
    ini.finish()
}

#[derive(Default)]
struct Ini {
    text: String,
    bad: Vec<String>,
}

impl Ini {
    fn section(&mut self, name: &str) {
        let _ = writeln!(self.text, "[{name}]");
    }

    /// Sets a value, always quoted: backslash and quote escaped as the reader (gcfg) has it.
    fn set(&mut self, key: &str, value: &str) {
        if value.chars().any(|c| c.is_control()) {
            self.bad.push(key.to_owned());
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(self.text, "{key}=\"{value}\"");
    }

    fn finish(self) -> Result<SecretString, AddonError> {
        if self.bad.is_empty() {
            return Ok(self.text.into());
        }
        Err(AddonError::Invalid {
            addon: "openstack-cloud-controller-manager".to_owned(),
            reason: format!("control characters in {}", self.bad.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::LoadBalancerOptions;
    use super::*;

    fn cloud() -> CloudAccess {
        CloudAccess {
            auth_url: "https://cloud.example.org/identity/v3".into(),
            region: "RegionOne".into(),
            credential: CloudCredential::ApplicationCredential {
                id: "i".into(),
                secret: r#"a;b#"c\d"#.to_owned().into(),
            },
            ca: Some("PEM".into()),
            internal_network_name: Some("demo net".into()),
            public_network_name: None,
            load_balancer: Some(LoadBalancerOptions {
                provider: "ovn".into(),
                floating_network_id: Some("f".into()),
                subnet_id: "s".into(),
            }),
        }
    }

    #[test]
    fn values_are_quoted() {
        insta::assert_snapshot!(cloud_conf(&cloud()).unwrap().expose_secret(), @r#"
        [Global]
        auth-url="https://cloud.example.org/identity/v3"
        region="RegionOne"
        application-credential-id="i"
        application-credential-secret="a;b#\"c\\d"
        ca-file="/etc/config/ca.pem"
        [Networking]
        internal-network-name="demo net"
        [LoadBalancer]
        lb-provider="ovn"
        lb-method="SOURCE_IP_PORT"
        floating-network-id="f"
        subnet-id="s"
        create-monitor="true"
        manage-security-groups="true"
        [BlockStorage]
        ignore-volume-az="true"
        [Metadata]
        search-order="configDrive,metadataService"
        "#);
    }

    #[test]
    fn nl_09_only_ovn_has_a_method_of_its_own_and_without_octavia_nothing_is_made() {
        let mut cloud = cloud();
        cloud.load_balancer.as_mut().unwrap().provider = "amphora".into();
        assert!(
            !cloud_conf(&cloud)
                .unwrap()
                .expose_secret()
                .contains("lb-method")
        );
        cloud.load_balancer = None;
        assert!(
            cloud_conf(&cloud)
                .unwrap()
                .expose_secret()
                .contains("[LoadBalancer]\nenabled=\"false\"")
        );
    }

    #[test]
    fn a_line_break_cannot_add_a_setting() {
        let cloud = CloudAccess {
            region: "x\"\n[Global]\nauth-url=\"evil".into(),
            ..cloud()
        };
        assert_eq!(
            cloud_conf(&cloud).unwrap_err().to_string(),
            "add-on openstack-cloud-controller-manager: control characters in region"
        );
    }
}
