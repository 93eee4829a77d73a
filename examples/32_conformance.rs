//! The conformance reports of four drivers: the reference driver, the template, and both Kubernetes drivers on embedded clouds.
//!
//! `cargo run -p magnum-examples --example conformance [POINTS]`
//!
//! The first two are tried at every point of every operation. Each point of the Kubernetes drivers takes a cluster of its own, so POINTS
//! says at how many of each operation, evenly spread, their calls fail and engines die; 1 where nothing is said.

use magnum_core::conformance::{self, MemoryRig, Options, Report, Rig};
use magnum_core::driver::Capability;
use magnum_driver_template::TemplateRig;
use magnum_examples::rigs::CloudRig;

/// What a driver must claim, and have proved.
const ALL: [Capability; 2] = [Capability::CreateDelete, Capability::Resize];
const KUBERNETES: [Capability; 3] = [
    Capability::NodeGroups,
    Capability::ReplaceNode,
    Capability::ProbeHealth,
];

/// How many embedded clouds there are at a time.
const SIDE_BY_SIDE: usize = 4;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let points = match std::env::args().nth(1) {
        Some(points) => points.parse()?,
        None => 1,
    };
    let sampled = Options::sampled(points).side_by_side(SIDE_BY_SIDE);

    let memory = || async { Box::new(MemoryRig::new()) as Box<dyn Rig> };
    let template = || async { Box::new(TemplateRig::new()) as Box<dyn Rig> };
    let nova =
        || async { Box::new(CloudRig::nova().await.expect("a cloud starts")) as Box<dyn Rig> };
    let ironic =
        || async { Box::new(CloudRig::ironic().await.expect("a cloud starts")) as Box<dyn Rig> };

    let mut reports = Vec::new();
    let mut add = |report: Report| {
        println!("{report}\n");
        reports.push(report);
    };
    add(conformance::run(memory).await);
    add(conformance::run(template).await);
    add(conformance::run_with(nova, &sampled).await);
    add(conformance::run_with(ironic, &sampled).await);

    for report in &reports {
        report.assert_claims(ALL);
    }
    for report in &reports[2..] {
        report.assert_claims(KUBERNETES);
    }
    let passed: usize = reports.iter().map(Report::passed).sum();
    println!(
        "conformance: {} drivers keep the contract, {passed} cases",
        reports.len()
    );
    Ok(())
}
