//! Keystone: application credentials, trusts, and the projects, users and roles that trustees and tests need.

mod admin;
mod credential;
mod trust;

pub use admin::{
    AssignRole, CreateProject, CreateUser, DeleteProject, DeleteUser, Domain, ListDomains,
    ListProjects, ListRoles, ListUsers, Project, Role, User, find_domain, find_role,
};
pub use credential::{
    ApplicationCredential, CreateApplicationCredential, DeleteApplicationCredential,
    ListApplicationCredentials,
};
pub use trust::{CreateTrust, DeleteTrust, ListTrusts, Trust};
