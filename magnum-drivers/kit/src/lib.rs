//! What Kubernetes drivers share: node bootstrap, add-ons, Kubernetes API access, stacks

pub mod bootstrap;
pub mod labels;
pub mod members;
pub mod memo;
pub mod stacks;
