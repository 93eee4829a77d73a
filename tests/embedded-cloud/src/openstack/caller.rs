//! Who sends a request.

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::{ApiError, Cloud, ServiceKind};

/// The owner of the token of a request. As an extractor it answers 401 without a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// User id.
    pub user_id: String,
    /// User name.
    pub user_name: String,
    /// The scope's project; empty without one.
    pub project_id: String,
    /// The project's name; empty without one.
    pub project_name: String,
    /// The domain of the user.
    pub domain_id: String,
    /// Names of the roles in the scope.
    pub roles: Vec<String>,
    /// Has the role `admin`.
    pub is_admin: bool,
    /// The token itself, for calls in the caller's name.
    pub token: String,
}

impl Caller {
    /// Whether the caller has a role by name; `admin` has all.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.is_admin || self.roles.iter().any(|r| r == role)
    }

    /// Whether the caller may change things in its project (`member` or `admin`).
    #[must_use]
    pub fn can_write(&self) -> bool {
        self.has_role("member")
    }

    /// Whether the caller may see an object of this project.
    #[must_use]
    pub fn sees(&self, project_id: &str) -> bool {
        self.is_admin || self.project_id == project_id
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let token = parts
            .headers
            .get("x-auth-token")
            .and_then(|v| v.to_str().ok());
        let cloud = parts.extensions.get::<Cloud>();
        match (token, cloud) {
            (Some(token), Some(cloud)) => cloud.keystone().caller(cloud, token),
            _ => None,
        }
        .ok_or_else(|| {
            let base = cloud.map(Cloud::base_url).unwrap_or_default();
            let kind = parts
                .extensions
                .get::<ServiceKind>()
                .copied()
                .unwrap_or(ServiceKind::Keystone);
            ApiError::unauthorized(kind, &base)
        })
    }
}
