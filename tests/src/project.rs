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
        let domain = keystone::find_domain(&admin, "Default").await?.id;
        let project = admin
            .send(keystone::CreateProject {
                name: name.clone(),
                domain: domain.clone(),
                description: "project of one test".to_owned(),
            })
            .await?;
        let password = SecretString::from(Uuid::new_v4().to_string());
        let user = admin
            .send(keystone::CreateUser {
                name: name.clone(),
                domain,
                password: password.clone(),
                default_project: None,
                description: String::new(),
            })
            .await?;
        for role in ["member", "load-balancer_member", "creator"] {
            let role = keystone::find_role(&admin, role).await?.id;
            let (project, user) = (project.id.clone(), user.id.clone());
            admin
                .send(keystone::AssignRole {
                    project,
                    user,
                    role,
                })
                .await?;
        }
        let auth = Auth::Password {
            user: UserRef::Id(user.id.clone()),
            password: password.clone(),
        };
        let config = admin
            .cloud()
            .clone()
            .with_auth(auth, Scope::project(&project.id));
        let session = Session::connect(config).await?;
        Ok(Self {
            caller: RequestContext::new(&project.id, &user.id),
            before: Inventory::take(&session).await?,
            id: project.id,
            name,
            session,
            user: user.id,
            password,
            admin,
        })
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
