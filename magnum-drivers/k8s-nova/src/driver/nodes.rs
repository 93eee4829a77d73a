//! What the driver knows of nodes.

use magnum_core::driver::{ClusterView, DriverContext, DriverError};
use magnum_core::{Member, NodeGroupId};
use magnum_driver_kit::flow::Kit;

pub(super) async fn members(
    kit: &Kit,
    cx: &DriverContext,
    view: &ClusterView,
    node_group: NodeGroupId,
) -> Result<Vec<Member>, DriverError> {
    kit.members(cx, view, node_group).await
}
