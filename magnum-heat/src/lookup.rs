//! Look-ups by name or id that say whether none, one or several were found.

use std::fmt;

/// One object that a look-up found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name == self.id {
            f.write_str(&self.id)
        } else {
            write!(f, "{} ({})", self.name, self.id)
        }
    }
}

/// A look-up by name or id did not find exactly one object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// There is none.
    #[error("no {kind} named {value:?} (neither by name nor by id)")]
    None {
        /// What was looked for: `image`, `flavor`, ...
        kind: &'static str,
        /// Name or id that was given.
        value: String,
    },
    /// There are several; an id is needed.
    #[error("{} {kind}s are named {value:?}: {}; give the id", .candidates.len(), list(.candidates))]
    Several {
        /// What was looked for.
        kind: &'static str,
        /// Name that was given.
        value: String,
        /// What was found.
        candidates: Vec<Candidate>,
    },
}

fn list(candidates: &[Candidate]) -> String {
    let mut text: Vec<String> = candidates.iter().take(5).map(ToString::to_string).collect();
    if candidates.len() > 5 {
        text.push(format!("and {} more", candidates.len() - 5));
    }
    text.join(", ")
}

impl LookupError {
    /// Whether nothing was found.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None { .. })
    }

    /// Whether several were found.
    pub fn is_several(&self) -> bool {
        matches!(self, Self::Several { .. })
    }
}

/// An object with id and name.
pub trait Named {
    /// What such objects are called in messages.
    const KIND: &'static str;
    /// Id.
    fn id(&self) -> &str;
    /// Name; may be empty.
    fn name(&self) -> &str;
}

/// Picks the one object with this id, else the one with this name.
///
/// # Errors
/// [`LookupError`] when none or several match.
pub fn pick<T: Named>(value: &str, all: Vec<T>) -> Result<T, LookupError> {
    let (mut by_id, rest): (Vec<T>, Vec<T>) = all.into_iter().partition(|item| item.id() == value);
    if let Some(item) = by_id.pop() {
        return Ok(item);
    }
    let mut named: Vec<T> = rest
        .into_iter()
        .filter(|item| item.name() == value)
        .collect();
    match (named.len(), named.pop()) {
        (1, Some(item)) => Ok(item),
        (0, _) | (_, None) => Err(LookupError::None {
            kind: T::KIND,
            value: value.to_owned(),
        }),
        (_, Some(last)) => {
            named.push(last);
            let candidates = named
                .iter()
                .map(|item| Candidate {
                    id: item.id().to_owned(),
                    name: item.name().to_owned(),
                })
                .collect();
            Err(LookupError::Several {
                kind: T::KIND,
                value: value.to_owned(),
                candidates,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Thing(&'static str, &'static str);

    impl Named for Thing {
        const KIND: &'static str = "thing";
        fn id(&self) -> &str {
            self.0
        }
        fn name(&self) -> &str {
            self.1
        }
    }

    #[test]
    fn none_one_several_and_id_before_name() {
        let all = || {
            vec![
                Thing("1", "a"),
                Thing("2", "b"),
                Thing("3", "b"),
                Thing("4", "1"),
            ]
        };
        assert_eq!(pick("a", all()).unwrap().0, "1");
        assert_eq!(pick("1", all()).unwrap().1, "a");
        assert!(pick("z", all()).unwrap_err().is_none());
        let several = pick("b", all()).unwrap_err();
        assert_eq!(
            several.to_string(),
            r#"2 things are named "b": b (2), b (3); give the id"#
        );
    }
}
