//! What the driver is called, what it can do, and how long it may take.

use std::time::Duration;

use magnum_core::ServerType;
use magnum_core::driver::{Capabilities, Capability, DriverSelector};
use magnum_driver_kit::flow::DriverLimits;
use magnum_driver_kit::shell::{DriverKind, Timeouts};

const HOUR: Duration = Duration::from_secs(3600);

/// Virtual control planes; workers of both kinds (rule `BM-06`). Named `k8s-nova`.
#[derive(Debug, Clone, Copy)]
pub struct Nova;

impl DriverKind for Nova {
    const LIMITS: DriverLimits = DriverLimits {
        driver: "k8s-nova",
        control_plane: &[ServerType::Vm],
        workers: &[ServerType::Vm, ServerType::BareMetal],
    };

    fn selectors() -> Vec<DriverSelector> {
        vec![DriverSelector::kubernetes(ServerType::Vm, "ubuntu")]
    }

    fn capabilities() -> Capabilities {
        Capabilities::of([
            Capability::Resize,
            Capability::NodeGroups,
            Capability::ReplaceNode,
            Capability::ProbeHealth,
            Capability::BareMetalNodeGroups,
        ])
    }

    /// An hour each.
    fn timeouts() -> Timeouts {
        Timeouts {
            create: HOUR,
            change: HOUR,
            delete: HOUR,
        }
    }
}
