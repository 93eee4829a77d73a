//! A kubeconfig as kubeadm's file discovery takes it: everything embedded, one context.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// What a discovery kubeconfig says. `Debug` shows no key.
#[derive(Clone)]
pub(crate) struct Kubeconfig {
    pub(crate) server: String,
    pub(crate) ca_pem: String,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

impl std::fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubeconfig")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    #[serde(default)]
    #[expect(dead_code, reason = "accepted, not used")]
    preferences: serde_json::Value,
    current_context: String,
    clusters: Vec<NamedCluster>,
    contexts: Vec<NamedContext>,
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Context {
    cluster: String,
    user: String,
    #[expect(dead_code, reason = "accepted, not used")]
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct User {
    client_certificate_data: String,
    client_key_data: String,
}

impl Kubeconfig {
    /// Parses the current context of a kubeconfig.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let document: Document = serde_saphyr::from_str(text).map_err(|e| e.to_string())?;
        if document.api_version != "v1" || document.kind != "Config" {
            return Err("not a kubeconfig (apiVersion v1, kind Config)".into());
        }
        let wanted = &document.current_context;
        let context = document.contexts.iter().find(|c| c.name == *wanted);
        let context = &context
            .ok_or_else(|| format!("no context {wanted:?}"))?
            .context;
        let cluster = document.clusters.iter().find(|c| c.name == context.cluster);
        let cluster = &cluster
            .ok_or_else(|| format!("no cluster {:?}", context.cluster))?
            .cluster;
        let user = document.users.iter().find(|u| u.name == context.user);
        let user = &user
            .ok_or_else(|| format!("no user {:?}", context.user))?
            .user;
        Ok(Self {
            server: cluster.server.clone(),
            ca_pem: decode(
                "certificate-authority-data",
                &cluster.certificate_authority_data,
            )?,
            certificate_pem: decode("client-certificate-data", &user.client_certificate_data)?,
            key_pem: decode("client-key-data", &user.client_key_data)?,
        })
    }
}

fn decode(field: &str, text: &str) -> Result<String, String> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|e| format!("{field} is not base64: {e}"))?;
    String::from_utf8(bytes).map_err(|e| format!("{field} is not PEM: {e}"))
}
