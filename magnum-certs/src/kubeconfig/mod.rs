//! kubeconfig files: build, write, read, validate, merge.

mod auth;
#[cfg(feature = "kube")]
mod kube;
mod merge;
mod model;
mod secret_text;
mod validate;

pub use auth::{ExecPlugin, UserAuth};
pub use merge::OnConflict;
pub use model::{
    ClusterEntry, ContextEntry, ExecConfig, ExecEnv, Kubeconfig, NamedCluster, NamedContext,
    NamedUser, UserEntry,
};
pub use secret_text::SecretText;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use url::Url;
use zeroize::Zeroizing;

use crate::{Certificate, Error};

/// Largest kubeconfig that is read, in bytes.
pub const MAX_KUBECONFIG_BYTES: usize = 4 * 1024 * 1024;

/// How a cluster's API is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiEndpoint {
    /// Server address, for example `https://[2001:db8::1]:6443`; written as it is given.
    pub server: String,
    /// PEM bundle of the authorities to trust; `None` means those of the client's system.
    pub trust: Option<String>,
    /// Proxy (`http`, `https` or `socks5`) that leads to the server.
    pub proxy: Option<Url>,
    /// Name to check in the server's certificate when it is not the one in the address.
    pub tls_server_name: Option<String>,
}

impl ApiEndpoint {
    /// An endpoint from kubeadm's `controlPlaneEndpoint` (`host:port`, IPv6 in brackets) and a trust bundle.
    pub fn new(control_plane_endpoint: &str, trust: impl Into<String>) -> Self {
        Self {
            server: format!("https://{control_plane_endpoint}"),
            trust: Some(trust.into()),
            proxy: None,
            tls_server_name: None,
        }
    }

    /// Reaches the server through a proxy.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Url) -> Self {
        self.proxy = Some(proxy);
        self
    }
}

impl Kubeconfig {
    /// A kubeconfig with one cluster, one user and one context, which is the current one (rule CK-04). The context is named
    /// `<user>@<cluster>`. All data is embedded.
    ///
    /// # Errors
    /// [`Error::BadName`] when a name is empty or has a slash or a control character, [`Error::BadKubeconfig`] when the server is no
    /// http(s) address or the proxy's scheme is not supported, [`Error::BadPem`] and the like when the trust bundle is none.
    pub fn single(
        cluster: &str,
        endpoint: &ApiEndpoint,
        user: &str,
        auth: &UserAuth,
    ) -> Result<Self, Error> {
        if let Some(bundle) = &endpoint.trust {
            Certificate::bundle_from_pem(bundle)?;
        }
        let config = Self::assemble(cluster, endpoint, user, auth)?;
        config.validate()?;
        Ok(config)
    }

    /// As [`Kubeconfig::single`], for data that comes from this crate's own types and so needs no second look: a thousand nodes
    /// get theirs at a time.
    pub(crate) fn assemble(
        cluster: &str,
        endpoint: &ApiEndpoint,
        user: &str,
        auth: &UserAuth,
    ) -> Result<Self, Error> {
        for name in [cluster, user] {
            let bad = |reason| {
                Err(Error::BadName {
                    name: name.to_owned(),
                    reason,
                })
            };
            if name.is_empty() || name.contains('/') || name.chars().any(char::is_control) {
                return bad("a name in a kubeconfig is not empty and has no slash");
            }
        }
        let context = format!("{user}@{cluster}");
        let config = Self {
            clusters: vec![NamedCluster {
                name: cluster.to_owned(),
                cluster: ClusterEntry {
                    server: endpoint.server.clone(),
                    certificate_authority_data: endpoint
                        .trust
                        .as_ref()
                        .map(|pem| STANDARD.encode(pem)),
                    tls_server_name: endpoint.tls_server_name.clone(),
                    proxy_url: endpoint.proxy.as_ref().map(proxy_text),
                    ..ClusterEntry::default()
                },
            }],
            contexts: vec![NamedContext {
                name: context.clone(),
                context: ContextEntry {
                    cluster: cluster.to_owned(),
                    user: user.to_owned(),
                    ..ContextEntry::default()
                },
            }],
            current_context: context,
            users: vec![NamedUser {
                name: user.to_owned(),
                user: auth.to_entry(),
            }],
            ..Self::default()
        };
        let problems: Vec<String> = config
            .clusters
            .iter()
            .flat_map(|entry| entry.cluster.address_problems())
            .collect();
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(Error::BadKubeconfig {
                reason: problems.join("; "),
            })
        }
    }

    /// The YAML text. Field order is stable, no value is folded.
    ///
    /// # Errors
    /// [`Error::BadKubeconfig`] when a value cannot be written as YAML.
    pub fn to_yaml(&self) -> Result<SecretString, Error> {
        let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
        // Room enough that it hardly ever grows, since a text that moves leaves a copy of the key behind.
        let mut text = Zeroizing::new(String::with_capacity(32 * 1024));
        serde_saphyr::to_fmt_writer_with_options(&mut *text, self, options).map_err(|_| {
            Error::BadKubeconfig {
                reason: "it cannot be written as YAML".to_owned(),
            }
        })?;
        Ok(SecretString::from(text.as_str()))
    }

    /// Reads YAML or JSON. Fields that this crate does not know are kept. Only the form is checked; see [`Kubeconfig::validate`].
    ///
    /// # Errors
    /// [`Error::BadKubeconfig`]; the text itself is never quoted.
    pub fn from_yaml(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_KUBECONFIG_BYTES {
            let reason = format!(
                "{} bytes; at most {MAX_KUBECONFIG_BYTES} are read",
                text.len()
            );
            return Err(Error::BadKubeconfig { reason });
        }
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            // The parser's message may quote a value, and a value may be a key: say where, not what.
            let place = error.location().map_or_else(String::new, |at| {
                format!(" near line {}, column {}", at.line(), at.column())
            });
            Error::BadKubeconfig {
                reason: format!("not the YAML of a kubeconfig{place}"),
            }
        })
    }
}

/// The proxy as client-go reads it: without the slash that the URL type adds.
fn proxy_text(proxy: &Url) -> String {
    proxy.as_str().trim_end_matches('/').to_owned()
}
