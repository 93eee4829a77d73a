//! A Kubernetes API stand-in over mutual TLS.
//!
//! [`ApiServer`] serves one cluster from the CA material of its first control-plane node. It keeps
//! objects of any built-in or defined type, and runs just enough of the controllers that the
//! readiness of add-ons can be seen.

mod answer;
mod apply;
mod authority;
mod controllers;
pub(crate) mod core;
mod csr;
mod dispatch;
mod error;
mod eviction;
mod identity;
mod journal;
#[cfg(test)]
mod kubectl_tests;
mod merge;
mod objects;
mod placement;
mod protobuf;
mod request;
mod resources;
#[cfg(test)]
pub(crate) mod sample;
mod selector;
mod server;
pub(crate) mod store;
mod subresources;
mod table;
mod verbs;
mod watch;
mod workloads;

pub(crate) use answer::now;
#[cfg(test)]
pub(crate) use authority::Authority;
pub use authority::CaMaterial;
pub(crate) use authority::holds_key;
pub(crate) use controllers::report_running;
pub(crate) use dispatch::respond;
pub(crate) use identity::Identity;
pub(crate) use placement::node_ready;
pub use server::{ApiServer, ApiServerConfig};
pub(crate) use store::Key;

/// The state of an API server, shared.
pub(crate) type CoreHandle = std::sync::Arc<core::Core>;
