//! What several examples share.

mod given_network;
mod inventory;
mod reference;
pub mod rigs;

pub use given_network::GivenNetwork;
pub use inventory::Inventory;
pub use reference::ReferenceWorld;
