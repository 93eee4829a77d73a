//! The credential with which a node joins.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::error::BootstrapError;
use super::node::Endpoint;

/// A node-bound client certificate (`O=system:nodes`, `CN=system:node:<node name>`), PEM.
///
/// It must outlive the limit of the creation: a day for VMs, three days for bare metal.
#[derive(Clone)]
pub struct NodeCredential {
    /// The cluster's authority, or its bundle while a rotation is going on.
    pub ca: String,
    /// The client certificate.
    pub certificate: String,
    /// Its private key.
    pub key: SecretString,
}

impl fmt::Debug for NodeCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeCredential").finish_non_exhaustive()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kubeconfig<'a> {
    api_version: &'static str,
    kind: &'static str,
    clusters: [NamedCluster<'a>; 1],
    users: [NamedUser<'a>; 1],
    contexts: [NamedContext<'a>; 1],
    #[serde(rename = "current-context")]
    current_context: &'static str,
}

#[derive(Serialize)]
struct NamedCluster<'a> {
    name: &'static str,
    cluster: Cluster<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster<'a> {
    server: &'a str,
    certificate_authority_data: String,
}

#[derive(Serialize)]
struct NamedUser<'a> {
    name: &'a str,
    user: User,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate_data: String,
    client_key_data: String,
}

#[derive(Serialize)]
struct NamedContext<'a> {
    name: &'static str,
    context: Context<'a>,
}

#[derive(Serialize)]
struct Context<'a> {
    cluster: &'static str,
    user: &'a str,
}

impl NodeCredential {
    /// The discovery kubeconfig of node `node_name`: authority, endpoint, certificate and key in one file.
    pub(crate) fn discovery_kubeconfig(
        &self,
        endpoint: &Endpoint,
        node_name: &str,
    ) -> Result<SecretString, BootstrapError> {
        let user = format!("system:node:{node_name}");
        let server = endpoint.url();
        let config = Kubeconfig {
            api_version: "v1",
            kind: "Config",
            clusters: [NamedCluster {
                name: "cluster",
                cluster: Cluster {
                    server: &server,
                    certificate_authority_data: STANDARD.encode(&self.ca),
                },
            }],
            users: [NamedUser {
                name: &user,
                user: User {
                    client_certificate_data: STANDARD.encode(&self.certificate),
                    client_key_data: STANDARD.encode(self.key.expose_secret()),
                },
            }],
            contexts: [NamedContext {
                name: "join",
                context: Context {
                    cluster: "cluster",
                    user: &user,
                },
            }],
            current_context: "join",
        };
        super::kubeadm::to_yaml("discovery.conf", &config).map(SecretString::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ms_04_debug_shows_nothing_of_the_key() {
        let credential = NodeCredential {
            ca: "ca".into(),
            certificate: "crt".into(),
            key: SecretString::from("topsecret"),
        };
        assert!(!format!("{credential:?}").contains("topsecret"));
    }

    #[test]
    fn the_kubeconfig_holds_the_three_parts_and_the_endpoint() {
        let credential = NodeCredential {
            ca: "ca".into(),
            certificate: "crt".into(),
            key: SecretString::from("key"),
        };
        let text = credential
            .discovery_kubeconfig(&Endpoint::new("10.0.0.5", 6443), "demo-w-abcde")
            .unwrap();
        let value: serde_json::Value = serde_saphyr::from_str(text.expose_secret()).unwrap();
        assert_eq!(
            value["clusters"][0]["cluster"]["server"],
            "https://10.0.0.5:6443"
        );
        assert_eq!(value["users"][0]["name"], "system:node:demo-w-abcde");
        assert_eq!(
            value["users"][0]["user"]["client-key-data"],
            STANDARD.encode("key")
        );
        assert_eq!(
            value["contexts"][0]["context"]["user"],
            "system:node:demo-w-abcde"
        );
        assert_eq!(value["current-context"], "join");
    }
}
