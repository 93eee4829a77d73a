//! What the cross-crate tests share: a cloud to test on, embedded or real, a project of one's own on it, an engine, and the scenarios
//! that must hold on both.

mod cloud;
mod engine;
pub mod machines;
mod project;
mod quick_clock;
pub mod scenario;
mod scenarios;

pub use cloud::TestCloud;
pub use engine::{Bench, engine_builder, open_engine, publish};
pub use project::TestProject;
pub use quick_clock::QuickClock;

/// Whatever ends a test early.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
