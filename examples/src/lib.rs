//! What several examples share.

mod given_network;
mod inventory;
pub mod rigs;

pub use given_network::GivenNetwork;
pub use inventory::Inventory;
