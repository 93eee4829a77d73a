//! The documentation of the state machine, rendered from its table.

use std::fmt::Write as _;

use super::{Status, TRANSITIONS};

/// A page with a Mermaid diagram and the table of all transitions.
#[must_use]
pub fn diagram() -> String {
    let mut page = String::from(
        "# The states of clusters and node groups\n\n\
         Rendered from `magnum_core`'s table of transitions; a test keeps this page equal to it. To write it anew:\n\
         `UPDATE_DOCS=1 cargo test -p magnum-core state_machine_page`.\n\n\
         ```mermaid\nstateDiagram-v2\n    [*] --> CREATE_IN_PROGRESS: asked for\n",
    );
    for (from, trigger, to) in TRANSITIONS {
        let _ = writeln!(page, "    {from} --> {to}: {trigger}");
    }
    let _ = writeln!(page, "    {} --> [*]\n```\n", Status::DELETE_COMPLETE);
    page.push_str("| from | by | to |\n|---|---|---|\n");
    for (from, trigger, to) in TRANSITIONS {
        let _ = writeln!(page, "| `{from}` | {trigger} | `{to}` |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_machine_page_is_rendered_from_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/state-machine.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, diagram()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == diagram(),
            "docs/state-machine.md is stale: run with UPDATE_DOCS=1"
        );
    }
}
