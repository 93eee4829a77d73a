//! The credentials that the engine works with: one application credential for each cluster.
//!
//! They are unrestricted, since Heat makes trusts with them and the cluster's own, restricted credential is made with them; that is why
//! their secret is sealed in the secret store and never reaches a node.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use magnum_core::driver::{DriverError, Leftover};
use magnum_core::{
    Cluster, ClusterId, CredentialError, CredentialProvider, CredentialRef, CredentialRequest,
    IssuedCredential, ProjectId, Retry, Secret, SecretStore, WorkCredential,
};
use magnum_heat::services::keystone::{
    AssignRole, CreateApplicationCredential, ListApplicationCredentials, find_role,
};
use magnum_heat::{Auth, Scope, Session};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::application::{make, remove_named};
use crate::config::SessionSource;
use crate::fault::cloud_error;

/// Whose credentials clusters are worked on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialOwner {
    /// The service user's. Clusters do not notice when the person who asked for them leaves.
    ServiceUser,
    /// The requester's, made with the token of the request; the service user gets its roles in a project only where it has to step in, as
    /// for the removal of a cluster that has no credential. When the requester leaves
    /// the credential dies, and so do the trusts that Heat made with it: another member has to
    /// [rotate](magnum_core::Engine::rotate_credential) it before the next change.
    Requester,
}

/// Makes an application credential for each cluster, and gives drivers the sessions that log in with it. Give the same one to
/// [`EngineBuilder::credentials`](magnum_core::EngineBuilder::credentials) and, as their session source, to the drivers; its secret store
/// must be the engine's.
///
/// A credential that was removed from outside, or whose owner is gone, is replaced for reading and working by the service user's own
/// session for the project, where it has a role there (rule `SM-06`).
#[derive(Debug)]
pub struct WorkCredentials {
    service: Session,
    operator: Option<Session>,
    owner: CredentialOwner,
    roles: Vec<String>,
    secrets: Arc<dyn SecretStore>,
    projects: Mutex<HashMap<ProjectId, Session>>,
    clusters: Mutex<HashMap<ClusterId, (String, Session)>>,
}

/// Where a credential is: `<credential id>@<user id>`.
struct Place<'a> {
    user: &'a str,
}

impl<'a> Place<'a> {
    fn text(credential: &str, user: &str) -> String {
        format!("{credential}@{user}")
    }

    fn read(text: &'a str) -> Option<(&'a str, Self)> {
        let (credential, user) = text.split_once('@')?;
        Some((credential, Self { user }))
    }
}

impl WorkCredentials {
    /// Credentials of the service user that `service` logs in as, by its password, with any scope. It needs the roles `member` and
    /// `load-balancer_member` (see [`roles`](Self::roles)) in every project that has clusters: assigned beforehand, or by
    /// [`granting`](Self::granting).
    #[must_use]
    pub fn of_service_user(service: Session, secrets: Arc<dyn SecretStore>) -> Self {
        Self::new(service, None, CredentialOwner::ServiceUser, secrets)
    }

    /// Credentials of whoever asks for a cluster. `operator` may remove other users' credentials.
    #[must_use]
    pub fn of_requesters(
        service: Session,
        operator: Session,
        secrets: Arc<dyn SecretStore>,
    ) -> Self {
        let owner = CredentialOwner::Requester;
        Self::new(service, Some(operator), owner, secrets)
    }

    fn new(
        service: Session,
        operator: Option<Session>,
        owner: CredentialOwner,
        secrets: Arc<dyn SecretStore>,
    ) -> Self {
        Self {
            service,
            operator,
            owner,
            roles: vec!["member".to_owned(), "load-balancer_member".to_owned()],
            secrets,
            projects: Mutex::default(),
            clusters: Mutex::default(),
        }
    }

    /// Gives the service user its roles in a project when the first cluster is made there, by this operator's login. They stay.
    #[must_use]
    pub fn granting(mut self, operator: Session) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Limits credentials to these roles, of those that their owner has in the project.
    #[must_use]
    pub fn roles(mut self, roles: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.roles = roles.into_iter().map(Into::into).collect();
        self
    }

    /// The service user's session for a project.
    async fn project_session(&self, project: &ProjectId) -> magnum_heat::Result<Session> {
        let known = self.projects.lock().await.get(project).cloned();
        if let Some(session) = known {
            return Ok(session);
        }
        let session = self.service.rescoped(Scope::project(project.as_str()));
        let session = session.await?;
        let entry = (project.clone(), session.clone());
        self.projects.lock().await.extend([entry]);
        Ok(session)
    }

    /// Gives the service user its roles in the project, where an operator may.
    async fn grant(&self, project: &ProjectId) -> magnum_heat::Result<()> {
        let Some(operator) = &self.operator else {
            return Ok(());
        };
        let user = self.service.user_id().await?;
        for name in &self.roles {
            let role = match find_role(operator, name).await {
                // A cloud without load balancers has no role for them.
                Err(error) if error.is_not_found() => continue,
                other => other?.id,
            };
            let (project, user) = (project.to_string(), user.clone());
            let assign = AssignRole {
                project,
                user,
                role,
            };
            operator.send(assign).await?;
        }
        Ok(())
    }

    /// The session with which a credential is made.
    async fn owners_session(
        &self,
        request: &CredentialRequest<'_>,
    ) -> Result<Session, CredentialError> {
        let project = &request.cluster.project_id;
        let session = match self.owner {
            CredentialOwner::ServiceUser => {
                self.grant(project).await.map_err(refused)?;
                self.project_session(project).await
            }
            CredentialOwner::Requester => {
                let token = request.token.as_ref().ok_or_else(|| {
                    CredentialError::refused(
                        "it is made with the requester's token, which is missing",
                    )
                })?;
                let token = String::from_utf8_lossy(token.expose()).into_owned();
                let auth = Auth::Token(SecretString::from(token));
                let scope = Scope::project(project.as_str());
                self.service.reauthenticated(auth, scope).await
            }
        };
        session.map_err(refused)
    }
}

/// An error of Keystone as the engine sees it.
fn refused(error: magnum_heat::Error) -> CredentialError {
    match cloud_error(error) {
        DriverError::Unavailable {
            reason,
            retry,
            source,
            ..
        } => CredentialError::Unavailable {
            reason,
            retry,
            source,
        },
        other => refusal(other),
    }
}

fn refusal(error: DriverError) -> CredentialError {
    let reason = error.to_string();
    if error.retry() == Retry::Never {
        return CredentialError::Refused {
            reason,
            source: Some(Box::new(error)),
        };
    }
    CredentialError::Unavailable {
        reason,
        retry: error.retry(),
        source: Some(Box::new(error)),
    }
}

/// Whether Keystone says that this login is none any more.
fn is_gone(error: &magnum_heat::Error) -> bool {
    error.is_unauthorized()
        || error.is_not_found()
        || error.status().is_some_and(|status| status.as_u16() == 403)
}

#[async_trait]
impl CredentialProvider for WorkCredentials {
    fn name(&self) -> &str {
        match self.owner {
            CredentialOwner::ServiceUser => "application credentials of the service user",
            CredentialOwner::Requester => "application credentials of the requester",
        }
    }

    fn needs_token(&self) -> bool {
        self.owner == CredentialOwner::Requester
    }

    async fn issue(
        &self,
        request: &CredentialRequest<'_>,
    ) -> Result<IssuedCredential, CredentialError> {
        let session = self.owners_session(request).await?;
        let token = session.token_info().await.map_err(refused)?;
        let held: Vec<&str> = self
            .roles
            .iter()
            .map(String::as_str)
            .filter(|role| token.role_names().any(|has| has == *role))
            .collect();
        if held.is_empty() {
            return Err(CredentialError::refused(format!(
                "user {} has none of the roles {} in project {}",
                token.user.name,
                self.roles.join(", "),
                request.cluster.project_id
            )));
        }
        let create = CreateApplicationCredential::new(&token.user.id, &request.name)
            .description("work on a Kubernetes cluster")
            .roles(held)
            .unrestricted();
        let made = make(&session, create).await.map_err(refusal)?;
        Ok(IssuedCredential {
            id: Place::text(&made.id, &token.user.id),
            secret: Secret::new(made.secret.expose_secret().as_bytes().to_vec()),
        })
    }

    async fn remove(
        &self,
        cluster: &Cluster,
        credential: &CredentialRef,
    ) -> Result<(), CredentialError> {
        self.clusters.lock().await.remove(&cluster.id);
        let own = self.service.user_id().await.map_err(refused)?;
        let user = match (credential.id.as_deref().and_then(Place::read), self.owner) {
            (Some((_, place)), _) => place.user.to_owned(),
            (None, CredentialOwner::ServiceUser) => own.clone(),
            (None, CredentialOwner::Requester) => cluster.user_id.clone(),
        };
        let session = match &self.operator {
            Some(operator) if user != own => operator,
            _ => &self.service,
        };
        let removed = remove_named(session, &user, &credential.name).await;
        removed.map_err(refusal)
    }

    async fn list(&self, cluster: &Cluster) -> Result<Vec<Leftover>, CredentialError> {
        let (session, user) = match (&self.operator, self.owner) {
            (Some(operator), CredentialOwner::Requester) => (operator, cluster.user_id.clone()),
            _ => (
                &self.service,
                self.service.user_id().await.map_err(refused)?,
            ),
        };
        let prefix = format!("magnum-work-{}-", cluster.id);
        let listed = session.send(ListApplicationCredentials { user, name: None });
        let found = match listed.await {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            other => other.map_err(refused)?,
        };
        let own = found.into_iter().filter(|c| c.name.starts_with(&prefix));
        Ok(own
            .map(|credential| Leftover {
                kind: "application credential".to_owned(),
                id: credential.id,
                name: credential.name,
            })
            .collect())
    }
}

#[async_trait]
impl SessionSource for WorkCredentials {
    async fn session(&self, project: &ProjectId) -> Result<Session, DriverError> {
        let session = match self.project_session(project).await {
            Err(error) if is_gone(&error) && self.operator.is_some() => {
                self.grant(project).await.map_err(cloud_error)?;
                self.project_session(project).await
            }
            other => other,
        };
        session.map_err(cloud_error)
    }

    async fn forget(&self, cluster: ClusterId) {
        self.clusters.lock().await.remove(&cluster);
    }

    async fn cluster_session(&self, cluster: &Cluster) -> Result<Session, DriverError> {
        let loaded = WorkCredential::load(&*self.secrets, cluster.id).await;
        let loaded = loaded.map_err(|error| match error {
            CredentialError::Secret(error) => DriverError::Secret(error),
            other => DriverError::internal(other.to_string()),
        })?;
        let Some(credential) = loaded else {
            return self.session(&cluster.project_id).await;
        };
        let known = self.clusters.lock().await.get(&cluster.id).cloned();
        let session = match known {
            Some((name, session)) if name == credential.name => {
                session.token_info().await.map(|_| session)
            }
            _ => {
                let (id, _) = Place::read(&credential.id).ok_or_else(|| {
                    DriverError::internal("the stored credential has no user in its id")
                })?;
                let secret = String::from_utf8_lossy(credential.secret.expose()).into_owned();
                let auth = Auth::ApplicationCredential {
                    id: id.to_owned(),
                    secret: secret.into(),
                };
                let scope = Scope::project(cluster.project_id.as_str());
                self.service.reauthenticated(auth, scope).await
            }
        };
        match session {
            Ok(session) => {
                let entry = (credential.name, session.clone());
                self.clusters.lock().await.insert(cluster.id, entry);
                Ok(session)
            }
            Err(error) if is_gone(&error) => {
                tracing::warn!(cluster = %cluster.id, %error, "the cluster's credential does not log in: working as the service user");
                self.clusters.lock().await.remove(&cluster.id);
                self.session(&cluster.project_id).await
            }
            Err(error) => Err(cloud_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let text = Place::text("0a1b", "c2d3");
        let (credential, place) = Place::read(&text).expect("it was written so");
        assert_eq!((credential, place.user), ("0a1b", "c2d3"));
        assert!(Place::read("0a1b").is_none());
    }
}
