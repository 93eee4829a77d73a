//! OpenStack services over HTTP.
//!
//! One listener serves every service under its path prefix ([`ServiceKind::prefix`]). What all services share is
//! here: the [`Cloud`] handle, the [`Service`] trait with its [`Store`], the [`Caller`] of a request, [`ApiError`]
//! in each service's own shape, faults, the ledger and the journal.

pub mod admin;
pub mod ask;
pub mod caller;
pub mod error;
pub mod faults;
pub mod handle;
pub mod ids;
pub mod journal;
pub mod latency;
pub mod ledger;
pub mod listing;
pub mod microversion;
pub mod reply;
pub mod requests;
pub mod seed;
pub mod server;
pub mod service;
pub mod store;

pub mod barbican;
pub mod cinder;
pub mod glance;
pub mod heat;
pub mod ironic;
pub mod keystone;
pub mod neutron;
pub mod nova;
pub mod octavia;
pub mod placement;

mod registry;
#[cfg(test)]
mod tried;

pub use caller::Caller;
pub use error::ApiError;
pub use handle::Cloud;
pub use latency::{Build, Latency};
pub use microversion::Microversion;
pub use registry::StartError;
pub use reply::{CallError, Reply};
pub use service::{Service, ServiceKind};
pub use store::{Persist, Store};
