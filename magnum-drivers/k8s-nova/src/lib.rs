//! The driver for Kubernetes on virtual machines.
//!
//! [`NovaDriver`] builds clusters whose control plane is virtual; their worker groups may be virtual or physical. Its name, capabilities
//! and limits are here, everything else is in [`magnum_driver_kit`].

mod kind;

pub use kind::Nova;
pub use magnum_driver_kit::config::{DriverConfig, Patience, PollIntervals, SessionSource};
pub use magnum_driver_kit::shell::{DriverKind, Timeouts};

/// Builds clusters of virtual machines.
pub type NovaDriver = magnum_driver_kit::shell::KubernetesDriver<Nova>;
