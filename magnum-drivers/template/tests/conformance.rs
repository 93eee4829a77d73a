//! The proof that the driver keeps the contract. Copy it with the driver.
#![cfg(feature = "conformance")]

use magnum_core::conformance::{self, Rig};
use magnum_core::driver::Capability;
use magnum_driver_template::TemplateRig;

#[tokio::test(start_paused = true)]
async fn the_template_driver_keeps_the_contract() {
    let factory = || async { Box::new(TemplateRig::new()) as Box<dyn Rig> };
    let report = conformance::run(factory).await;
    println!("{report}");
    report.assert_claims([Capability::CreateDelete, Capability::Resize]);
}
