//! What the drivers remember of a cluster between calls. Memos are versioned, sealed by the engine, and written before every effect.

mod cluster;
mod facts;
mod group;
mod stack;

pub use cluster::{AddonPhases, ClusterMemo, CredentialRecord, DeletionMemo};
pub use facts::{CloudFacts, GroupFacts, InfraOutputs, LoadBalancerChoice, NodeNetwork};
pub use group::{GroupMemo, GroupOperation};
pub use stack::{StackIntent, StackRecord};

/// The version of the memos' form that this library writes. It reads every version up to it.
pub const MEMO_VERSION: u32 = 1;
