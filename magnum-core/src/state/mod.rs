//! The typed state machine of clusters and node groups.

mod aggregate;
mod allowed;
mod diagram;
mod status;
mod table;

pub use aggregate::{GroupState, aggregate};
pub use allowed::{Verdict, verdict};
pub use diagram::diagram;
pub use status::{Action, Health, Phase, Status, UnknownStatus};
pub use table::{NotAllowed, TRANSITIONS, Trigger, apply};
