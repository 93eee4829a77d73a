//! Settings of the HTTP client: TLS trust, identity, proxy and time limits.

use std::{fmt, time::Duration};

use secrecy::SecretString;
use url::Url;

/// A client certificate and its private key, both PEM.
#[derive(Clone)]
pub struct ClientIdentity {
    /// Certificate chain, leaf first, PEM.
    pub certificate: String,
    /// Private key, PEM (PKCS#8, PKCS#1 or SEC1).
    pub key: SecretString,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

/// Whom to trust and how to present ourselves.
///
/// The default trusts the system's roots and presents nothing. Verification can only be switched off through
/// [`TlsConfig::dangerous`].
#[derive(Debug, Clone, Default)]
pub struct TlsConfig {
    /// Further trusted roots: one or more PEM certificates.
    pub ca_bundle: Option<String>,
    /// Trust the roots of `ca_bundle` and no others.
    pub only_ca_bundle: bool,
    /// Client certificate for mutual TLS.
    pub client_identity: Option<ClientIdentity>,
    skip_verification: bool,
}

impl TlsConfig {
    /// Trusts the given PEM bundle besides the system's roots.
    pub fn with_ca_bundle(pem: impl Into<String>) -> Self {
        Self {
            ca_bundle: Some(pem.into()),
            ..Self::default()
        }
    }

    /// Trusts the given PEM bundle and nothing else.
    pub fn only_ca_bundle(pem: impl Into<String>) -> Self {
        Self {
            ca_bundle: Some(pem.into()),
            only_ca_bundle: true,
            ..Self::default()
        }
    }

    /// Presents a client certificate.
    #[must_use]
    pub fn with_identity(mut self, certificate: impl Into<String>, key: SecretString) -> Self {
        self.client_identity = Some(ClientIdentity {
            certificate: certificate.into(),
            key,
        });
        self
    }

    /// Access to settings that remove protection.
    pub fn dangerous(&mut self) -> DangerousTls<'_> {
        DangerousTls(self)
    }

    /// Whether certificates are not verified at all.
    pub fn skips_verification(&self) -> bool {
        self.skip_verification
    }
}

/// Settings that remove protection; reached through [`TlsConfig::dangerous`].
#[derive(Debug)]
pub struct DangerousTls<'a>(&'a mut TlsConfig);

impl DangerousTls<'_> {
    /// Accepts any certificate of any server. Everything sent, passwords included, can then be read by whoever
    /// stands between.
    pub fn skip_verification(self) {
        self.0.skip_verification = true;
    }
}

/// Settings of one HTTP client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// TLS trust and identity.
    pub tls: TlsConfig,
    /// Longest time to connect, TLS included. Default 10 s.
    pub connect_timeout: Duration,
    /// Longest time of one request including its answer. Default 60 s.
    pub request_timeout: Duration,
    /// Proxy for every request: `http://host:port` (plain requests are forwarded, TLS goes through `CONNECT`).
    /// Default none.
    pub proxy: Option<Url>,
    /// Take `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` of the process when `proxy` is not set. Default false.
    pub proxy_from_environment: bool,
    /// Largest answer that is read, in bytes. Default 64 MiB.
    pub max_response_bytes: usize,
    /// Idle connections kept for each host. Default 8.
    pub max_idle_per_host: usize,
    /// Value of the `User-Agent` header.
    pub user_agent: String,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            tls: TlsConfig::default(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            proxy: None,
            proxy_from_environment: false,
            max_response_bytes: 64 * 1024 * 1024,
            max_idle_per_host: 8,
            user_agent: concat!("magnum-heat/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl HttpConfig {
    /// The default settings with the given TLS settings.
    pub fn with_tls(tls: TlsConfig) -> Self {
        Self {
            tls,
            ..Self::default()
        }
    }

    /// Sends everything through this proxy.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Url) -> Self {
        self.proxy = Some(proxy);
        self
    }
}
