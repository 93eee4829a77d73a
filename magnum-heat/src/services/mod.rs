//! The calls of other services that drivers need; one module each.

pub mod barbican;
pub mod cinder;
pub mod glance;
pub mod ironic;
pub mod keystone;
pub mod neutron;
pub mod nova;
pub mod octavia;
pub mod placement;
