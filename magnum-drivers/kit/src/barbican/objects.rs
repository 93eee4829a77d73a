//! What is done in Barbican.

use magnum_core::{ClusterId, Secret};
use magnum_heat::barbican::{
    AddToContainer, ContainerInfo, CreateContainer, CreateSecret, DeleteContainer, DeleteSecret,
    GetBytes, ListSecrets, SecretRef, SetPayload, SetSecretAcl, list_containers,
};
use magnum_heat::{Error, Result, Session};
use secrecy::{ExposeSecret as _, SecretSlice};

use super::index::Note;

/// The longest part of a purpose in a name: Barbican takes 255 characters in all.
const PURPOSE_IN_NAMES: usize = 150;

/// The name of a cluster's containers.
pub(super) fn mark(cluster: ClusterId) -> String {
    format!("magnum.{cluster}")
}

/// The name of a secret, which only its note has.
pub(super) fn name(cluster: ClusterId, note: &Note) -> String {
    format!("{}.{}", mark(cluster), short(note))
}

fn short(note: &Note) -> String {
    let purpose: String = note.purpose.chars().take(PURPOSE_IN_NAMES).collect();
    format!("{purpose}.{}", note.nonce)
}

/// Who may read a secret, beside whoever made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readers {
    /// These users, by id.
    Users(Vec<String>),
    /// The project, as Barbican does by itself.
    Project,
}

/// Makes the secret of a note. Found again by its name when the answer is lost.
pub(super) async fn create(
    session: &Session,
    cluster: ClusterId,
    note: &Note,
) -> Result<SecretRef> {
    let name = name(cluster, note);
    let lost = match session.send(CreateSecret { name: name.clone() }).await {
        Err(error) if error.may_have_happened() => error,
        made => return made,
    };
    let found = named(session, &name).await?;
    found.into_iter().next().ok_or(lost)
}

/// Gives a secret its mark, its readers and, last, its content.
pub(super) async fn fill(
    session: &Session,
    cluster: ClusterId,
    note: &Note,
    secret: &SecretRef,
    readers: &Readers,
    content: &Secret,
) -> Result<()> {
    let add = AddToContainer {
        container: container(session, cluster).await?,
        name: short(note),
        secret: secret.clone(),
    };
    match session.send(add).await {
        // It is in there: an earlier answer was lost.
        Err(error) if error.is_conflict() => {}
        other => other?,
    }
    let id = secret.id().to_owned();
    if let Readers::Users(users) = readers {
        let acl = SetSecretAcl {
            id: id.clone(),
            users: users.clone(),
            project_access: false,
        };
        session.send(acl).await?;
    }
    let payload = SecretSlice::from(content.expose().to_vec());
    match session.send(SetPayload { id, payload }).await {
        // Only this call fills this secret, so it did it before: the answer was lost and the request sent again.
        Err(error) if error.is_conflict() => Ok(()),
        other => other,
    }
}

/// The id of the cluster's container; made where there is none. Two that were made at once are both the cluster's.
async fn container(session: &Session, cluster: ClusterId) -> Result<String> {
    let first = |all: Vec<ContainerInfo>| all.into_iter().next().map(|c| c.container_ref);
    if let Some(found) = first(containers(session, cluster).await?) {
        return Ok(found.id().to_owned());
    }
    let name = mark(cluster);
    let made = match session.send(CreateContainer { name }).await {
        Err(error) if error.may_have_happened() => {
            first(containers(session, cluster).await?).ok_or(error)?
        }
        other => other?,
    };
    Ok(made.id().to_owned())
}

pub(super) async fn read(session: &Session, id: &str) -> Result<Secret> {
    let content = session.send(GetBytes { id: id.to_owned() }).await?;
    Ok(Secret::new(content.expose_secret()))
}

/// Removes every secret of a note's name; none there is success.
pub(super) async fn remove(session: &Session, cluster: ClusterId, note: &Note) -> Result<()> {
    for secret in named(session, &name(cluster, note)).await? {
        remove_secret(session, &secret).await?;
    }
    Ok(())
}

/// Removes everything that has the cluster's mark; gives how many secrets that were.
pub(super) async fn sweep(session: &Session, cluster: ClusterId) -> Result<usize> {
    let mut removed = 0;
    for container in containers(session, cluster).await? {
        for entry in &container.secret_refs {
            remove_secret(session, &entry.secret_ref).await?;
            removed += 1;
        }
        let id = container.container_ref.id().to_owned();
        gone(session.send(DeleteContainer { id }).await)?;
    }
    Ok(removed)
}

/// The cluster's containers: those of its mark.
pub(super) async fn containers(
    session: &Session,
    cluster: ClusterId,
) -> Result<Vec<ContainerInfo>> {
    let mark = mark(cluster);
    let mut found = list_containers(session, Some(&mark)).await?;
    found.retain(|container| container.name.as_deref() == Some(&mark));
    Ok(found)
}

async fn named(session: &Session, name: &str) -> Result<Vec<SecretRef>> {
    let list = ListSecrets {
        name: Some(name.to_owned()),
    };
    let mut found = session.send(list).await?;
    found.retain(|secret| secret.name.as_deref() == Some(name));
    Ok(found.into_iter().map(|secret| secret.secret_ref).collect())
}

async fn remove_secret(session: &Session, secret: &SecretRef) -> Result<()> {
    let id = secret.id().to_owned();
    gone(session.send(DeleteSecret { id }).await)
}

/// Gone already is as good as removed.
fn gone(result: Result<(), Error>) -> Result<()> {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}
