//! `OS::Nova`: servers and server groups.

use super::properties;
use crate::hot::Value;

properties! {
    /// A server.
    Server = "OS::Nova::Server" {
        required {
            /// Flavor, by name or id.
            flavor,
        }
        optional {
            /// Name.
            name,
            /// Image, by name or id; absent where it boots from a volume.
            image,
            /// Keypair, by name.
            key_name,
            /// Networks; see [`ServerNetwork`]. A list, or `auto`, or `none` under `allocate_network`.
            networks,
            /// Security groups, by name or id; ports carry their own.
            security_groups,
            /// User data. Often secret.
            user_data,
            /// `RAW`, `HEAT_CFNTOOLS` or `SOFTWARE_CONFIG`.
            user_data_format,
            /// `REPLACE` (Heat's default) or `IGNORE`.
            user_data_update_policy,
            /// `REBUILD` (Heat's default), `REPLACE`, `REBUILD_PRESERVE_EPHEMERAL`.
            image_update_policy,
            /// `RESIZE` (Heat's default) or `REPLACE`.
            flavor_update_policy,
            /// Whether it gets a configuration drive.
            config_drive,
            /// Metadata.
            metadata,
            /// Tags.
            tags,
            /// Availability zone.
            availability_zone,
            /// Hints for the scheduler, as `group`.
            scheduler_hints,
            /// Volumes at boot; see [`BlockDevice`].
            block_device_mapping_v2,
            /// How the agent in the server asks Heat.
            software_config_transport,
            /// Password of the administrator. Secret.
            admin_pass,
        }
    }
}

impl Server {
    /// As member of a server group, by id.
    #[must_use]
    pub fn group(self, group: impl Into<Value>) -> Self {
        self.scheduler_hints(Value::map([("group", group.into())]))
    }

    /// The settings that every server of this project's drivers has: raw user data that is never a reason to replace,
    /// replacement on a new image, a configuration drive.
    #[must_use]
    pub fn immutable(self) -> Self {
        self.user_data_format("RAW")
            .user_data_update_policy("IGNORE")
            .image_update_policy("REPLACE")
            .config_drive(true)
    }
}

/// One network of a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerNetwork {
    /// A port made before, by id.
    Port(Value),
    /// A network, by name or id; Nova makes the port.
    Network(Value),
    /// A subnet, by name or id; Heat makes the port.
    Subnet(Value),
}

impl From<ServerNetwork> for Value {
    fn from(network: ServerNetwork) -> Self {
        match network {
            ServerNetwork::Port(port) => Self::map([("port", port)]),
            ServerNetwork::Network(network) => Self::map([("network", network)]),
            ServerNetwork::Subnet(subnet) => Self::map([("subnet", subnet)]),
        }
    }
}

/// A volume that a server has from its boot on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BlockDevice {
    /// Image that a new volume is made of, by name or id.
    pub image: Option<Value>,
    /// Volume that exists, by id.
    pub volume_id: Option<Value>,
    /// Size of a new volume, in GiB.
    pub volume_size: Option<Value>,
    /// Type of a new volume.
    pub volume_type: Option<Value>,
    /// Whether it vanishes with the server.
    pub delete_on_termination: bool,
    /// Place in the boot order; 0 is booted, -1 is not.
    pub boot_index: i32,
}

impl BlockDevice {
    /// The boot volume, made of an image, of this size in GiB; vanishes with the server.
    pub fn boot_from_image(image: impl Into<Value>, size_gib: impl Into<Value>) -> Self {
        Self {
            image: Some(image.into()),
            volume_id: None,
            volume_size: Some(size_gib.into()),
            volume_type: None,
            delete_on_termination: true,
            boot_index: 0,
        }
    }

    /// A volume that exists, as a further disk; stays.
    pub fn existing(volume_id: impl Into<Value>) -> Self {
        Self {
            image: None,
            volume_id: Some(volume_id.into()),
            volume_size: None,
            volume_type: None,
            delete_on_termination: false,
            boot_index: -1,
        }
    }

    /// With a volume type. Unset takes the cloud's default.
    #[must_use]
    pub fn volume_type(mut self, volume_type: impl Into<Value>) -> Self {
        self.volume_type = Some(volume_type.into());
        self
    }
}

impl From<BlockDevice> for Value {
    fn from(device: BlockDevice) -> Self {
        let mut entries: Vec<(&str, Self)> = Vec::new();
        let parts = [
            ("image", device.image),
            ("volume_id", device.volume_id),
            ("volume_size", device.volume_size),
            ("volume_type", device.volume_type),
        ];
        entries.extend(
            parts
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?))),
        );
        entries.push(("boot_index", device.boot_index.into()));
        entries.push(("delete_on_termination", device.delete_on_termination.into()));
        Self::map(entries)
    }
}

properties! {
    /// A server group.
    ServerGroup = "OS::Nova::ServerGroup" {
        optional {
            /// Name.
            name,
            /// Exactly one of `anti-affinity`, `affinity`, `soft-anti-affinity`, `soft-affinity`, in a list.
            policies,
            /// Rules of the policy, as `max_server_per_host`.
            rules,
        }
    }
}
