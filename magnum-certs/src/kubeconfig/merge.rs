//! Merging one kubeconfig into another.

use super::model::Kubeconfig;
use crate::Error;

/// What to do when both have an entry of the same name that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Give an error and change nothing.
    #[default]
    Refuse,
    /// Take the new one.
    Replace,
}

impl Kubeconfig {
    /// Adds the entries of `other` and, when it has one, makes its context the current one. Entries of the same name that are
    /// equal stay as they are; everything else in this file is kept, unknown fields included.
    ///
    /// # Errors
    /// [`Error::KubeconfigConflict`] names the first differing entry under [`OnConflict::Refuse`]; nothing is changed then.
    pub fn merge(&mut self, other: &Self, on_conflict: OnConflict) -> Result<(), Error> {
        let mut merged = self.clone();
        entries(
            &mut merged.clusters,
            &other.clusters,
            "cluster",
            |entry| &entry.name,
            on_conflict,
        )?;
        entries(
            &mut merged.users,
            &other.users,
            "user",
            |entry| &entry.name,
            on_conflict,
        )?;
        entries(
            &mut merged.contexts,
            &other.contexts,
            "context",
            |entry| &entry.name,
            on_conflict,
        )?;
        if !other.current_context.is_empty() {
            merged.current_context.clone_from(&other.current_context);
        }
        *self = merged;
        Ok(())
    }

    /// Removes a cluster with every context that uses it and every user that only those contexts used. Nothing there is fine.
    /// The current context is emptied when it is among those removed.
    pub fn remove_cluster(&mut self, name: &str) {
        self.clusters.retain(|entry| entry.name != name);
        let (gone, kept): (Vec<_>, Vec<_>) = self
            .contexts
            .drain(..)
            .partition(|entry| entry.context.cluster == name);
        self.contexts = kept;
        self.users.retain(|user| {
            let used = |entry: &super::NamedContext| entry.context.user == user.name;
            !gone.iter().any(used) || self.contexts.iter().any(used)
        });
        if gone.iter().any(|entry| entry.name == self.current_context) {
            self.current_context.clear();
        }
    }
}

fn entries<T: Clone + PartialEq>(
    mine: &mut Vec<T>,
    theirs: &[T],
    kind: &'static str,
    name: impl Fn(&T) -> &String,
    on_conflict: OnConflict,
) -> Result<(), Error> {
    for new in theirs {
        match mine.iter_mut().find(|old| name(old) == name(new)) {
            None => mine.push(new.clone()),
            Some(old) if old == new => {}
            Some(old) if on_conflict == OnConflict::Replace => *old = new.clone(),
            Some(_) => {
                return Err(Error::KubeconfigConflict {
                    kind,
                    name: name(new).clone(),
                });
            }
        }
    }
    Ok(())
}
