//! Benchmarks against the budgets: what is measured, and how it is compared.
//!
//! [`rendering`], [`accepting`], [`scale`] and [`signing`] do the work that the benchmarks in `benches/benches` time; [`budget`] compares what they
//! measured with what it may cost. How to run them, and the last figures: `benches/README.md`.

pub mod accepting;
pub mod budget;
pub mod rendering;
pub mod scale;
pub mod signing;

/// What went wrong in the preparation of a benchmark.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
