//! Clusters that are worked on with a credential of their own do not notice when their creator leaves.

use std::sync::Arc;

use magnum_core::{ClusterName, NewCluster, Resize};
use magnum_driver_kit::WorkCredentials;
use magnum_heat::services::keystone;
use magnum_heat::{Scope, Session};
use uuid::Uuid;

use super::lifecycle::ready;
use crate::project::{login, new_user};
use crate::{Bench, Failure, TestCloud, TestProject, engine_builder, publish};

/// The creator is deleted, a resize works; the credential is rotated, then removed from outside, and a resize works still; the deletion
/// leaves no credential.
///
/// # Errors
/// Whatever does not hold.
pub async fn creator_leaves(cloud: TestCloud) -> Result<(), Failure> {
    let project = TestProject::create(&cloud, "departure").await?;
    let name = format!("magnum-{}", Uuid::new_v4().simple());
    let (user, password) = new_user(&cloud.admin, &name).await?;
    let service = login(&cloud.admin, &user, &password, Scope::Unscoped).await?;
    let folder = tempfile::tempdir()?;
    let engine = engine_builder(
        folder.path(),
        cloud.proxy.clone(),
        cloud.polls.clone(),
        |secrets| {
            let credentials = WorkCredentials::of_service_user(service.clone(), secrets);
            let credentials = Arc::new(credentials.granting(cloud.admin.clone()));
            (Arc::clone(&credentials) as _, Some(credentials as _))
        },
    )
    .await?
    .build()?;
    let template = publish(&engine, &project.caller, cloud.spec()).await?;
    let creator = project.caller.clone();
    let new = NewCluster::new(ClusterName::new("orphan")?, template.id.to_string());
    let accepted = engine.create_cluster(&creator, new).await?;
    let id = accepted.cluster.id;
    let work = |generation: u32| format!("magnum-work-{id}-{generation}");
    let mut bench = Bench::with_engine(cloud, project, folder, engine);
    bench.succeeds(&accepted).await?;
    let names = credentials(&service, &user).await?;
    assert!(names.iter().any(|(_, name)| *name == work(1)), "{names:?}");

    bench.project.hand_over().await?;
    let caller = bench.project.caller.clone();
    let grown = bench.engine.resize(&caller, id, Resize::to(2)).await?;
    bench.succeeds(&grown).await?;
    let group = bench.engine.node_group(&caller, id, "default-worker");
    ready(&group.await?, 2);

    let rotated = bench.engine.rotate_credential(&caller, id).await?;
    bench.succeeds(&rotated).await?;
    let names = credentials(&service, &user).await?;
    assert!(names.iter().any(|(_, name)| *name == work(2)), "{names:?}");
    assert!(names.iter().all(|(_, name)| *name != work(1)), "{names:?}");

    for (credential, name) in names {
        if name == work(2) {
            let gone = keystone::DeleteApplicationCredential {
                user: user.clone(),
                id: credential,
            };
            service.send(gone).await?;
        }
    }
    let shrunk = bench.engine.resize(&caller, id, Resize::to(1)).await?;
    bench.succeeds(&shrunk).await?;

    let deleted = bench.engine.delete_cluster(&caller, id).await?;
    bench.succeeds(&deleted).await?;
    let names = credentials(&service, &user).await?;
    assert!(names.is_empty(), "no credential is left: {names:?}");
    let gone = keystone::DeleteUser { id: user };
    bench.cloud.admin.send(gone).await?;
    bench.end().await
}

/// Ids and names of the service user's credentials.
async fn credentials(service: &Session, user: &str) -> Result<Vec<(String, String)>, Failure> {
    let list = keystone::ListApplicationCredentials {
        user: user.to_owned(),
        name: None,
    };
    let found = service.send(list).await?;
    Ok(found.into_iter().map(|c| (c.id, c.name)).collect())
}
