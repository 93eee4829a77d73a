//! `OS::Cinder::Volume`.

use super::properties;

properties! {
    /// A volume.
    Volume = "OS::Cinder::Volume" {
        required {
            /// Size, in GiB.
            size,
        }
        optional {
            /// Name.
            name,
            /// Description.
            description,
            /// Type, by name or id.
            volume_type,
            /// Availability zone.
            availability_zone,
            /// Image it is made of, by name or id.
            image,
            /// Snapshot it is made of, by id.
            snapshot_id,
            /// Metadata.
            metadata,
            /// Hints for the scheduler.
            scheduler_hints,
        }
    }
}
