//! A project of a test's own, so that names and quotas never clash.

use std::path::Path;

use magnum_certs::write_private_file;
use magnum_core::RequestContext;
use magnum_examples::Inventory;
use magnum_heat::Session;
use magnum_heat::auth::{Auth, Scope, UserRef};
use magnum_heat::services::{keystone, neutron, nova};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{Failure, TestCloud};

async fn default_domain(admin: &Session) -> Result<String, Failure> {
    Ok(keystone::find_domain(admin, "Default").await?.id)
}

/// A user without any role, and its password.
pub(crate) async fn new_user(
    admin: &Session,
    name: &str,
) -> Result<(String, SecretString), Failure> {
    let password = SecretString::from(Uuid::new_v4().to_string());
    let user = admin
        .send(keystone::CreateUser {
            name: name.to_owned(),
            domain: default_domain(admin).await?,
            password: password.clone(),
            default_project: None,
            description: String::new(),
        })
        .await?;
    Ok((user.id, password))
}

/// Makes the user an ordinary member of the project, and logs in.
async fn member(
    admin: &Session,
    project: &str,
    user: &str,
    password: &SecretString,
) -> Result<Session, Failure> {
    for role in ["member", "load-balancer_member", "creator"] {
        let role = keystone::find_role(admin, role).await?.id;
        let (project, user) = (project.to_owned(), user.to_owned());
        admin
            .send(keystone::AssignRole {
                project,
                user,
                role,
            })
            .await?;
    }
    login(admin, user, password, Scope::project(project)).await
}

/// A session of a user on the same cloud.
pub(crate) async fn login(
    admin: &Session,
    user: &str,
    password: &SecretString,
    scope: Scope,
) -> Result<Session, Failure> {
    let auth = Auth::Password {
        user: UserRef::Id(user.to_owned()),
        password: password.clone(),
    };
    Ok(Session::connect(admin.cloud().clone().with_auth(auth, scope)).await?)
}

/// A project with one user, who has the roles of an ordinary member.
#[derive(Debug)]
pub struct TestProject {
    /// The project's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The user's session.
    pub session: Session,
    /// The user, as the engine's caller.
    pub caller: RequestContext,
    /// What it had at first.
    pub before: Inventory,
    user: String,
    password: SecretString,
    admin: Session,
}

impl TestProject {
    /// Makes one on a cloud.
    ///
    /// # Errors
    /// Those of Keystone.
    pub async fn create(cloud: &TestCloud, name: &str) -> Result<Self, Failure> {
        let admin = cloud.admin.clone();
        let name = format!("{name}-{}", &Uuid::new_v4().simple().to_string()[..8]);
        let project = admin
            .send(keystone::CreateProject {
                name: name.clone(),
                domain: default_domain(&admin).await?,
                description: "project of one test".to_owned(),
            })
            .await?;
        let (user, password) = new_user(&admin, &name).await?;
        let session = member(&admin, &project.id, &user, &password).await?;
        Ok(Self {
            caller: RequestContext::new(&project.id, &user),
            before: Inventory::take(&session).await?,
            id: project.id,
            name,
            session,
            user,
            password,
            admin,
        })
    }

    /// Deletes the user; a new member of the project is the caller from now on.
    ///
    /// # Errors
    /// Those of Keystone.
    pub async fn hand_over(&mut self) -> Result<(), Failure> {
        let name = format!("{}-colleague", self.name);
        let (user, password) = new_user(&self.admin, &name).await?;
        self.session = member(&self.admin, &self.id, &user, &password).await?;
        self.caller = RequestContext::new(&self.id, &user);
        self.password = password;
        let id = std::mem::replace(&mut self.user, user);
        Ok(self.admin.send(keystone::DeleteUser { id }).await?)
    }

    /// Writes a `clouds.yaml` with the user's login as cloud `bench`, readable by its owner only.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write_login(&self, path: &Path) -> Result<(), Failure> {
        let cloud = self.session.cloud();
        let text = serde_json::json!({"clouds": {"bench": {
            "auth_type": "password",
            "auth": {
                "auth_url": cloud.auth_url.as_str(),
                "user_id": self.user,
                "password": self.password.expose_secret(),
                "project_id": self.id,
            },
            "region_name": cloud.region,
        }}});
        Ok(write_private_file(
            path,
            &SecretString::from(text.to_string()),
        )?)
    }

    /// Sets Nova quotas: `instances`, `cores`, `ram`.
    ///
    /// # Errors
    /// Those of Nova.
    pub async fn compute_quota(&self, name: &str, value: i64) -> Result<(), Failure> {
        let quotas = Map::from_iter([(name.to_owned(), Value::from(value))]);
        let project = self.id.clone();
        Ok(self.admin.send(nova::SetQuota { project, quotas }).await?)
    }

    /// Sets Neutron quotas: `port`, `floatingip` and so on.
    ///
    /// # Errors
    /// Those of Neutron.
    pub async fn network_quota(&self, name: &str, value: i64) -> Result<(), Failure> {
        let quotas = Map::from_iter([(name.to_owned(), Value::from(value))]);
        let project = self.id.clone();
        Ok(self
            .admin
            .send(neutron::SetQuota { project, quotas })
            .await?)
    }

    /// What is there now and was not at first.
    ///
    /// # Errors
    /// Those of the services.
    pub async fn left_over(&self) -> Result<Vec<String>, Failure> {
        Ok(Inventory::left_over(&self.session, &self.before).await?)
    }

    /// Removes user and project.
    ///
    /// # Errors
    /// Those of Keystone.
    pub async fn remove(self) -> Result<(), Failure> {
        self.admin
            .send(keystone::DeleteUser { id: self.user })
            .await?;
        self.admin
            .send(keystone::DeleteProject { id: self.id })
            .await?;
        Ok(())
    }
}
