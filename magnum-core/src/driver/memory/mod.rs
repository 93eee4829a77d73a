//! The reference driver: builds clusters out of nothing in a cloud that is a map. For tests, demonstrations, and to read before
//! writing a driver of one's own.

mod cloud;
mod contract;
mod memo;
mod nodes;
mod rotation;

pub use cloud::{CloudFault, LedgerEntry, MemoryCloud, Thing};
pub use contract::MemoryDriver;
pub use rotation::NodeKeys;
