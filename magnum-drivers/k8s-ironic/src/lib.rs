//! The driver for Kubernetes on physical machines.
//!
//! [`IronicDriver`] builds clusters whose workers, and by default control planes, are machines that Ironic deploys through Nova: no
//! volumes, no server groups, given networks, old nodes leave before new ones come, and limits of hours. It is a thin shell over
//! [`magnum_driver_kit`]: names, capabilities and limits are here, everything else is there.

mod capabilities;
mod config;
mod driver;

pub use capabilities::capabilities;
pub use config::Timeouts;
pub use driver::IronicDriver;
pub use magnum_driver_kit::config::{DriverConfig, Patience, PollIntervals, SessionSource};
