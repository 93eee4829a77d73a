//! Credentials and the open door for others.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{AuthUrl, OidcAuth, UserRef};
use crate::{Result, http::HttpService};

/// The `identity` part of a login: method and proof. `Debug` shows the methods only.
#[derive(Clone)]
pub struct Identity {
    value: Value,
    scoped: bool,
}

impl Identity {
    /// A user's password.
    pub fn password(user: &UserRef, password: &SecretString) -> Self {
        let mut user = user.to_json();
        user["password"] = json!(password.expose_secret());
        Self {
            value: json!({"methods": ["password"], "password": {"user": user}}),
            scoped: false,
        }
    }

    /// A token that exists already.
    pub fn token(token: &SecretString) -> Self {
        Self {
            value: json!({"methods": ["token"], "token": {"id": token.expose_secret()}}),
            scoped: false,
        }
    }

    /// An application credential by id.
    pub fn application_credential(id: &str, secret: &SecretString) -> Self {
        let credential = json!({"id": id, "secret": secret.expose_secret()});
        Self {
            value: json!({"methods": ["application_credential"], "application_credential": credential}),
            scoped: true,
        }
    }

    /// An application credential by its name and owner.
    pub fn named_application_credential(name: &str, user: &UserRef, secret: &SecretString) -> Self {
        let credential =
            json!({"name": name, "user": user.to_json(), "secret": secret.expose_secret()});
        Self {
            value: json!({"methods": ["application_credential"], "application_credential": credential}),
            scoped: true,
        }
    }

    /// Any other method: the value of `auth.identity`. With `scoped` the credential carries its scope and none is sent.
    pub fn raw(value: Value, scoped: bool) -> Self {
        Self { value, scoped }
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn is_scoped(&self) -> bool {
        self.scoped
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("methods", &self.value["methods"])
            .finish_non_exhaustive()
    }
}

/// What a login may use.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AuthContext<'a> {
    /// HTTP client.
    pub http: &'a dyn HttpService,
    /// Keystone's address.
    pub auth_url: &'a AuthUrl,
}

impl<'a> AuthContext<'a> {
    /// A context for trying a method by itself.
    pub fn new(http: &'a dyn HttpService, auth_url: &'a AuthUrl) -> Self {
        Self { http, auth_url }
    }
}

/// A way to prove who one is; implement it for methods this crate does not know.
///
/// Called for every login and renewal. The session adds the scope and asks Keystone for the token.
#[async_trait]
pub trait AuthMethod: fmt::Debug + Send + Sync {
    /// The proof for Keystone.
    ///
    /// # Errors
    /// Whatever kept the proof from being made; it ends the call that needed a token.
    async fn identity(&self, cx: AuthContext<'_>) -> Result<Identity>;
}

/// A credential. `Debug` shows no secret.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Auth {
    /// User and password.
    Password {
        /// The user.
        user: UserRef,
        /// Its password.
        password: SecretString,
    },
    /// A token that exists already; cannot be renewed once it has expired.
    Token(SecretString),
    /// Application credential by id.
    ApplicationCredential {
        /// Id.
        id: String,
        /// Its secret.
        secret: SecretString,
    },
    /// Application credential by name and owner.
    NamedApplicationCredential {
        /// Name.
        name: String,
        /// Owner.
        user: UserRef,
        /// Its secret.
        secret: SecretString,
    },
    /// OpenID Connect.
    Oidc(OidcAuth),
    /// A method of the caller's own.
    Custom(Arc<dyn AuthMethod>),
}

#[async_trait]
impl AuthMethod for Auth {
    async fn identity(&self, cx: AuthContext<'_>) -> Result<Identity> {
        Ok(match self {
            Self::Password { user, password } => Identity::password(user, password),
            Self::Token(token) => Identity::token(token),
            Self::ApplicationCredential { id, secret } => {
                Identity::application_credential(id, secret)
            }
            Self::NamedApplicationCredential { name, user, secret } => {
                Identity::named_application_credential(name, user, secret)
            }
            Self::Oidc(oidc) => oidc.identity(cx).await?,
            Self::Custom(method) => method.identity(cx).await?,
        })
    }
}
