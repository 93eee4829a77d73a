//! What Keystone says with a token.

use std::{fmt, sync::Arc};

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde::Deserialize;

use super::Catalog;

/// Id and name of something.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct NamedRef {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
}

/// Who is logged in and what for. Holds no token.
#[derive(Clone, Deserialize)]
#[non_exhaustive]
pub struct TokenInfo {
    /// User.
    pub user: NamedRef,
    /// Project, for project and trust scope.
    #[serde(default)]
    pub project: Option<NamedRef>,
    /// Domain, for domain scope.
    #[serde(default)]
    pub domain: Option<NamedRef>,
    /// Roles.
    #[serde(default)]
    pub roles: Vec<NamedRef>,
    /// When it ends.
    pub expires_at: DateTime<Utc>,
    /// When it was issued.
    pub issued_at: DateTime<Utc>,
    /// Services and their endpoints.
    #[serde(default)]
    pub catalog: Catalog,
}

impl fmt::Debug for TokenInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenInfo")
            .field("user", &self.user.id)
            .field("project", &self.project.as_ref().map(|p| &p.id))
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl TokenInfo {
    /// Names of the roles.
    pub fn role_names(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|r| r.name.as_str())
    }

    /// Whether a role of this name was given.
    pub fn has_role(&self, name: &str) -> bool {
        self.role_names().any(|role| role == name)
    }
}

/// A token with its details.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) secret: SecretString,
    pub(super) info: Arc<TokenInfo>,
    /// Number of the login that made it.
    pub(super) generation: u64,
    /// From when on a renewal is tried while it still works.
    pub(super) renew_at: DateTime<Utc>,
    /// When it ends, by our own clock.
    pub(super) ends_at: DateTime<Utc>,
}
