//! The kubeconfig document, field by field as client-go has it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::SecretText;

fn api_version() -> String {
    "v1".to_owned()
}

fn kind() -> String {
    "Config".to_owned()
}

/// Lists may be missing or `null` in files written by hand.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A kubeconfig (`apiVersion: v1`, `kind: Config`).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Kubeconfig {
    /// `v1`.
    #[serde(rename = "apiVersion", default = "api_version")]
    pub api_version: String,
    /// `Config`.
    #[serde(default = "kind")]
    pub kind: String,
    /// Clusters by name.
    #[serde(default, deserialize_with = "list")]
    pub clusters: Vec<NamedCluster>,
    /// Contexts by name.
    #[serde(default, deserialize_with = "list")]
    pub contexts: Vec<NamedContext>,
    /// Name of the context in use; may be empty.
    #[serde(rename = "current-context", default)]
    pub current_context: String,
    /// Users by name.
    #[serde(default, deserialize_with = "list")]
    pub users: Vec<NamedUser>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for Kubeconfig {
    fn default() -> Self {
        Self {
            api_version: api_version(),
            kind: kind(),
            clusters: Vec::new(),
            contexts: Vec::new(),
            current_context: String::new(),
            users: Vec::new(),
            other: Map::new(),
        }
    }
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig")
            .field("clusters", &self.clusters)
            .field("contexts", &self.contexts)
            .field("current_context", &self.current_context)
            .field("users", &self.users)
            .finish_non_exhaustive()
    }
}

/// A cluster with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedCluster {
    /// Name.
    pub name: String,
    /// The cluster.
    pub cluster: ClusterEntry,
}

/// A context with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedContext {
    /// Name.
    pub name: String,
    /// The context.
    pub context: ContextEntry,
}

/// A user with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedUser {
    /// Name.
    pub name: String,
    /// The user.
    pub user: UserEntry,
}

/// How to reach a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterEntry {
    /// Base64 of a PEM bundle to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// Path of a PEM bundle to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// Whether the server's certificate is not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Proxy that leads to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Server address.
    #[serde(default)]
    pub server: String,
    /// Name to check in the server's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Which user speaks to which cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextEntry {
    /// Name of the cluster.
    #[serde(default)]
    pub cluster: String,
    /// Name of the user.
    #[serde(default)]
    pub user: String,
    /// Namespace when none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a user proves who it is.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UserEntry {
    /// Base64 of a client certificate in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate_data: Option<String>,
    /// Path of a client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<String>,
    /// Base64 of the client's private key in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key_data: Option<SecretText>,
    /// Path of the client's private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// Bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretText>,
    /// Path of a file with a bearer token.
    #[serde(rename = "tokenFile", default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// Program that gives a credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecConfig>,
    /// Fields that this crate does not know; not shown by `Debug`, since they may be secret.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl fmt::Debug for UserEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserEntry")
            .field("client_certificate_data", &self.client_certificate_data)
            .field("client_certificate", &self.client_certificate)
            .field("client_key_data", &self.client_key_data)
            .field("client_key", &self.client_key)
            .field("token", &self.token)
            .field("token_file", &self.token_file)
            .field("exec", &self.exec)
            .finish_non_exhaustive()
    }
}

/// A credential plugin.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecConfig {
    /// `client.authentication.k8s.io/v1`.
    pub api_version: String,
    /// Arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Program.
    pub command: String,
    /// Additional environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<ExecEnv>>,
    /// What to tell a user who lacks the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_hint: Option<String>,
    /// `Never`, `IfAvailable` or `Always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive_mode: Option<String>,
    /// Whether the plugin is told about the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provide_cluster_info: Option<bool>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and environment may carry secrets.
        f.debug_struct("ExecConfig")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

/// A variable in a plugin's environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecEnv {
    /// Name.
    pub name: String,
    /// Value.
    pub value: SecretText,
}
