//! What the driver does by way of stacks.

use magnum_core::driver::{Advance, Change, ClusterView, DriverContext, DriverError, Leftover};
use magnum_driver_kit::flow::Kit;

pub(super) async fn preflight(
    kit: &Kit,
    view: &ClusterView,
    change: &Change,
) -> Result<(), DriverError> {
    kit.preflight(view, change).await
}

pub(super) async fn advance(
    kit: &Kit,
    cx: &DriverContext,
    view: &ClusterView,
    change: &Change,
) -> Result<Advance, DriverError> {
    kit.advance(cx, view, change).await
}

pub(super) async fn leftovers(kit: &Kit, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
    kit.leftovers(view).await
}
