//! What the driver knows of a cluster's health.

use magnum_core::Health;
use magnum_core::driver::{ClusterView, DriverContext, DriverError};
use magnum_driver_kit::flow::Kit;

pub(super) async fn probe(
    kit: &Kit,
    cx: &DriverContext,
    view: &ClusterView,
) -> Result<(Health, Option<String>), DriverError> {
    kit.probe_health(cx, view).await
}
