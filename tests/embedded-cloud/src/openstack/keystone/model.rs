//! What Keystone remembers, and what it begins with.

use std::fmt;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::openstack::seed;

/// A secret in clear text, for a stand-in only; never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A domain, project or role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) domain_id: String,
    pub(super) description: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct User {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) domain_id: String,
    pub(super) password: Secret,
    pub(super) default_project_id: Option<String>,
    pub(super) enabled: bool,
}

/// Scope of a role: exactly one of project and domain is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Assignment {
    pub(super) user_id: String,
    pub(super) role_id: String,
    pub(super) project_id: Option<String>,
    pub(super) domain_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AppCredential {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) user_id: String,
    pub(super) project_id: String,
    pub(super) roles: Vec<String>,
    pub(super) secret: Secret,
    pub(super) unrestricted: bool,
    pub(super) expires_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trust {
    pub(super) id: String,
    pub(super) trustor_user_id: String,
    pub(super) trustee_user_id: String,
    pub(super) project_id: String,
    pub(super) roles: Vec<String>,
    pub(super) impersonation: bool,
    pub(super) expires_at: Option<DateTime<Utc>>,
    pub(super) remaining_uses: Option<i64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) id: Secret,
    pub(super) user_id: String,
    pub(super) methods: Vec<String>,
    pub(super) project_id: Option<String>,
    pub(super) domain_id: Option<String>,
    pub(super) roles: Vec<String>,
    pub(super) issued_at: DateTime<Utc>,
    pub(super) expires_at: DateTime<Utc>,
    pub(super) audit_id: String,
    pub(super) trust_id: Option<String>,
    pub(super) app_credential_id: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) domains: IndexMap<String, Named>,
    pub(super) projects: IndexMap<String, Named>,
    pub(super) roles: IndexMap<String, Named>,
    pub(super) users: IndexMap<String, User>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) app_credentials: IndexMap<String, AppCredential>,
    pub(super) trusts: IndexMap<String, Trust>,
    pub(super) tokens: IndexMap<String, Token>,
}

const ROLES: [(&str, &str); 8] = [
    ("84f9f46b454c4903b3038b2446ce8b65", "member"),
    ("5f95c58da2fd4dd4827fa25136881bf4", "reader"),
    ("9528ec8217774682a3dda0e32385246b", "manager"),
    ("e40f5b12c4d94403b44965d2eeeb108d", "admin"),
    ("e40524a007a449b1ae4403b15cd2d311", "creator"),
    ("268d8a4b9a054b57807719ae77360962", "load-balancer_member"),
    ("6a1f0b0c0d0e4f0a8b0c0d0e0f0a0b01", "heat_stack_user"),
    ("6a1f0b0c0d0e4f0a8b0c0d0e0f0a0b02", "service"),
];

impl State {
    pub(super) fn seeded() -> Self {
        let mut state = Self {
            domains: IndexMap::new(),
            projects: IndexMap::new(),
            roles: IndexMap::new(),
            users: IndexMap::new(),
            assignments: Vec::new(),
            app_credentials: IndexMap::new(),
            trusts: IndexMap::new(),
            tokens: IndexMap::new(),
        };
        for (id, name) in [(seed::DOMAIN_ID, "Default"), (seed::HEAT_DOMAIN, "heat")] {
            state.domains.insert(id.to_owned(), named(id, name, ""));
        }
        for (id, name) in ROLES {
            state.roles.insert(id.to_owned(), named(id, name, ""));
        }
        for (id, name) in [
            (seed::DEMO_PROJECT, "demo"),
            (seed::ADMIN_PROJECT, "admin"),
            (seed::SERVICE_PROJECT, "service"),
            (seed::DEMO2_PROJECT, "demo2"),
        ] {
            state
                .projects
                .insert(id.to_owned(), named(id, name, seed::DOMAIN_ID));
        }
        let admin = ["member", "manager", "reader", "admin"];
        state.user(
            seed::ADMIN_USER,
            "admin",
            "adminpw",
            seed::ADMIN_PROJECT,
            &admin,
        );
        state.user(
            seed::DEMO_USER,
            "demo",
            "demopw",
            seed::DEMO_PROJECT,
            &["member", "creator", "reader", "load-balancer_member"],
        );
        state.user(
            seed::DEMO2_USER,
            "demo2",
            "demopw",
            seed::DEMO2_PROJECT,
            &["member", "reader"],
        );
        state.user(
            seed::READER_USER,
            "demo-reader",
            "demopw",
            seed::DEMO_PROJECT,
            &["reader"],
        );
        for (id, name) in [(seed::HEAT_USER, "heat"), (seed::NOVA_USER, "nova")] {
            state.user(
                id,
                name,
                "svcpw",
                seed::SERVICE_PROJECT,
                &["admin", "service"],
            );
        }
        state.grant_domain(seed::ADMIN_USER, "admin", seed::DOMAIN_ID);
        state.user(
            seed::HEAT_DOMAIN_ADMIN,
            "heat_domain_admin",
            "svcpw",
            "",
            &[],
        );
        if let Some(user) = state.users.get_mut(seed::HEAT_DOMAIN_ADMIN) {
            seed::HEAT_DOMAIN.clone_into(&mut user.domain_id);
        }
        state.grant_domain(seed::HEAT_DOMAIN_ADMIN, "admin", seed::HEAT_DOMAIN);
        state
    }

    fn user(&mut self, id: &str, name: &str, password: &str, project: &str, roles: &[&str]) {
        let user = User {
            id: id.to_owned(),
            name: name.to_owned(),
            domain_id: seed::DOMAIN_ID.to_owned(),
            password: Secret(password.to_owned()),
            default_project_id: None,
            enabled: true,
        };
        self.users.insert(id.to_owned(), user);
        for role in roles {
            if let Some(role_id) = self.role_by_name(role) {
                self.assignments.push(Assignment {
                    user_id: id.to_owned(),
                    role_id,
                    project_id: Some(project.to_owned()),
                    domain_id: None,
                });
            }
        }
    }

    fn grant_domain(&mut self, user: &str, role: &str, domain: &str) {
        if let Some(role_id) = self.role_by_name(role) {
            self.assignments.push(Assignment {
                user_id: user.to_owned(),
                role_id,
                project_id: None,
                domain_id: Some(domain.to_owned()),
            });
        }
    }

    pub(super) fn role_by_name(&self, name: &str) -> Option<String> {
        self.roles
            .values()
            .find(|r| r.name == name)
            .map(|r| r.id.clone())
    }

    /// Ids of the roles of a user in a project.
    pub(super) fn project_roles(&self, user: &str, project: &str) -> Vec<String> {
        let own = self.assignments.iter().filter(|a| a.user_id == user);
        own.filter(|a| a.project_id.as_deref() == Some(project))
            .map(|a| a.role_id.clone())
            .collect()
    }

    /// Ids of the roles of a user in a domain.
    pub(super) fn domain_roles(&self, user: &str, domain: &str) -> Vec<String> {
        let own = self.assignments.iter().filter(|a| a.user_id == user);
        own.filter(|a| a.domain_id.as_deref() == Some(domain))
            .map(|a| a.role_id.clone())
            .collect()
    }

    /// The domain by id or name.
    pub(super) fn domain(&self, id: Option<&str>, name: Option<&str>) -> Option<&Named> {
        match (id, name) {
            (Some(id), _) => self.domains.get(id),
            (None, Some(name)) => self.domains.values().find(|d| d.name == name),
            (None, None) => None,
        }
    }
}

pub(super) fn named(id: &str, name: &str, domain: &str) -> Named {
    Named {
        id: id.to_owned(),
        name: name.to_owned(),
        domain_id: domain.to_owned(),
        description: String::new(),
    }
}
