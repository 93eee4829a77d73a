//! Application credentials.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, json};

use crate::{
    Result,
    request::{Answer, Body, Path, Request, ServiceType, request, segments},
    session::NamedRef,
    wire,
};

/// An application credential.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct ApplicationCredential {
    /// Id.
    pub id: String,
    /// Name, unique for its user.
    pub name: String,
    /// Project.
    #[serde(default)]
    pub project_id: String,
    /// Its secret; only in the answer of its creation.
    #[serde(default)]
    pub secret: Option<SecretString>,
    /// When it ends.
    #[serde(default, deserialize_with = "wire::option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// Roles.
    #[serde(default)]
    pub roles: Vec<NamedRef>,
    /// Whether it may make further credentials and trusts.
    #[serde(default)]
    pub unrestricted: bool,
}

/// Creates an application credential of the logged-in user. Not repeated after a lost answer; the name is unique, so a
/// second try is a conflict and can be found by name.
#[derive(Clone)]
#[non_exhaustive]
pub struct CreateApplicationCredential {
    /// User, by id.
    pub user: String,
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Roles by name; empty means all of the token.
    pub roles: Vec<String>,
    /// When it ends; `None` is never.
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether it may make further credentials and trusts. Heat with trusts needs it.
    pub unrestricted: bool,
}

impl CreateApplicationCredential {
    /// A restricted credential with all roles of the token.
    pub fn new(user: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            name: name.into(),
            description: String::new(),
            roles: Vec::new(),
            expires_at: None,
            unrestricted: false,
        }
    }

    /// With these roles only.
    #[must_use]
    pub fn roles<S: Into<String>>(mut self, roles: impl IntoIterator<Item = S>) -> Self {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// May make further credentials and trusts.
    #[must_use]
    pub fn unrestricted(mut self) -> Self {
        self.unrestricted = true;
        self
    }

    /// With a description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = text.into();
        self
    }
}

impl fmt::Debug for CreateApplicationCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateApplicationCredential")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Request for CreateApplicationCredential {
    type Output = ApplicationCredential;
    const SERVICE: ServiceType = ServiceType::Identity;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "create application credential";

    fn path(&self) -> Path {
        segments!["users", self.user, "application_credentials"]
    }

    fn body(&self) -> Result<Body> {
        let mut body = Map::new();
        body.insert("name".into(), self.name.clone().into());
        if !self.description.is_empty() {
            body.insert("description".into(), self.description.clone().into());
        }
        body.insert("unrestricted".into(), self.unrestricted.into());
        if !self.roles.is_empty() {
            body.insert(
                "roles".into(),
                self.roles
                    .iter()
                    .map(|name| json!({"name": name}))
                    .collect(),
            );
        }
        if let Some(at) = self.expires_at {
            body.insert(
                "expires_at".into(),
                at.to_rfc3339_opts(SecondsFormat::Secs, true).into(),
            );
        }
        Body::json(Self::OPERATION, &json!({"application_credential": body}))
    }

    fn decode(&self, answer: Answer) -> Result<ApplicationCredential> {
        answer.json_at("application_credential")
    }
}

request! {
    /// Lists the application credentials of a user.
    ListApplicationCredentials {
        /// User, by id.
        user: String,
        /// Only that of this name.
        name: Option<String>,
    } => Vec<ApplicationCredential>;
    Identity GET "list application credentials";
    path: |r| segments!["users", r.user, "application_credentials"];
    query: |r| r.name.iter().map(|name| ("name".into(), name.clone())).collect();
    decode: |answer| answer.json_at("application_credentials")
}

request! {
    /// Deletes an application credential.
    DeleteApplicationCredential {
        /// User, by id.
        user: String,
        /// Id.
        id: String,
    } => ();
    Identity DELETE "delete application credential";
    path: |r| segments!["users", r.user, "application_credentials", r.id];
    decode: |answer| answer.ignore()
}
