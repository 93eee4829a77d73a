//! Containers: named groups of references to secrets.

use serde::Deserialize;
use serde_json::json;

use super::SecretRef;
use crate::{
    Result, Session,
    request::{Query, request, segments},
};

/// How many containers one page of a list has.
const PAGE: usize = 100;

/// Address of a container; its last part is the id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ContainerRef(String);

impl ContainerRef {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id.
    pub fn id(&self) -> &str {
        super::last_segment(&self.0)
    }
}

/// A secret in a container.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ContainedSecret {
    /// What the container calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// The secret.
    pub secret_ref: SecretRef,
}

/// A container.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ContainerInfo {
    /// Its address.
    pub container_ref: ContainerRef,
    /// Name; not unique.
    #[serde(default)]
    pub name: Option<String>,
    /// `generic`, `certificate` or `rsa`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// What it refers to. Barbican takes a secret out of its containers when the secret is deleted.
    #[serde(default)]
    pub secret_refs: Vec<ContainedSecret>,
}

request! {
    /// Makes an empty generic container. Not repeated after a lost answer.
    CreateContainer {
        /// Name, at most 255 characters.
        name: String,
    } => ContainerRef;
    KeyManager POST "create container";
    path: |_r| segments!["containers"];
    body: |r| json!({"name": r.name, "type": "generic", "secret_refs": []});
    decode: |answer| answer.json_at("container_ref")
}

request! {
    /// Lists containers, a page of up to 100.
    ListContainers {
        /// Only those of this name.
        name: Option<String>,
        /// How many are left out before.
        offset: usize,
    } => Vec<ContainerInfo>;
    KeyManager GET "list containers";
    path: |_r| segments!["containers"];
    query: |r| {
        let mut query: Query = vec![
            ("limit".into(), PAGE.to_string()),
            ("offset".into(), r.offset.to_string()),
        ];
        query.extend(r.name.iter().map(|name| ("name".into(), name.clone())));
        query
    };
    decode: |answer| answer.json_at("containers")
}

request! {
    /// Adds a secret to a generic container. The same secret under the same name a second time is a conflict.
    AddToContainer {
        /// Id of the container.
        container: String,
        /// What the container calls the secret, at most 255 characters.
        name: String,
        /// The secret.
        secret: SecretRef,
    } => ();
    KeyManager POST "add secret to container";
    path: |r| segments!["containers", r.container, "secrets"];
    body: |r| json!({"name": r.name, "secret_ref": r.secret.as_str()});
    decode: |answer| answer.ignore()
}

request! {
    /// Deletes a container; the secrets stay.
    DeleteContainer {
        /// Id.
        id: String,
    } => ();
    KeyManager DELETE "delete container";
    path: |r| segments!["containers", r.id];
    decode: |answer| answer.ignore()
}

/// All containers of the project, or those of one name.
///
/// # Errors
/// Those of [`Session::send`].
pub async fn list_containers(session: &Session, name: Option<&str>) -> Result<Vec<ContainerInfo>> {
    let mut all: Vec<ContainerInfo> = Vec::new();
    loop {
        let page = ListContainers {
            name: name.map(str::to_owned),
            offset: all.len(),
        };
        let page = session.send(page).await?;
        let last = page.len() < PAGE;
        all.extend(page);
        if last {
            return Ok(all);
        }
    }
}
