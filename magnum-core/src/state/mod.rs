//! The typed state machine of clusters and node groups.

mod status;

pub use status::{Action, Health, Phase, Status};
