//! The order in which add-ons come.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When an add-on is applied. A phase begins when all required add-ons of the phases before work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddonPhase {
    /// The pod network: without it no node becomes ready.
    Network,
    /// The cloud provider: without it nodes stay uninitialised.
    CloudProvider,
    /// Volumes and what other add-ons build on.
    Storage,
    /// The rest.
    Extras,
}

impl AddonPhase {
    /// All phases in order.
    pub const ALL: [Self; 4] = [
        Self::Network,
        Self::CloudProvider,
        Self::Storage,
        Self::Extras,
    ];

    /// Whether a cluster whose add-on of this phase does not come up has failed. Otherwise it is only degraded.
    #[must_use]
    pub const fn is_required(self) -> bool {
        matches!(self, Self::Network | Self::CloudProvider)
    }

    /// How long an add-on may take to work.
    #[must_use]
    pub const fn time_limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::Network | Self::CloudProvider => 600,
            Self::Storage | Self::Extras => 900,
        })
    }
}

impl fmt::Display for AddonPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "network",
            Self::CloudProvider => "cloud provider",
            Self::Storage => "storage",
            Self::Extras => "extras",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_in_order_and_only_the_first_two_are_required() {
        assert!(AddonPhase::ALL.is_sorted());
        let required: Vec<_> = AddonPhase::ALL
            .into_iter()
            .filter(|phase| phase.is_required())
            .collect();
        assert_eq!(required, [AddonPhase::Network, AddonPhase::CloudProvider]);
    }
}
