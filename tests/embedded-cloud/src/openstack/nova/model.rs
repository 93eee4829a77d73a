//! What Nova keeps.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use http::StatusCode;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{ApiError, ServiceKind};

/// A flavor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flavor {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u64,
    /// Memory in MiB.
    pub ram: u64,
    /// Root disk in GiB.
    pub disk: u64,
    /// Everyone may use it.
    pub public: bool,
    /// Extra specs.
    pub extra_specs: BTreeMap<String, String>,
}

impl Flavor {
    /// The custom resource classes it asks for, each with its amount: bare metal.
    #[must_use]
    pub fn custom_classes(&self) -> Vec<String> {
        let asked = self
            .extra_specs
            .iter()
            .filter(|(_, amount)| amount.as_str() != "0");
        asked
            .filter_map(|(key, _)| {
                key.strip_prefix("resources:CUSTOM_")
                    .map(|c| format!("CUSTOM_{c}"))
            })
            .collect()
    }

    /// The traits it needs.
    #[must_use]
    pub fn required_traits(&self) -> Vec<String> {
        let asked = self
            .extra_specs
            .iter()
            .filter(|(_, value)| value.as_str() == "required");
        asked
            .filter_map(|(key, _)| key.strip_prefix("trait:").map(str::to_owned))
            .collect()
    }
}

/// A key pair; it belongs to a user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Keypair {
    /// Number.
    pub id: u64,
    /// Name.
    pub name: String,
    /// Owner.
    pub user_id: String,
    /// `ssh` or `x509`.
    pub kind: String,
    /// Public key.
    pub public_key: String,
    /// Fingerprint.
    pub fingerprint: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// A server group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerGroup {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Owner.
    pub project_id: String,
    /// Maker.
    pub user_id: String,
    /// `affinity`, `anti-affinity`, `soft-affinity`, `soft-anti-affinity`.
    pub policy: String,
    /// Rules of the policy.
    pub rules: Value,
    /// Servers.
    pub members: Vec<String>,
}

/// Why a server is in `ERROR`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerFault {
    /// Code.
    pub code: u16,
    /// Text.
    pub message: String,
    /// When.
    pub created: DateTime<Utc>,
}

/// One network connection of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Nic {
    /// The network that was asked for, when no port was.
    pub network_id: Option<String>,
    /// The port: given, or made at build.
    pub port_id: Option<String>,
    /// The wanted address.
    pub fixed_ip: Option<String>,
    /// Nova made the port and deletes it.
    pub own: bool,
}

/// One volume of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Disk {
    /// The volume: given, or made at build.
    pub volume_id: Option<String>,
    /// The image to make it from.
    pub image_id: Option<String>,
    /// GiB of a volume to make.
    pub size: u64,
    /// Its type.
    pub volume_type: Option<String>,
    /// Deleted with the server.
    pub delete_on_termination: bool,
    /// 0 boots.
    pub boot_index: i64,
}

/// A server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Server {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Counts from 1, for `instance-00000001`.
    pub number: u64,
    /// Owner.
    pub project_id: String,
    /// Maker.
    pub user_id: String,
    /// `building`, `active`, `stopped`, `error`.
    pub vm_state: String,
    /// `scheduling`, `spawning`, `deleting`, `powering-off`, ...
    pub task_state: Option<String>,
    /// The flavor as it was.
    pub flavor: Flavor,
    /// The image; empty when booted from a volume.
    pub image: String,
    /// Properties of the image.
    pub image_properties: BTreeMap<String, String>,
    /// Key pair by name.
    pub key_name: Option<String>,
    /// User-data, base64.
    pub user_data: Option<String>,
    /// A config drive was asked for.
    pub config_drive: bool,
    /// Metadata.
    pub metadata: BTreeMap<String, String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Free text.
    pub description: Option<String>,
    /// Security groups by name or id, for ports that Nova makes.
    pub security_groups: Vec<String>,
    /// Connections.
    pub nics: Vec<Nic>,
    /// Volumes.
    pub disks: Vec<Disk>,
    /// Server group.
    pub group: Option<String>,
    /// The zone that was asked for.
    pub wanted_zone: Option<String>,
    /// The host it runs on.
    pub host: Option<String>,
    /// The bare metal node it runs on.
    pub node: Option<String>,
    /// The cause of `ERROR`.
    pub fault: Option<ServerFault>,
    /// Made.
    pub created: DateTime<Utc>,
    /// Changed.
    pub updated: DateTime<Utc>,
    /// First running.
    pub launched: Option<DateTime<Utc>>,
    /// For `OS-EXT-SRV-ATTR:reservation_id`.
    pub reservation_id: String,
}

impl Server {
    /// The API's status.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match (self.vm_state.as_str(), self.task_state.as_deref()) {
            ("active", Some("reboot_started" | "rebooting")) => "REBOOT",
            ("active", _) => "ACTIVE",
            ("building", _) => "BUILD",
            ("stopped", _) => "SHUTOFF",
            _ => "ERROR",
        }
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.task_state.as_deref() == Some("deleting")
    }
}

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NovaState {
    /// Servers by id.
    pub servers: IndexMap<String, Server>,
    /// Flavors by id.
    pub flavors: IndexMap<String, Flavor>,
    /// Key pairs.
    pub keypairs: Vec<Keypair>,
    /// Server groups by id.
    pub groups: IndexMap<String, ServerGroup>,
    /// Limits by project and resource, where they differ from the default.
    pub quotas: BTreeMap<String, BTreeMap<String, i64>>,
    /// Counts servers and key pairs.
    pub counter: u64,
}

/// Resources that have a quota, with the default limit; `-1` means none. The flag says whether versions from 2.36 and 2.57 on
/// still show it.
pub const QUOTAS: [(&str, i64, bool); 14] = [
    ("cores", 200, true),
    ("fixed_ips", -1, false),
    ("floating_ips", -1, false),
    ("injected_file_content_bytes", 10240, false),
    ("injected_file_path_bytes", 255, false),
    ("injected_files", 5, false),
    ("instances", 40, true),
    ("key_pairs", 100, true),
    ("metadata_items", 128, true),
    ("ram", 600_000, true),
    ("security_group_rules", -1, false),
    ("security_groups", -1, false),
    ("server_group_members", 500, true),
    ("server_groups", 100, true),
];

/// An error of Nova.
pub(super) fn fault(status: u16, kind: &str, message: impl Into<String>) -> ApiError {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ApiError::new(ServiceKind::Nova, status, kind, message)
}

pub(super) fn bad(message: impl Into<String>) -> ApiError {
    fault(400, "badRequest", message)
}

pub(super) fn forbidden(message: impl Into<String>) -> ApiError {
    fault(403, "forbidden", message)
}

pub(super) fn missing(message: impl Into<String>) -> ApiError {
    fault(404, "itemNotFound", message)
}

pub(super) fn conflict(message: impl Into<String>) -> ApiError {
    fault(409, "conflictingRequest", message)
}

/// A resource with what is asked, used and allowed.
type Asked = (&'static str, u64, u64, i64);

impl NovaState {
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
                .find(|(name, ..)| *name == resource)
                .map(|(_, limit, _)| *limit)
        })
        .unwrap_or(-1)
    }

    /// How much a project uses.
    #[must_use]
    pub fn used(&self, project: &str, resource: &str) -> u64 {
        let servers = self.servers.values().filter(|s| s.project_id == project);
        match resource {
            "instances" => servers.count() as u64,
            "cores" => servers.map(|s| s.flavor.vcpus).sum(),
            "ram" => servers.map(|s| s.flavor.ram).sum(),
            "server_groups" => self
                .groups
                .values()
                .filter(|g| g.project_id == project)
                .count() as u64,
            _ => 0,
        }
    }

    /// Refuses more servers than the quota.
    ///
    /// # Errors
    /// 403 with what is exceeded.
    pub fn reserve(&self, project: &str, flavor: &Flavor, count: u64) -> Result<(), ApiError> {
        let wanted = [
            ("cores", flavor.vcpus * count),
            ("instances", count),
            ("ram", flavor.ram * count),
        ];
        let over: Vec<Asked> = wanted
            .into_iter()
            .map(|(name, asked)| {
                (
                    name,
                    asked,
                    self.used(project, name),
                    self.limit(project, name),
                )
            })
            .filter(|(_, asked, used, limit)| *limit >= 0 && used + asked > limit.unsigned_abs())
            .collect();
        if over.is_empty() {
            return Ok(());
        }
        let join =
            |part: &dyn Fn(&Asked) -> String| over.iter().map(part).collect::<Vec<_>>().join(", ");
        let names = join(&|o| o.0.to_owned());
        Err(forbidden(format!(
            "Quota exceeded for {names}: Requested {}, but already used {} of {} {names}",
            join(&|o| o.1.to_string()),
            join(&|o| o.2.to_string()),
            join(&|o| o.3.to_string()),
        )))
    }

    /// A server of a project; `None` sees all.
    #[must_use]
    pub fn server(&self, project: Option<&str>, id: &str) -> Option<&Server> {
        self.servers
            .get(id)
            .filter(|s| project.is_none_or(|p| s.project_id == p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flavor(vcpus: u64, ram: u64) -> Flavor {
        let (id, name) = ("f".to_owned(), "f".to_owned());
        Flavor {
            id,
            name,
            vcpus,
            ram,
            disk: 1,
            public: true,
            extra_specs: BTreeMap::new(),
        }
    }

    #[test]
    fn quota_texts_are_the_real_ones() {
        let mut state = NovaState::default();
        let limits = state.quotas.entry("p".into()).or_default();
        limits.extend([
            ("instances".to_owned(), 1),
            ("cores".to_owned(), 1),
            ("ram".to_owned(), 1024),
        ]);
        let error = state.reserve("p", &flavor(4, 8192), 2).unwrap_err();
        assert_eq!(
            error.message(),
            "Quota exceeded for cores, instances, ram: Requested 8, 2, 16384, but already used 0, 0, 0 of 1, 1, 1024 cores, \
             instances, ram"
        );
        state.quotas.get_mut("p").unwrap().extend([
            ("cores".to_owned(), 9),
            ("ram".to_owned(), -1),
            ("instances".to_owned(), 0),
        ]);
        let error = state.reserve("p", &flavor(4, 8192), 1).unwrap_err();
        assert_eq!(
            error.message(),
            "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances"
        );
    }

    #[test]
    fn bare_metal_flavors_name_their_class() {
        let mut bare = flavor(1, 1);
        bare.extra_specs
            .insert("resources:CUSTOM_BAREMETAL".into(), "1".into());
        bare.extra_specs.insert("resources:VCPU".into(), "0".into());
        bare.extra_specs
            .insert("trait:CUSTOM_GPU".into(), "required".into());
        assert_eq!(bare.custom_classes(), ["CUSTOM_BAREMETAL"]);
        assert_eq!(bare.required_traits(), ["CUSTOM_GPU"]);
    }
}
