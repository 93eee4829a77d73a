//! The door of driver authors: the [`ClusterDriver`] contract and what it speaks of.
//!
#![doc = include_str!("../../../docs/driver-guide.md")]

mod advance;
mod capabilities;
mod change;
mod context;
mod contract;
mod error;
pub mod layers;
pub mod memory;
mod plan;
mod registry;
mod rotation;
mod view;

pub use advance::{Advance, Cause, CauseKind, Failure, Progress};
pub use capabilities::{Capabilities, Capability};
pub use change::{Change, ChangeKind};
pub use context::{CheckpointError, DriverContext, MemoKey, OperationPort};
pub use contract::ClusterDriver;
pub use error::DriverError;
pub use plan::{Leftover, Plan, PlannedAction, QuotaNeed};
pub use registry::{DriverRegistry, DriverSelector, RegistryError};
pub use rotation::RotationPhase;
pub use view::ClusterView;
