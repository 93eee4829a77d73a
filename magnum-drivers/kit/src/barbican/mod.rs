//! Clusters' secrets in Barbican.
//!
//! Barbican keeps the contents; an index in another [`SecretStore`](magnum_core::SecretStore), usually the engine's own, says which of them
//! is the one that counts. Barbican alone cannot say that: names there are not unique and nothing can be compared and set.
//!
//! | in Barbican | in the index |
//! |---|---|
//! | a generic container `magnum.<cluster>` as the mark of the cluster: everything in it is the cluster's | |
//! | one secret `magnum.<cluster>.<purpose>.<nonce>` for each generation that is or was stored | a note of the nonce, written before the secret is made and forgotten after it is gone |
//! | | for each purpose the id and digest of the generation that counts |
//!
//! A secret is announced without content, put into the container and under its access list, and filled last, so nobody else can read
//! it at any time. A creation whose answer was lost is found again by its name. Whatever a crash leaves behind has a note, and goes with
//! the next write of the same purpose or with its deletion.

mod index;
mod objects;
mod store;

#[cfg(test)]
mod tests;

pub use store::BarbicanSecrets;
