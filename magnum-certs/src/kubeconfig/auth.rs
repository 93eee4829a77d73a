//! The ways in which a kubeconfig's user proves who it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

use super::model::{ExecConfig, ExecEnv, UserEntry};
use crate::Credential;

/// How a user proves who it is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UserAuth {
    /// A client certificate and its key, both as PEM.
    Certificate {
        /// The certificate.
        certificate: String,
        /// Its private key.
        key: SecretString,
    },
    /// A bearer token.
    Token(SecretString),
    /// A program that gives a short-lived credential.
    Exec(ExecPlugin),
}

impl From<&Credential> for UserAuth {
    fn from(credential: &Credential) -> Self {
        Self::Certificate {
            certificate: credential.certificate().to_pem(),
            key: credential.key_pem(),
        }
    }
}

impl UserAuth {
    pub(super) fn to_entry(&self) -> UserEntry {
        match self {
            Self::Certificate { certificate, key } => UserEntry {
                client_certificate_data: Some(STANDARD.encode(certificate)),
                client_key_data: Some(STANDARD.encode(key.expose_secret()).into()),
                ..UserEntry::default()
            },
            Self::Token(token) => UserEntry {
                token: Some(token.clone().into()),
                ..UserEntry::default()
            },
            Self::Exec(plugin) => UserEntry {
                exec: Some(plugin.to_config()),
                ..UserEntry::default()
            },
        }
    }
}

/// A credential plugin (`client.authentication.k8s.io/v1`).
#[derive(Debug, Clone)]
pub struct ExecPlugin {
    command: String,
    args: Vec<String>,
    env: Vec<(String, SecretString)>,
    install_hint: Option<String>,
    interactive: bool,
}

impl ExecPlugin {
    /// Any program.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            install_hint: None,
            interactive: true,
        }
    }

    /// Keystone by `client-keystone-auth` of cloud-provider-openstack: the user's own `OS_*` environment gives the token.
    #[must_use]
    pub fn keystone() -> Self {
        let mut plugin = Self::new("client-keystone-auth").install_hint(
            "client-keystone-auth is part of cloud-provider-openstack; set OS_AUTH_URL and your credentials in the environment",
        );
        plugin.interactive = false;
        plugin
    }

    /// `OpenID` Connect by `kubectl oidc-login` (kubelogin).
    #[must_use]
    pub fn oidc(issuer_url: &str, client_id: &str) -> Self {
        Self::new("kubectl")
            .arg("oidc-login")
            .arg("get-token")
            .arg(format!("--oidc-issuer-url={issuer_url}"))
            .arg(format!("--oidc-client-id={client_id}"))
            .install_hint("install the kubectl plugin oidc-login (kubelogin)")
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds a variable to the program's environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// What to tell a user who lacks the program.
    #[must_use]
    pub fn install_hint(mut self, hint: impl Into<String>) -> Self {
        self.install_hint = Some(hint.into());
        self
    }

    fn to_config(&self) -> ExecConfig {
        let env = self.env.iter().map(|(name, value)| ExecEnv {
            name: name.clone(),
            value: value.clone().into(),
        });
        ExecConfig {
            api_version: "client.authentication.k8s.io/v1".to_owned(),
            args: (!self.args.is_empty()).then(|| self.args.clone()),
            command: self.command.clone(),
            env: (!self.env.is_empty()).then(|| env.collect()),
            install_hint: self.install_hint.clone(),
            interactive_mode: Some(
                if self.interactive {
                    "IfAvailable"
                } else {
                    "Never"
                }
                .to_owned(),
            ),
            provide_cluster_info: Some(false),
            ..ExecConfig::default()
        }
    }
}
