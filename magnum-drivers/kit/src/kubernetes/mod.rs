//! A small Kubernetes client: what a lifecycle needs, on the same [`HttpService`](magnum_heat::http::HttpService) as the
//! rest.
//!
//! Decisions ([`drain::plan`], [`judge_serving_request`], [`settings_patch`]) are pure functions over what was read;
//! [`KubernetesClient`] only carries them out. Nothing here waits: every call is one step, to be repeated by the
//! caller in its own rhythm.

mod apply;
mod client;
mod csr;
mod csr_rule;
pub mod drain;
mod drainer;
mod error;
mod health;
mod list;
mod node;
mod node_settings;
mod object;
mod pod;
mod resource;
#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod stand_in_tests;

pub use apply::{APPLY_SET_LABEL, ApplyOptions, FIELD_MANAGER};
pub use client::{KubernetesClient, client_config};
pub use csr::SigningRequest;
pub use csr_rule::{KUBELET_SERVING_SIGNER, ServingVerdict, judge_serving_request};
pub use drainer::DrainProgress;
pub use error::KubernetesError;
pub use health::{Readiness, ServerVersion};
pub use node::{Node, NodeReady};
pub use node_settings::{NodeSettings, settings_patch};
pub use object::{ObjectRef, object_ref};
pub use pod::{Eviction, Pod};
pub use resource::ResourceName;
