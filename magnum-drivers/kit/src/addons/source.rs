//! Where add-ons come from.

use std::fmt;

use super::addon::Addon;
use super::error::AddonError;
use super::values::AddonValues;

/// Gives the add-ons of a cluster.
///
/// Called when a cluster is validated, created and upgraded. The same values must give the same add-ons: what an
/// implementation fetches, it fetches beforehand. It must not block.
pub trait AddonSource: fmt::Debug + Send + Sync {
    /// The add-ons for `values`, each name once, in any order of phases.
    ///
    /// # Errors
    /// [`AddonError::Unsupported`] when something that was asked for is not offered: told at request time.
    fn addons(&self, values: &AddonValues) -> Result<Vec<Addon>, AddonError>;
}

impl<S: AddonSource + ?Sized> AddonSource for std::sync::Arc<S> {
    fn addons(&self, values: &AddonValues) -> Result<Vec<Addon>, AddonError> {
        (**self).addons(values)
    }
}
