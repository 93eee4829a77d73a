//! Credentials, scopes and how they become a token.

mod method;
mod oidc;
mod scope;
mod url;

pub use method::{Auth, AuthContext, AuthMethod, Identity};
pub use oidc::{OidcAuth, OidcGrant};
pub use scope::{DomainRef, ProjectRef, Scope, TrustId, UserRef};
pub use url::AuthUrl;
