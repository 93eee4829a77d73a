//! What the benchmarks of magnum-heat work on, and how they measure.

mod answers;
mod measure;
mod server;

pub use answers::{Listing, group};
pub use measure::{cpu_of, peak_of_child, peak_so_far};
pub use server::Server;
