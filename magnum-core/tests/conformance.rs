//! The reference driver keeps the contract.
#![cfg(feature = "conformance")]
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

use magnum_core::conformance::{self, MemoryRig, Rig};
use magnum_core::driver::Capability;

#[tokio::test(start_paused = true)]
async fn the_memory_driver_keeps_the_contract() {
    let factory = || async { Box::new(MemoryRig::new()) as Box<dyn Rig> };
    let report = conformance::run(factory).await;
    println!("{report}");
    report.assert_claims([
        Capability::CreateDelete,
        Capability::Resize,
        Capability::ResizeControlPlane,
        Capability::NodeGroups,
        Capability::ReplaceNode,
        Capability::ReplaceControlPlaneNode,
        Capability::Upgrade,
        Capability::UpdateSettings,
        Capability::RotateCa,
        Capability::RotateCredential,
        Capability::BackUpEtcd,
        Capability::RestoreEtcd,
    ]);
    assert_eq!(report.skipped(), 0);
}
