//! What is shown of a cluster.

use comfy_table::{ContentArrangement, Table, presets};
use magnum_core::NodeGroup;

/// Node groups and their nodes.
pub(crate) fn nodes(groups: &[NodeGroup]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header([
            "NODE GROUP",
            "ROLE",
            "NODES",
            "NODE",
            "STATE",
            "VERSION",
            "ADDRESSES",
        ]);
    for group in groups {
        for (index, member) in group.members.iter().enumerate() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            table.add_row([
                first(group.name.to_string()),
                first(group.role.as_str().to_owned()),
                first(group.node_count.to_string()),
                member.name.clone(),
                member.phase.as_str().to_owned(),
                member.kube_version.clone().unwrap_or_default(),
                member.addresses.join(", "),
            ]);
        }
    }
    table
}
