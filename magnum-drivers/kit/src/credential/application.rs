//! Application credentials: made once, found again by name, removed with the cluster.

use magnum_core::ClusterId;
use magnum_core::driver::DriverError;
use magnum_heat::Session;
use magnum_heat::services::keystone::{
    CreateApplicationCredential, DeleteApplicationCredential, ListApplicationCredentials,
};

use super::{CloudCredential, CredentialMode, PURPOSE};
use crate::fault::cloud_error;
use crate::memo::CredentialRecord;
use magnum_core::SecretStore;

/// The cluster's credential, made where it is not there yet. `record` names it and was written before.
///
/// One whose secret was lost (its answer never came, or was not stored) is of no use: it is removed and made anew under the same name.
///
/// # Errors
/// As session and secret store.
pub async fn ensure(
    session: &Session,
    secrets: &dyn SecretStore,
    cluster: ClusterId,
    mode: &CredentialMode,
    record: &mut CredentialRecord,
) -> Result<Option<CloudCredential>, DriverError> {
    let roles = match mode {
        CredentialMode::None => return Ok(None),
        CredentialMode::Provided(credential) => return Ok(Some(credential.clone())),
        CredentialMode::Application { roles } => roles,
    };
    if let Some(stored) = secrets.get(cluster, PURPOSE).await? {
        let credential = CloudCredential::from_secret(&stored)?;
        record.id = Some(credential.id.clone());
        return Ok(Some(credential));
    }
    let token = session.token_info().await.map_err(cloud_error)?;
    let user = token.user.id.clone();
    let held: Vec<&str> = roles
        .iter()
        .map(String::as_str)
        .filter(|role| token.role_names().any(|has| has == *role))
        .collect();
    let request = CreateApplicationCredential::new(&user, &record.name)
        .description("cloud controllers of a Kubernetes cluster")
        .roles(held);
    let credential = make(session, request).await?;
    secrets
        .put(cluster, PURPOSE, credential.to_secret())
        .await?;
    record.id = Some(credential.id.clone());
    Ok(Some(credential))
}

/// Makes a credential; one of that name that is there already was made by a call whose answer was lost, and is made anew.
pub(super) async fn make(
    session: &Session,
    request: CreateApplicationCredential,
) -> Result<CloudCredential, DriverError> {
    let made = match session.send(request.clone()).await {
        Err(error) if error.is_conflict() => {
            remove_named(session, &request.user, &request.name).await?;
            session.send(request).await.map_err(cloud_error)?
        }
        other => other.map_err(cloud_error)?,
    };
    let secret = made.secret.ok_or_else(|| {
        DriverError::internal("Keystone gave an application credential without its secret")
    })?;
    Ok(CloudCredential {
        id: made.id,
        secret,
    })
}

/// Removes the credential; none there is success.
///
/// # Errors
/// As session and secret store.
pub async fn remove(
    session: &Session,
    secrets: &dyn SecretStore,
    cluster: ClusterId,
    record: &CredentialRecord,
) -> Result<(), DriverError> {
    let user = session.user_id().await.map_err(cloud_error)?;
    remove_named(session, &user, &record.name).await?;
    secrets.delete(cluster, PURPOSE).await?;
    Ok(())
}

/// Removes a user's credentials of a name; none there, or no such user, is success (rule `MS-05`).
pub(super) async fn remove_named(
    session: &Session,
    user: &str,
    name: &str,
) -> Result<(), DriverError> {
    let found = session
        .send(ListApplicationCredentials {
            user: user.to_owned(),
            name: Some(name.to_owned()),
        })
        .await;
    let found = match found {
        Err(error) if error.is_not_found() => return Ok(()),
        other => other.map_err(cloud_error)?,
    };
    for credential in found.into_iter().filter(|found| found.name == name) {
        let gone = session
            .send(DeleteApplicationCredential {
                user: user.to_owned(),
                id: credential.id,
            })
            .await;
        match gone {
            Err(error) if !error.is_not_found() => return Err(cloud_error(error)),
            _ => {}
        }
    }
    Ok(())
}
