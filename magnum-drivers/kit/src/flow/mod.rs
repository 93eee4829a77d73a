//! The state machines of changes: every call looks at memo and cloud, does what is due, and says how to go on.

mod addons;
mod change;
mod create;
mod delete;
mod group;
mod infrastructure;
mod kit;
mod looks;
mod observe;
mod plan;
mod render;
mod round;
mod step;
mod sweep;
mod validate;

pub use kit::Kit;
pub use plan::plan;
pub use validate::{DriverLimits, validate};
