//! What differs between two documents, and the proof that nothing else does.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Document, Section};

/// Resources that differ between two documents, in the order of the documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diff {
    /// Only in the new document.
    pub added: Vec<String>,
    /// Only in the old document.
    pub removed: Vec<String>,
    /// In both, with other content.
    pub changed: Vec<String>,
    /// Other parts that differ: `outputs.x`, `parameters.y`, `description`.
    pub elsewhere: Vec<String>,
}

impl Diff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.elsewhere.is_empty()
    }
}

/// Why an edit is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// A resource would appear or vanish that is not named.
    #[error("the edit would {} {name:?}, which is not among those named", if *.added { "add" } else { "remove" })]
    NotNamed {
        /// Its name.
        name: String,
        /// Whether it appears.
        added: bool,
    },
    /// A resource that should stay would change.
    #[error("the edit would change {name:?}")]
    Changed {
        /// Its name.
        name: String,
    },
    /// Another part of the document would change.
    #[error("the edit would change {part}")]
    Elsewhere {
        /// Which part.
        part: String,
    },
}

/// Same bytes when written.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((ka, va), (kb, vb))| ka == kb && same(va, vb))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}

/// Compares two documents; order within an entry counts, since it shows in the bytes.
pub fn diff(old: &Document, new: &Document) -> Diff {
    let mut diff = Diff::default();
    let (before, after) = (old.resources(), new.resources());
    for (name, resource) in before {
        match after.get(name) {
            None => diff.removed.push(name.clone()),
            Some(now) if !same(resource, now) => diff.changed.push(name.clone()),
            Some(_) => {}
        }
    }
    diff.added = after
        .keys()
        .filter(|name| !before.contains_key(*name))
        .cloned()
        .collect();
    let sections = [Section::Parameters, Section::Conditions, Section::Outputs];
    for section in sections {
        let (before, after) = (old.section(section), new.section(section));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let equal =
                matches!((before.get(name), after.get(name)), (Some(a), Some(b)) if same(a, b));
            if !equal {
                diff.elsewhere.push(format!("{}.{name}", section.as_str()));
            }
        }
    }
    let handled = |key: &str| key == "resources" || sections.iter().any(|s| s.as_str() == key);
    let keys: BTreeSet<&String> = old
        .top()
        .keys()
        .chain(new.top().keys())
        .filter(|k| !handled(k))
        .collect();
    for key in keys {
        let equal =
            matches!((old.top().get(key), new.top().get(key)), (Some(a), Some(b)) if same(a, b));
        if !equal {
            diff.elsewhere.push(key.clone());
        }
    }
    diff
}

/// Proves that from `old` to `new` only the named resources are added or removed and only the named outputs differ;
/// every other byte is the same. Replacing a resource under its old name is not allowed, named or not.
///
/// # Errors
/// [`ProofError`]: the first thing that would be touched besides.
pub fn prove_only<'a>(
    old: &Document,
    new: &Document,
    resources: impl IntoIterator<Item = &'a str>,
    outputs: impl IntoIterator<Item = &'a str>,
) -> Result<Diff, ProofError> {
    let named: BTreeSet<&str> = resources.into_iter().collect();
    let outputs: BTreeSet<String> = outputs
        .into_iter()
        .map(|name| format!("outputs.{name}"))
        .collect();
    let diff = diff(old, new);
    if let Some(name) = diff.changed.first() {
        return Err(ProofError::Changed { name: name.clone() });
    }
    for (names, added) in [(&diff.removed, false), (&diff.added, true)] {
        if let Some(name) = names.iter().find(|name| !named.contains(name.as_str())) {
            return Err(ProofError::NotNamed {
                name: name.clone(),
                added,
            });
        }
    }
    if let Some(part) = diff
        .elsewhere
        .iter()
        .find(|part| !outputs.contains(part.as_str()))
    {
        return Err(ProofError::Elsewhere { part: part.clone() });
    }
    let kept = |doc: &Document, other: &Document| -> Vec<String> {
        doc.resources()
            .keys()
            .filter(|name| other.has_resource(name))
            .cloned()
            .collect()
    };
    if kept(old, new) != kept(new, old) {
        return Err(ProofError::Elsewhere {
            part: "the order of resources".to_owned(),
        });
    }
    Ok(diff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::{Resource, get_resource, types::Port};

    fn base() -> Document {
        let mut doc = Document::new();
        for name in ["port_a", "port_b", "port_c"] {
            doc.add_resource(name, Port::new("net").name(name)).unwrap();
        }
        doc.add_output("ids", get_resource("port_a")).unwrap();
        doc
    }

    #[test]
    fn only_named_members_may_come_and_go() {
        let old = base();
        let mut new = old.clone();
        new.remove_resource("port_b").unwrap();
        new.add_resource("port_d", Port::new("net")).unwrap();
        let proved = prove_only(&old, &new, ["port_b", "port_d"], []).unwrap();
        assert_eq!(
            (proved.added, proved.removed),
            (vec!["port_d".to_owned()], vec!["port_b".to_owned()])
        );
        assert!(matches!(
            prove_only(&old, &new, ["port_d"], []),
            Err(ProofError::NotNamed { added: false, .. })
        ));
        assert!(matches!(
            prove_only(&old, &new, ["port_b"], []),
            Err(ProofError::NotNamed { added: true, .. })
        ));
    }

    #[test]
    fn a_changed_byte_is_found() {
        let old = base();
        let mut new = old.clone();
        new.replace_resource("port_a", Port::new("net").name("port_a2"))
            .unwrap();
        assert!(matches!(
            prove_only(&old, &new, ["port_a"], []),
            Err(ProofError::Changed { .. })
        ));
        let mut new = old.clone();
        new.set_output("ids", get_resource("port_c")).unwrap();
        assert!(matches!(
            prove_only(&old, &new, [], []),
            Err(ProofError::Elsewhere { .. })
        ));
        prove_only(&old, &new, [], ["ids"]).unwrap();
        let reordered = Resource::raw("OS::Neutron::Port")
            .property("name", "port_a")
            .property("network", "net");
        let mut new = old.clone();
        new.replace_resource("port_a", reordered).unwrap();
        assert!(prove_only(&old, &new, [], []).is_err());
        assert!(prove_only(&old, &old.clone().description("x"), [], []).is_err());
        assert!(diff(&old, &old).is_empty());
    }

    #[test]
    fn removing_and_adding_again_moves_a_resource() {
        let old = base();
        let mut new = old.clone();
        let port = new.remove_resource("port_a").unwrap();
        new.add_resource("port_a", port).unwrap();
        assert!(matches!(
            prove_only(&old, &new, ["port_a"], []),
            Err(ProofError::Elsewhere { .. })
        ));
    }
}
