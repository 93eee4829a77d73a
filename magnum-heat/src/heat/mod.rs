//! Heat: typed requests and answers.

pub mod action;
pub mod event;
pub mod follow;
pub mod resource;
pub mod service;
pub mod software;
pub mod stack;
mod status;

pub use status::{Phase, StackAction, StackStatus};
