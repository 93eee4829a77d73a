//! Cinder: volumes and volume types.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::{
    Named, Result, Session, pick,
    request::{Query, request, segments},
    services::nova::QuotaDetail,
};

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Volume {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default)]
    name: Option<String>,
    /// Description.
    #[serde(default)]
    pub description: Option<String>,
    /// `available`, `in-use`, `error`, ...
    #[serde(default)]
    pub status: String,
    /// Size, in GiB.
    #[serde(default)]
    pub size: u64,
    /// Type.
    #[serde(default)]
    pub volume_type: Option<String>,
    /// Metadata.
    #[serde(default)]
    pub metadata: IndexMap<String, String>,
    /// What it is attached to.
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Attachment {
    #[serde(default)]
    server_id: String,
}

impl Volume {
    /// Ids of the servers it is attached to.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.attachments.iter().map(|a| a.server_id.as_str())
    }
}

impl Named for Volume {
    const KIND: &'static str = "volume";
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

request! {
    /// Lists volumes with details.
    ListVolumes {
        /// Filters: `name`, `status`, `metadata`, `all_tenants`, ...
        filters: Vec<(String, String)>,
    } => Vec<Volume>;
    BlockStorage GET "list volumes";
    path: |_r| segments!["volumes", "detail"];
    query: |r| r.filters.iter().map(|(k, v)| (k.clone().into(), v.clone())).collect::<Query>();
    decode: |answer| answer.json_at("volumes")
}

request! {
    /// Reads a volume.
    ShowVolume {
        /// Id.
        id: String,
    } => Volume;
    BlockStorage GET "show volume";
    path: |r| segments!["volumes", r.id];
    decode: |answer| answer.json_at("volume")
}

request! {
    /// Deletes a volume.
    DeleteVolume {
        /// Id.
        id: String,
    } => ();
    BlockStorage DELETE "delete volume";
    path: |r| segments!["volumes", r.id];
    decode: |answer| answer.ignore()
}

/// A volume type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct VolumeType {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
}

impl Named for VolumeType {
    const KIND: &'static str = "volume type";
    fn id(&self) -> &str {
        &self.id
    }
    fn name(&self) -> &str {
        &self.name
    }
}

request! {
    /// Lists volume types.
    ListVolumeTypes {} => Vec<VolumeType>;
    BlockStorage GET "list volume types";
    path: |_r| segments!["types"];
    decode: |answer| answer.json_at("volume_types")
}

/// Finds a volume type by name or id.
///
/// # Errors
/// [`crate::Error::Lookup`], and those of [`Session::send`].
pub async fn find_volume_type(session: &Session, name_or_id: &str) -> Result<VolumeType> {
    Ok(pick(name_or_id, session.send(ListVolumeTypes {}).await?)?)
}

/// Quotas of a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Quota {
    /// Volumes.
    pub volumes: QuotaDetail,
    /// Size of all volumes, in GiB.
    pub gigabytes: QuotaDetail,
}

request! {
    /// Reads the quotas of a project and what is in use.
    GetQuota {
        /// Project id.
        project: String,
    } => Quota;
    BlockStorage GET "get volume quota";
    path: |r| segments!["os-quota-sets", r.project];
    query: |_r| vec![("usage".into(), "True".to_owned())];
    decode: |answer| answer.json_at("quota_set")
}
