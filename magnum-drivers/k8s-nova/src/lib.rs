//! The driver for Kubernetes on virtual machines.
//!
//! [`NovaDriver`] builds clusters whose control plane is virtual; their worker groups may be virtual or physical. It is a thin shell
//! over [`magnum_driver_kit`]: names, capabilities and limits are here, everything else is there.

mod capabilities;
mod config;
mod driver;

pub use capabilities::capabilities;
pub use config::Timeouts;
pub use driver::NovaDriver;
pub use magnum_driver_kit::config::{DriverConfig, Patience, PollIntervals, SessionSource};
