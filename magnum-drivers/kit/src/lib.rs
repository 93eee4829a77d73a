//! What Kubernetes drivers share: node bootstrap, add-ons, Kubernetes API access, stacks

pub mod access;
pub mod addons;
pub mod barbican;
pub mod bootstrap;
pub mod config;
pub mod connector;
pub mod credential;
pub mod fault;
pub mod flow;
pub mod kubernetes;
pub mod labels;
pub mod lookup;
pub mod members;
pub mod memo;
pub mod shell;
pub mod stack_ops;
pub mod stacks;

pub use access::Access;
pub use addons::BuiltinAddons;
pub use barbican::BarbicanSecrets;
pub use config::{DriverConfig, Patience, PollIntervals, SessionSource};
pub use credential::{CredentialMode, CredentialOwner, WorkCredentials};
pub use flow::Kit;
pub use shell::{DriverKind, KubernetesDriver, Timeouts};
