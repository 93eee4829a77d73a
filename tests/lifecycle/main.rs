//! What holds on the embedded cloud: the scenarios, and the proof of the drivers.

mod conformance;
mod creation;
mod shared;

use magnum_tests::TestCloud;

magnum_tests::scenarios!(TestCloud::embedded);
