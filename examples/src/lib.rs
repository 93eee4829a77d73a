//! What several examples share.

mod inventory;

pub use inventory::Inventory;
