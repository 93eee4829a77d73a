//! What is set for the driver.

use std::time::Duration;

/// Limits of whole changes where the caller names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// For making a cluster.
    pub create: Duration,
    /// For any change of a cluster.
    pub change: Duration,
    /// For removing a cluster or a node group.
    pub delete: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Self {
            create: minutes(240),
            change: minutes(240),
            delete: minutes(120),
        }
    }
}
