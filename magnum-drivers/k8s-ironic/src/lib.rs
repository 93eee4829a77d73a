//! The driver for Kubernetes on physical machines.
//!
//! [`IronicDriver`] builds clusters whose workers, and by default control planes, are machines that Ironic deploys through Nova: no
//! volumes, no server groups, given networks, old nodes leave before new ones come, and limits of hours. Its name, capabilities and limits
//! are here, everything else is in [`magnum_driver_kit`].

mod kind;

pub use kind::Ironic;
pub use magnum_driver_kit::config::{DriverConfig, Patience, PollIntervals, SessionSource};
pub use magnum_driver_kit::shell::{DriverKind, Timeouts};

/// Builds clusters of physical machines.
pub type IronicDriver = magnum_driver_kit::shell::KubernetesDriver<Ironic>;
