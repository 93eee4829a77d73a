//! What several examples share.

mod inventory;
mod reference;

pub use inventory::Inventory;
pub use reference::ReferenceWorld;
