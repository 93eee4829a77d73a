//! The node simulator: does with user-data what a real node would.
//!
//! [`Simulator`] is a client of an OpenStack by HTTP only. It looks at the servers of all
//! projects with an admin login, "boots" every ACTIVE one whose user-data is ours, checks that
//! user-data as a node would, sends the Heat signals, and registers the node in the Kubernetes
//! stand-in of its cluster, which clients reach through an HTTP CONNECT proxy on loopback.

mod admin;
mod boot;
mod cluster;
mod config;
mod error;
mod init_objects;
pub mod kubeadm;
mod kubeadm_init;
mod kubeadm_join;
mod kubeconfig;
mod lifecycle;
mod node_api;
mod node_env;
mod openstack;
mod pki;
mod preflight;
mod preflight_config;
mod registration;
#[cfg(test)]
mod sample;
mod serving;
mod shared;
mod signal;
mod simulator;
#[cfg(test)]
mod simulator_tests;
mod state;
mod user_data;
mod watcher;

pub use config::{AdminLogin, FaultAction, NodeFault, SimulatorConfig, Stage};
pub use error::SimulatorError;
pub use node_env::{NodeEnv, Role};
pub use preflight::{Check, check_user_data};
pub use simulator::Simulator;
pub use state::{NodeRecord, Phase};
pub use user_data::{MAX_USER_DATA, UserData, UserFile};
