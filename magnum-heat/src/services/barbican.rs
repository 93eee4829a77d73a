//! Barbican: secrets, and containers that group them.

mod container;

pub use container::{
    AddToContainer, ContainedSecret, ContainerInfo, ContainerRef, CreateContainer, DeleteContainer,
    ListContainers, list_containers,
};

use std::fmt;

use bytes::Bytes;
use http::Method;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::Deserialize;
use serde_json::json;

use crate::{
    Result,
    request::{Answer, Body, Path, Query, Request, ServiceType, request, segments},
};

/// Address of a secret; its last part is the id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SecretRef(String);

impl SecretRef {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id.
    pub fn id(&self) -> &str {
        last_segment(&self.0)
    }
}

fn last_segment(address: &str) -> &str {
    address
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default()
}

/// What Barbican says of a secret, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SecretInfo {
    /// Its address.
    pub secret_ref: SecretRef,
    /// Name.
    #[serde(default)]
    pub name: Option<String>,
    /// `ACTIVE`, ...
    #[serde(default)]
    pub status: String,
    /// `opaque`, `certificate`, `private`, ...
    #[serde(default)]
    pub secret_type: String,
}

/// Stores a text as a secret. Not repeated after a lost answer.
#[derive(Clone)]
pub struct StoreSecret {
    /// Name.
    pub name: String,
    /// Content.
    pub payload: SecretString,
}

impl fmt::Debug for StoreSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSecret")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Request for StoreSecret {
    type Output = SecretRef;
    const SERVICE: ServiceType = ServiceType::KeyManager;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "store secret";

    fn path(&self) -> Path {
        segments!["secrets"]
    }

    fn body(&self) -> Result<Body> {
        let body = json!({
            "name": self.name,
            "payload": self.payload.expose_secret(),
            "payload_content_type": "text/plain",
            "secret_type": "opaque",
        });
        Body::json(Self::OPERATION, &body)
    }

    fn decode(&self, answer: Answer) -> Result<SecretRef> {
        answer.json_at("secret_ref")
    }
}

/// Reads the content of a secret.
#[derive(Debug, Clone)]
pub struct GetPayload {
    /// Id.
    pub id: String,
}

impl Request for GetPayload {
    type Output = SecretString;
    const SERVICE: ServiceType = ServiceType::KeyManager;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "read secret";

    fn path(&self) -> Path {
        segments!["secrets", self.id, "payload"]
    }

    fn headers(&self) -> http::HeaderMap {
        let mut headers = http::HeaderMap::new();
        headers.insert(
            http::header::ACCEPT,
            http::HeaderValue::from_static("text/plain"),
        );
        headers
    }

    fn decode(&self, answer: Answer) -> Result<SecretString> {
        let text = std::str::from_utf8(&answer.body)
            .map_err(|_| answer.unexpected("the content is not text"))?;
        Ok(SecretString::from(text))
    }
}

request! {
    /// Lists secrets.
    ListSecrets {
        /// Only those of this name.
        name: Option<String>,
    } => Vec<SecretInfo>;
    KeyManager GET "list secrets";
    path: |_r| segments!["secrets"];
    query: |r| {
        let mut query: Query = vec![("limit".into(), "100".to_owned())];
        query.extend(r.name.iter().map(|name| ("name".into(), name.clone())));
        query
    };
    decode: |answer| answer.json_at("secrets")
}

request! {
    /// Deletes a secret.
    DeleteSecret {
        /// Id.
        id: String,
    } => ();
    KeyManager DELETE "delete secret";
    path: |r| segments!["secrets", r.id];
    decode: |answer| answer.ignore()
}

request! {
    /// Lets users read a secret, besides or instead of its project.
    SetSecretAcl {
        /// Id.
        id: String,
        /// Ids of the users.
        users: Vec<String>,
        /// Whether the project may read it as well.
        project_access: bool,
    } => ();
    KeyManager PUT "set secret ACL";
    path: |r| segments!["secrets", r.id, "acl"];
    body: |r| json!({"read": {"users": r.users, "project-access": r.project_access}});
    decode: |answer| answer.ignore()
}

request! {
    /// Announces a secret by its name, without content, so that it can have an access list before it has content; see
    /// [`SetPayload`]. Not repeated after a lost answer.
    CreateSecret {
        /// Name, at most 255 characters; not unique.
        name: String,
    } => SecretRef;
    KeyManager POST "create secret";
    path: |_r| segments!["secrets"];
    body: |r| json!({"name": r.name, "secret_type": "opaque"});
    decode: |answer| answer.json_at("secret_ref")
}

/// Gives an announced secret its content, once: a conflict says that it has content already.
#[derive(Clone)]
pub struct SetPayload {
    /// Id.
    pub id: String,
    /// Content. Barbican takes 20 000 bytes unless it is set up otherwise, and none is an error.
    pub payload: SecretSlice<u8>,
}

impl fmt::Debug for SetPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetPayload")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Request for SetPayload {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::KeyManager;
    const METHOD: Method = Method::PUT;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "fill secret";

    fn path(&self) -> Path {
        segments!["secrets", self.id]
    }

    fn body(&self) -> Result<Body> {
        let bytes = Bytes::copy_from_slice(self.payload.expose_secret());
        Ok(Body::Raw("application/octet-stream", bytes))
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

/// Reads the content of a secret as bytes, as [`SetPayload`] stored it.
#[derive(Debug, Clone)]
pub struct GetBytes {
    /// Id.
    pub id: String,
}

impl Request for GetBytes {
    type Output = SecretSlice<u8>;
    const SERVICE: ServiceType = ServiceType::KeyManager;
    const METHOD: Method = Method::GET;
    const IDEMPOTENT: bool = true;
    const OPERATION: &'static str = "read secret";

    fn path(&self) -> Path {
        segments!["secrets", self.id, "payload"]
    }

    fn headers(&self) -> http::HeaderMap {
        let mut headers = http::HeaderMap::new();
        headers.insert(
            http::header::ACCEPT,
            http::HeaderValue::from_static("application/octet-stream"),
        );
        headers
    }

    fn decode(&self, answer: Answer) -> Result<SecretSlice<u8>> {
        Ok(SecretSlice::from(answer.body.to_vec()))
    }
}
