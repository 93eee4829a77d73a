//! Who asks.

use crate::id::ProjectId;
use crate::secret::Secret;
use crate::store::Visibility;

/// Who asks, for which project. Every call of the engine takes one; where it comes from (a token, a session) is the embedder's affair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestContext {
    /// The project in which the caller works.
    pub project_id: ProjectId,
    /// The caller.
    pub user_id: String,
    /// The caller's roles in the project, as Keystone names them.
    pub roles: Vec<String>,
    /// The request's id, for logs and records.
    pub request_id: String,
    /// The caller's token, for a [`CredentialProvider`](crate::CredentialProvider) that [needs](crate::CredentialProvider::needs_token) it.
    /// Kept, sealed, only by requests that make or replace a credential, and only until it has been used.
    pub token: Option<Secret>,
    /// Whether the caller is an operator of the cloud.
    pub is_admin: bool,
    /// Whether an operator wants to see and change the objects of all projects. Without [`is_admin`](Self::is_admin) it has no effect.
    pub all_projects: bool,
}

impl RequestContext {
    /// A member of a project.
    pub fn new(project_id: impl Into<String>, user_id: impl Into<String>) -> Self {
        Self {
            project_id: ProjectId::new(project_id),
            user_id: user_id.into(),
            roles: vec!["member".to_owned(), "reader".to_owned()],
            request_id: String::new(),
            token: None,
            is_admin: false,
            all_projects: false,
        }
    }

    /// The same caller as an operator who sees all projects.
    #[must_use]
    pub const fn as_admin(mut self) -> Self {
        self.is_admin = true;
        self.all_projects = true;
        self
    }

    /// The same caller with exactly these roles.
    #[must_use]
    pub fn with_roles(mut self, roles: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// The same caller with a request id.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = id.into();
        self
    }

    /// The same caller with its token.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<Secret>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Whether the caller has a role.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own.eq_ignore_ascii_case(role))
    }

    pub(crate) fn visibility(&self) -> Visibility {
        if self.is_admin && self.all_projects {
            Visibility::Everything
        } else {
            Visibility::Project(self.project_id.clone())
        }
    }
}
