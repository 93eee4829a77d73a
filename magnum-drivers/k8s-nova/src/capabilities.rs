//! What the driver can do.

use magnum_core::ServerType;
use magnum_core::driver::{Capabilities, Capability};
use magnum_driver_kit::flow::DriverLimits;

/// The driver's name; stored with every cluster.
pub(crate) const NAME: &str = "k8s-nova";

/// Virtual control planes; workers of both kinds (rule `BM-06`).
pub(crate) const LIMITS: DriverLimits = DriverLimits {
    driver: NAME,
    control_plane: &[ServerType::Vm],
    workers: &[ServerType::Vm, ServerType::BareMetal],
};

/// What the driver can do. The rest is refused when it is asked for.
#[must_use]
pub fn capabilities() -> Capabilities {
    Capabilities::of([
        Capability::Resize,
        Capability::NodeGroups,
        Capability::ReplaceNode,
        Capability::ProbeHealth,
        Capability::BareMetalNodeGroups,
    ])
}
