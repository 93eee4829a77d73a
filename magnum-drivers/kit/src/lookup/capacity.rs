//! Whether there are enough free machines for bare metal nodes (rule `BM-04`).

use magnum_core::Problems;
use magnum_heat::services::ironic::Node;
use magnum_heat::services::nova::Flavor;

/// How many machines of what kind are wanted.
#[derive(Debug, Clone)]
pub struct MachineWish<'a> {
    /// The node group.
    pub group: &'a str,
    /// The flavor.
    pub flavor: &'a Flavor,
    /// How many more.
    pub more: u32,
}

/// The free machines that fit a flavor: of its resource class, with all traits that it requires.
#[must_use]
pub fn fitting_machines(flavor: &Flavor, nodes: &[Node]) -> usize {
    let class = flavor.resource_class();
    let required: Vec<&str> = flavor
        .extra_specs
        .iter()
        .filter(|(_, value)| *value == "required")
        .filter_map(|(key, _)| key.strip_prefix("trait:"))
        .collect();
    nodes
        .iter()
        .filter(|node| node.is_free())
        .filter(|node| {
            let has = node.resource_class.as_deref().map(normal);
            class.is_some() && has == class
        })
        .filter(|node| {
            required
                .iter()
                .all(|wanted| node.traits.iter().any(|has| has == wanted))
        })
        .count()
}

/// Ironic's resource class as it appears in a flavor: `bare-metal.gold` is `CUSTOM_BARE_METAL_GOLD` there.
fn normal(class: &str) -> String {
    class
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect()
}

/// Notes a problem for every wish that the free machines do not fulfil.
pub(super) fn compare(wishes: &[MachineWish<'_>], nodes: &[Node], problems: &mut Problems) {
    for wish in wishes {
        let free = fitting_machines(wish.flavor, nodes);
        if usize::try_from(wish.more).unwrap_or(usize::MAX) > free {
            problems.add(
                format!("node group {}", wish.group),
                &wish.flavor.name,
                format!(
                    "{} bare metal machines wanted, {free} free ones fit the flavor",
                    wish.more
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(class: &str, state: &str, traits: &[&str]) -> Node {
        serde_json::from_value(json!({
            "uuid": "u", "provision_state": state, "resource_class": class, "traits": traits
        }))
        .unwrap()
    }

    #[test]
    fn bm_04_free_machines_are_compared_with_the_wish() {
        let flavor: Flavor = serde_json::from_value(json!({
            "id": "f", "name": "gold", "vcpus": 1, "ram": 1, "disk": 1,
            "extra_specs": {"resources:CUSTOM_BARE_METAL": "1", "trait:CUSTOM_GPU": "required"}
        }))
        .unwrap();
        let nodes = [
            node("bare-metal", "available", &["CUSTOM_GPU"]),
            node("bare-metal", "available", &[]),
            node("bare-metal", "active", &["CUSTOM_GPU"]),
            node("other", "available", &["CUSTOM_GPU"]),
        ];
        assert_eq!(fitting_machines(&flavor, &nodes), 1);
        let mut problems = Problems::new();
        let wish = |more| MachineWish {
            group: "gpu",
            flavor: &flavor,
            more,
        };
        compare(&[wish(1)], &nodes, &mut problems);
        assert!(problems.is_empty());
        compare(&[wish(3)], &nodes, &mut problems);
        assert!(
            problems
                .to_string()
                .contains("3 bare metal machines wanted, 1 free")
        );
    }
}
