//! What the driver is called, what it can do, and how long it may take.

use std::time::Duration;

use magnum_core::ServerType;
use magnum_core::driver::{Capabilities, Capability, DriverSelector};
use magnum_driver_kit::flow::DriverLimits;
use magnum_driver_kit::shell::{DriverKind, Timeouts};

const HOUR: Duration = Duration::from_secs(3600);

/// Nodes of both kinds: a common split is a virtual control plane with physical workers. Named `k8s-ironic`.
#[derive(Debug, Clone, Copy)]
pub struct Ironic;

impl DriverKind for Ironic {
    const LIMITS: DriverLimits = DriverLimits {
        driver: "k8s-ironic",
        control_plane: &[ServerType::BareMetal, ServerType::Vm],
        workers: &[ServerType::BareMetal, ServerType::Vm],
    };

    fn selectors() -> Vec<DriverSelector> {
        vec![DriverSelector::kubernetes(ServerType::BareMetal, "ubuntu")]
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

    /// Four hours, and two for a deletion.
    fn timeouts() -> Timeouts {
        Timeouts {
            create: HOUR * 4,
            change: HOUR * 4,
            delete: HOUR * 2,
        }
    }
}
