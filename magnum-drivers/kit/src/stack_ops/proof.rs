//! Proofs that an edit touches only the members it names: before it is sent by its documents, afterwards by physical ids.

use std::collections::{BTreeMap, BTreeSet};

use magnum_heat::hot::{Diff, Document, Files, ProofError, prove_only};

/// An edit that would touch, or has touched, more than it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditProblem {
    /// The documents differ in more.
    #[error("refused to change stack {stack}: {source}")]
    Document {
        /// The stack.
        stack: String,
        /// What differs.
        source: ProofError,
    },
    /// A file that old members refer to would change or vanish.
    #[error("refused to change stack {stack}: a file that its members refer to would change")]
    Files {
        /// The stack.
        stack: String,
    },
    /// Heat has replaced something that was not to change.
    #[error("Heat has replaced {resources} of stack {stack}, which were not to change")]
    Physical {
        /// The stack.
        stack: String,
        /// The resources.
        resources: String,
    },
}

/// Proves that only resources in `named` appear or vanish and that nothing else differs.
///
/// # Errors
/// [`EditProblem::Document`] or [`EditProblem::Files`].
pub fn prove_edit(
    stack: &str,
    old: (&Document, &Files),
    new: (&Document, &Files),
    named: &BTreeSet<String>,
) -> Result<Diff, EditProblem> {
    let diff =
        prove_only(old.0, new.0, named.iter().map(String::as_str), []).map_err(|source| {
            EditProblem::Document {
                stack: stack.to_owned(),
                source,
            }
        })?;
    if !new.1.keeps(old.1) {
        return Err(EditProblem::Files {
            stack: stack.to_owned(),
        });
    }
    Ok(diff)
}

/// Proves that what was there before and is still in the document has the same physical ids.
///
/// # Errors
/// [`EditProblem::Physical`].
pub fn prove_physical(
    stack: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Result<(), EditProblem> {
    let moved: Vec<&str> = before
        .iter()
        .filter(|(name, id)| {
            after
                .get(*name)
                .is_some_and(|now| now != *id && !now.is_empty())
        })
        .map(|(name, _)| name.as_str())
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    Err(EditProblem::Physical {
        stack: stack.to_owned(),
        resources: moved.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use magnum_heat::hot::Resource;

    use super::*;

    fn document(names: &[&str]) -> Document {
        let mut document = Document::new();
        for name in names {
            document
                .add_resource(*name, Resource::raw("OS::Heat::None"))
                .unwrap();
        }
        document
    }

    fn named(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn up_06_an_edit_touches_only_what_it_names() {
        let (old, files) = (document(&["server_a", "server_b"]), Files::new());
        let mut grown = Files::new();
        grown.insert("new", "text");
        let new = document(&["server_b", "server_c"]);
        let prove =
            |named: &[&str]| prove_edit("s", (&old, &files), (&new, &grown), &self::named(named));
        assert!(prove(&["server_a", "server_c"]).is_ok());
        assert!(prove(&["server_c"]).is_err());
        let swapped = prove_edit(
            "s",
            (&old, &grown),
            (&new, &files),
            &self::named(&["server_a", "server_c"]),
        );
        assert!(matches!(swapped, Err(EditProblem::Files { .. })));
    }

    #[test]
    fn replaced_neighbours_are_noticed() {
        let ids = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, id)| ((*name).to_owned(), (*id).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let before = ids(&[("server_a", "1"), ("server_b", "2")]);
        assert!(
            prove_physical("s", &before, &ids(&[("server_b", "2"), ("server_c", "3")])).is_ok()
        );
        let error = prove_physical("s", &before, &ids(&[("server_b", "9")])).unwrap_err();
        assert!(error.to_string().contains("server_b"));
    }
}
