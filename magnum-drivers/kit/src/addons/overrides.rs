//! Changing what a source gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::addon::Addon;
use super::error::AddonError;
use super::source::AddonSource;
use super::values::AddonValues;

/// A source with some add-ons replaced, removed or added.
///
/// ```
/// use std::sync::Arc;
/// use magnum_driver_kit::addons::{Addon, AddonOverrides, AddonPhase, BuiltinAddons};
///
/// let manifests = "apiVersion: v1\nkind: Namespace\nmetadata: {name: monitoring}\n";
/// let own = Addon::from_manifests("monitoring", "v1", "https://example.org", AddonPhase::Extras, manifests)?;
/// let source = AddonOverrides::new(Arc::new(BuiltinAddons)).with(own).without("metrics-server");
/// # Ok::<(), magnum_driver_kit::addons::AddonError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AddonOverrides {
    base: Arc<dyn AddonSource>,
    own: BTreeMap<String, Addon>,
    removed: BTreeSet<String>,
}

impl AddonOverrides {
    /// What `base` gives, unchanged.
    #[must_use]
    pub fn new(base: Arc<dyn AddonSource>) -> Self {
        Self {
            base,
            own: BTreeMap::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Adds an add-on, in place of one of the same name.
    #[must_use]
    pub fn with(mut self, addon: Addon) -> Self {
        self.removed.remove(&addon.name);
        self.own.insert(addon.name.clone(), addon);
        self
    }

    /// Leaves an add-on out.
    #[must_use]
    pub fn without(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.own.remove(&name);
        self.removed.insert(name);
        self
    }
}

impl AddonSource for AddonOverrides {
    fn addons(&self, values: &AddonValues) -> Result<Vec<Addon>, AddonError> {
        let mut addons = self.base.addons(values)?;
        addons.retain(|addon| {
            !self.removed.contains(&addon.name) && !self.own.contains_key(&addon.name)
        });
        addons.extend(self.own.values().cloned());
        addons.sort_by_key(|addon| addon.phase);
        Ok(addons)
    }
}

#[cfg(test)]
mod tests {
    use magnum_core::ClusterId;
    use uuid::Uuid;

    use super::super::builtin::BuiltinAddons;
    use super::super::phase::AddonPhase;
    use super::*;
    use crate::bootstrap::Cni;

    #[test]
    fn own_add_ons_replace_those_of_the_same_name() {
        let id = ClusterId::from_uuid(Uuid::from_u128(1));
        let mut values = AddonValues::new(
            id,
            "v1.36.1".parse().unwrap(),
            Cni::Flannel,
            "10.100.0.0/16".parse().unwrap(),
        );
        values.metrics = true;
        let own = |name: &str, phase| {
            Addon::from_manifests(
                name,
                "own",
                "x",
                phase,
                "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}",
            )
            .unwrap()
        };
        let source = AddonOverrides::new(Arc::new(BuiltinAddons))
            .with(own("flannel", AddonPhase::Network))
            .with(own("late", AddonPhase::Extras))
            .with(own("early", AddonPhase::CloudProvider))
            .without("metrics-server");
        let addons = source.addons(&values).unwrap();
        let names: Vec<(&str, &str)> = addons
            .iter()
            .map(|addon| (addon.name.as_str(), addon.version.as_str()))
            .collect();
        assert_eq!(
            names,
            [("flannel", "own"), ("early", "own"), ("late", "own")]
        );
    }
}
