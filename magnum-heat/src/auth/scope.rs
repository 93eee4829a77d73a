//! What a token is for.

use std::fmt;

use serde_json::{Value, json};

/// A domain, by id or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DomainRef {
    /// By id.
    Id(String),
    /// By name.
    Name(String),
}

impl DomainRef {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Id(id) => json!({"id": id}),
            Self::Name(name) => json!({"name": name}),
        }
    }
}

/// A user, by id or by name within a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserRef {
    /// By id.
    Id(String),
    /// By name within a domain.
    Name {
        /// User name.
        name: String,
        /// Domain of the user.
        domain: DomainRef,
    },
}

impl UserRef {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Id(id) => json!({"id": id}),
            Self::Name { name, domain } => json!({"name": name, "domain": domain.to_json()}),
        }
    }
}

/// A project, by id or by name within a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectRef {
    /// By id.
    Id(String),
    /// By name within a domain.
    Name {
        /// Project name.
        name: String,
        /// Domain of the project.
        domain: DomainRef,
    },
}

/// The id of a trust. Knowing it is half of a credential, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct TrustId(String);

impl TrustId {
    /// The id itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for TrustId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl From<&str> for TrustId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl fmt::Debug for TrustId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustId(..)")
    }
}

/// What a token may be used for.
///
/// Application credentials carry their project; with them the scope is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// A project.
    Project(ProjectRef),
    /// A domain.
    Domain(DomainRef),
    /// The whole cloud.
    System,
    /// The project of a trust, as the trustor.
    Trust(TrustId),
    /// Nothing but Keystone itself.
    Unscoped,
    /// What Keystone gives to a login that asks for nothing: the user's default project where there is one, else nothing
    /// but Keystone itself.
    UserDefault,
}

impl Scope {
    /// The scope of a project by id.
    pub fn project(id: impl Into<String>) -> Self {
        Self::Project(ProjectRef::Id(id.into()))
    }

    pub(crate) fn to_json(&self) -> Option<Value> {
        Some(match self {
            Self::Project(ProjectRef::Id(id)) => json!({"project": {"id": id}}),
            Self::Project(ProjectRef::Name { name, domain }) => {
                json!({"project": {"name": name, "domain": domain.to_json()}})
            }
            Self::Domain(domain) => json!({"domain": domain.to_json()}),
            Self::System => json!({"system": {"all": true}}),
            Self::Trust(id) => json!({"OS-TRUST:trust": {"id": id.0}}),
            Self::UserDefault => return None,
            Self::Unscoped => json!("unscoped"),
        })
    }
}
