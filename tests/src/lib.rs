//! What the cross-crate tests share: a cloud to test on, embedded or real, a project of one's own on it, an engine, and the scenarios
//! that must hold on both.

mod cloud;
mod engine;
mod flaky;
mod project;
pub mod scenario;
mod scenarios;

pub use cloud::TestCloud;
pub use flaky::{Fate, FlakyProxy, Passage};
pub use engine::{Bench, Logins, open_engine, open_engine_with, publish};
pub use project::TestProject;

/// Whatever ends a test early.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
