//! What Barbican keeps.

use std::fmt;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A payload, base64 of the bytes; never shown.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Payload(pub(super) String);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payload(..)")
    }
}

/// Who may read a secret beside its project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Acl {
    /// Users by id.
    pub users: Vec<String>,
    /// The project's own members may, too.
    pub project_access: bool,
    /// Made.
    pub created: DateTime<Utc>,
    /// Changed.
    pub updated: DateTime<Utc>,
}

/// A secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Secret {
    /// Id.
    pub id: String,
    /// Name.
    pub name: Option<String>,
    /// Owner.
    pub project_id: String,
    /// Maker.
    pub creator_id: String,
    /// `opaque`, `private`, ...
    pub secret_type: String,
    /// The payload, once it is there.
    pub payload: Option<Payload>,
    /// Its content type.
    pub content_type: Option<String>,
    /// Algorithm, as told.
    pub algorithm: Option<String>,
    /// Bits, as told.
    pub bit_length: Option<u64>,
    /// Mode, as told.
    pub mode: Option<String>,
    /// Expiration, as told.
    pub expiration: Option<String>,
    /// Who may read it; `None` is the default.
    pub acl: Option<Acl>,
    /// Made.
    pub created: DateTime<Utc>,
    /// Changed.
    pub updated: DateTime<Utc>,
}

/// A container of references to secrets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Container {
    /// Id.
    pub id: String,
    /// Name.
    pub name: Option<String>,
    /// `generic`, `certificate` or `rsa`.
    pub kind: String,
    /// Owner.
    pub project_id: String,
    /// Maker.
    pub creator_id: String,
    /// References as they came.
    pub secret_refs: Vec<Value>,
    /// Made.
    pub created: DateTime<Utc>,
    /// Changed.
    pub updated: DateTime<Utc>,
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BarbicanState {
    /// Secrets by id.
    pub secrets: IndexMap<String, Secret>,
    /// Containers by id.
    pub containers: IndexMap<String, Container>,
}
