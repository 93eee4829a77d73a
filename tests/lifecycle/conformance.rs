//! The Kubernetes drivers keep the contract on embedded clouds of their own.
//!
//! Every operation is tried in every way. Calls fail and engines die at some points of each, evenly spread, since every point takes a cluster
//! of its own: `MAGNUM_CONFORMANCE_POINTS` says at how many, or `all`. `MAGNUM_CONFORMANCE_ONLY` picks cases by a part of their name.

use magnum_core::conformance::{self, Options, Report, Rig};
use magnum_core::driver::Capability;
use magnum_examples::rigs::CloudRig;

/// At how many points where nothing else is said.
const POINTS: usize = 2;
/// How many clouds there are at a time.
const SIDE_BY_SIDE: usize = 4;

fn options() -> Options {
    let points = std::env::var("MAGNUM_CONFORMANCE_POINTS").unwrap_or_default();
    let options = match points.as_str() {
        "" => Options::sampled(POINTS),
        "all" => Options::thorough(),
        points => Options::sampled(points.parse().expect("a number of points, or all")),
    };
    let options = match only() {
        Some(only) => options.only(only),
        None => options,
    };
    options.side_by_side(SIDE_BY_SIDE)
}

fn only() -> Option<String> {
    std::env::var("MAGNUM_CONFORMANCE_ONLY").ok()
}

/// What both drivers can do, and what is proved here. That groups may be of machines is proved by the scenario `bm_06`.
fn assert_kept(report: &Report) {
    println!("{report}");
    if only().is_some() {
        assert_eq!(report.failures().count(), 0, "{report}");
        return;
    }
    report.assert_claims([
        Capability::CreateDelete,
        Capability::Resize,
        Capability::NodeGroups,
        Capability::ReplaceNode,
        Capability::ProbeHealth,
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nova_driver_keeps_the_contract() {
    let factory = || async {
        let rig = CloudRig::nova().await.expect("an embedded cloud starts");
        Box::new(rig) as Box<dyn Rig>
    };
    assert_kept(&conformance::run_with(factory, &options()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ironic_driver_keeps_the_contract() {
    let factory = || async {
        let rig = CloudRig::ironic().await.expect("an embedded cloud starts");
        Box::new(rig) as Box<dyn Rig>
    };
    assert_kept(&conformance::run_with(factory, &options()).await);
}
