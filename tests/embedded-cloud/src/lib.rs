//! An in-process OpenStack and Kubernetes for tests, examples and portal developers.

mod cloud;
pub mod kubernetes;
pub mod node;
pub mod openstack;
mod proxy;

pub use cloud::{EmbeddedCloud, EmbeddedError, Options};
