//! What Cinder keeps.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::super::ask::Answer;
use serde_json::json;

/// Where a volume is attached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attachment {
    /// Id.
    pub id: String,
    /// The server.
    pub server_id: String,
    /// Device on it.
    pub device: String,
    /// Since when.
    pub at: DateTime<Utc>,
}

/// A volume.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Volume {
    /// Id.
    pub id: String,
    /// Name.
    pub name: Option<String>,
    /// Free text.
    pub description: Option<String>,
    /// Owner.
    pub project_id: String,
    /// Maker.
    pub user_id: String,
    /// `creating`, `available`, `in-use`, `deleting`.
    pub status: String,
    /// GiB.
    pub size: u64,
    /// Type by name.
    pub volume_type: String,
    /// Zone.
    pub availability_zone: String,
    /// Metadata.
    pub metadata: BTreeMap<String, String>,
    /// Made from an image.
    pub bootable: bool,
    /// Attachments.
    pub attachments: Vec<Attachment>,
    /// Made.
    pub created_at: DateTime<Utc>,
    /// Changed.
    pub updated_at: Option<DateTime<Utc>>,
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CinderState {
    /// Volumes by id.
    pub volumes: IndexMap<String, Volume>,
    /// Limits by project and resource, where they differ from the default.
    pub quotas: BTreeMap<String, BTreeMap<String, i64>>,
}

/// Types: id, name, description. The first is the default.
pub const TYPES: [(&str, &str, Option<&str>); 2] = [
    ("e253b80f-f687-4c22-aaec-d7febeceeb46", "fake", None),
    (
        "d4d94585-107f-4a91-81f3-0e47d308643f",
        "__DEFAULT__",
        Some("Default Volume Type"),
    ),
];

/// Resources that have a quota, with the default limit.
pub const QUOTAS: [(&str, i64); 13] = [
    ("volumes", 10),
    ("per_volume_gigabytes", -1),
    ("snapshots", 10),
    ("gigabytes", 1000),
    ("backups", 10),
    ("backup_gigabytes", 1000),
    ("volumes_fake", -1),
    ("gigabytes_fake", -1),
    ("snapshots_fake", -1),
    ("volumes___DEFAULT__", -1),
    ("gigabytes___DEFAULT__", -1),
    ("snapshots___DEFAULT__", -1),
    ("groups", 10),
];

impl CinderState {
    /// The limit of a project for a resource.
    #[must_use]
    pub fn limit(&self, project: &str, resource: &str) -> i64 {
        let own = self
            .quotas
            .get(project)
            .and_then(|limits| limits.get(resource))
            .copied();
        own.or_else(|| {
            QUOTAS
                .iter()
                .find(|(name, _)| *name == resource)
                .map(|(_, limit)| *limit)
        })
        .unwrap_or(-1)
    }

    /// How much a project uses.
    #[must_use]
    pub fn used(&self, project: &str, resource: &str) -> u64 {
        let own = self.volumes.values().filter(|v| v.project_id == project);
        match resource {
            "volumes" => own.count() as u64,
            "gigabytes" => own.map(|v| v.size).sum(),
            _ => match resource.split_once('_') {
                Some(("volumes", kind)) => own.filter(|v| v.volume_type == kind).count() as u64,
                Some(("gigabytes", kind)) => {
                    own.filter(|v| v.volume_type == kind).map(|v| v.size).sum()
                }
                _ => 0,
            },
        }
    }

    /// The text of an exceeded quota, if one more volume of this size would exceed it.
    #[must_use]
    pub fn exceeded(&self, project: &str, size: u64) -> Option<String> {
        let over = |name: &str, more: u64| {
            let (limit, used) = (self.limit(project, name), self.used(project, name));
            (limit >= 0 && used + more > limit.unsigned_abs()).then_some((limit, used))
        };
        if let Some((limit, used)) = over("gigabytes", size) {
            return Some(format!(
                "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested {size}G, \
                 quota is {limit}G and {used}G has been consumed."
            ));
        }
        let (limit, _) = over("volumes", 1)?;
        Some(format!(
            "VolumeLimitExceeded: Maximum number of volumes allowed ({limit}) exceeded for quota 'volumes'."
        ))
    }
}

/// The answer to an exceeded quota.
#[must_use]
pub fn over_limit(message: &str) -> Answer {
    let body = json!({"overLimit": {"code": 413, "message": message, "retryAfter": "0"}});
    Answer::json(413, body).header("retry-after", "0")
}
