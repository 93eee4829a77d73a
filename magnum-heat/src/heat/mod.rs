//! Heat: typed requests and answers.

pub mod action;
pub mod event;
pub mod misc;
pub mod resource;
pub mod stack;
mod status;

pub use status::{Phase, StackAction, StackStatus};
