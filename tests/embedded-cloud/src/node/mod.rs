//! The node simulator: does with user-data what a real node would.
//!
//! [`Simulator`] is a client of an OpenStack by HTTP only. It looks at the servers of all
//! projects with an admin login, "boots" every ACTIVE one whose user-data is ours, checks that
//! user-data as a node would, sends the Heat signals, and registers the node in the Kubernetes
//! stand-in of its cluster, which clients reach through an HTTP CONNECT proxy on loopback.

mod config;
mod error;
mod simulator;

pub use config::{AdminLogin, FaultAction, NodeFault, SimulatorConfig, Stage};
pub use error::SimulatorError;
pub use simulator::Simulator;
