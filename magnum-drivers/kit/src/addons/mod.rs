//! Add-ons: what a cluster needs beside Kubernetes itself, applied through its API in phases.
//!
//! An [`AddonSource`] turns [`AddonValues`] into [`Addon`]s: objects, images, phase and the test that tells when it
//! works. [`BuiltinAddons`] is the bundle that comes with the library, manifests and versions as data;
//! [`AddonOverrides`] replaces, removes and adds. [`apply_addon`] applies one by server-side apply,
//! [`addon_state`] looks whether it works; [`Addon::to_yaml`] is for those who leave applying to somebody else.

mod addon;
mod applier;
mod builtin;
mod cloud_conf;
mod components;
mod error;
mod manifest;
mod overrides;
mod phase;
mod readiness;
mod source;
mod values;

pub use addon::Addon;
pub use applier::{addon_state, apply_addon, prune_addon};
pub use builtin::BuiltinAddons;
pub use components::{Component, supported_minors};
pub use error::AddonError;
pub use overrides::AddonOverrides;
pub use phase::AddonPhase;
pub use readiness::{AddonState, Coverage, ReadinessTest};
pub use source::AddonSource;
pub use values::{AddonValues, CloudAccess, CloudCredential, LoadBalancerOptions};
