//! Projects, users, roles, domains: what an administrator needs for trustees and tests.

use std::fmt;

use http::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, json};

use crate::{
    Named, Result, Session, pick,
    request::{Answer, Body, Path, Query, Request, ServiceType, request, segments},
};

macro_rules! named {
    ($(#[$doc:meta])* $ty:ident $kind:literal { $($(#[$fdoc:meta])* $field:ident),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[non_exhaustive]
        pub struct $ty {
            /// Id.
            pub id: String,
            /// Name.
            pub name: String,
            $( $(#[$fdoc])* #[serde(default)] pub $field: Option<String>, )*
        }

        impl Named for $ty {
            const KIND: &'static str = $kind;
            fn id(&self) -> &str {
                &self.id
            }
            fn name(&self) -> &str {
                &self.name
            }
        }
    };
}

named!(/** A project. */ Project "project" { /** Its domain. */ domain_id });
named!(/** A user. */ User "user" { /** Its domain. */ domain_id, /** Its project, where it has one. */ default_project_id });
named!(/** A role. */ Role "role" { /** Its domain, where it has one. */ domain_id });
named!(/** A domain. */ Domain "domain" {});

request! {
    /// Creates a project.
    CreateProject {
        /// Name.
        name: String,
        /// Domain, by id.
        domain: String,
        /// Description.
        description: String,
    } => Project;
    Identity POST "create project";
    path: |_r| segments!["projects"];
    body: |r| json!({"project": {"name": r.name, "domain_id": r.domain, "description": r.description}});
    decode: |answer| answer.json_at("project")
}

request! {
    /// Deletes a project.
    DeleteProject {
        /// Id.
        id: String,
    } => ();
    Identity DELETE "delete project";
    path: |r| segments!["projects", r.id];
    decode: |answer| answer.ignore()
}

request! {
    /// Lists projects.
    ListProjects {
        /// Only those of this name.
        name: Option<String>,
    } => Vec<Project>;
    Identity GET "list projects";
    path: |_r| segments!["projects"];
    query: |r| by_name(r.name.as_deref());
    decode: |answer| answer.json_at("projects")
}

/// Creates a user.
#[derive(Clone)]
pub struct CreateUser {
    /// Name.
    pub name: String,
    /// Domain, by id.
    pub domain: String,
    /// Password.
    pub password: SecretString,
    /// Project it belongs to, by id.
    pub default_project: Option<String>,
    /// Description.
    pub description: String,
}

impl fmt::Debug for CreateUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateUser")
            .field("name", &self.name)
            .field("domain", &self.domain)
            .finish_non_exhaustive()
    }
}

impl Request for CreateUser {
    type Output = User;
    const SERVICE: ServiceType = ServiceType::Identity;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "create user";

    fn path(&self) -> Path {
        segments!["users"]
    }

    fn body(&self) -> Result<Body> {
        let mut user = Map::new();
        user.insert("name".into(), self.name.clone().into());
        user.insert("domain_id".into(), self.domain.clone().into());
        user.insert("password".into(), self.password.expose_secret().into());
        user.insert("description".into(), self.description.clone().into());
        if let Some(project) = &self.default_project {
            user.insert("default_project_id".into(), project.clone().into());
        }
        Body::json(Self::OPERATION, &json!({"user": user}))
    }

    fn decode(&self, answer: Answer) -> Result<User> {
        answer.json_at("user")
    }
}

request! {
    /// Deletes a user.
    DeleteUser {
        /// Id.
        id: String,
    } => ();
    Identity DELETE "delete user";
    path: |r| segments!["users", r.id];
    decode: |answer| answer.ignore()
}

request! {
    /// Lists users.
    ListUsers {
        /// Only those of this name.
        name: Option<String>,
        /// Only those of this domain, by id.
        domain: Option<String>,
    } => Vec<User>;
    Identity GET "list users";
    path: |_r| segments!["users"];
    query: |r| {
        let mut query = by_name(r.name.as_deref());
        query.extend(r.domain.iter().map(|id| ("domain_id".into(), id.clone())));
        query
    };
    decode: |answer| answer.json_at("users")
}

request! {
    /// Lists roles.
    ListRoles {
        /// Only those of this name.
        name: Option<String>,
    } => Vec<Role>;
    Identity GET "list roles";
    path: |_r| segments!["roles"];
    query: |r| by_name(r.name.as_deref());
    decode: |answer| answer.json_at("roles")
}

request! {
    /// Lists domains.
    ListDomains {
        /// Only those of this name.
        name: Option<String>,
    } => Vec<Domain>;
    Identity GET "list domains";
    path: |_r| segments!["domains"];
    query: |r| by_name(r.name.as_deref());
    decode: |answer| answer.json_at("domains")
}

request! {
    /// Gives a user a role in a project.
    AssignRole {
        /// Project, by id.
        project: String,
        /// User, by id.
        user: String,
        /// Role, by id.
        role: String,
    } => ();
    Identity PUT "assign role";
    path: |r| segments!["projects", r.project, "users", r.user, "roles", r.role];
    decode: |answer| answer.ignore()
}

fn by_name(name: Option<&str>) -> Query {
    name.map(|name| ("name".into(), name.to_owned()))
        .into_iter()
        .collect()
}

/// Finds a role by name or id.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_role(session: &Session, name_or_id: &str) -> Result<Role> {
    Ok(pick(
        name_or_id,
        session.send(ListRoles { name: None }).await?,
    )?)
}

/// Finds a domain by name or id.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_domain(session: &Session, name_or_id: &str) -> Result<Domain> {
    Ok(pick(
        name_or_id,
        session.send(ListDomains { name: None }).await?,
    )?)
}
