//! Heat: typed requests and answers.

pub mod event;
pub mod resource;
pub mod stack;
mod status;

pub use status::{Phase, StackAction, StackStatus};
