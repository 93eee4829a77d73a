//! Everything that is wrong with an input, in one answer.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The field, as a path such as `node_count` or `labels.boot_volume_size`.
    pub field: String,
    /// The value that was given, as text (never a secret).
    pub value: String,
    /// The rule that it breaks, as a sentence without a final stop.
    pub rule: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.field, self.value, self.rule)
    }
}

/// All that is wrong with an input. Collect with [`add`](Self::add), end with [`into_result`](Self::into_result).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Nothing wrong so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Exactly one problem.
    pub fn one(
        field: impl Into<String>,
        value: impl fmt::Display,
        rule: impl Into<String>,
    ) -> Self {
        let mut problems = Self::new();
        problems.add(field, value, rule);
        problems
    }

    /// Notes a problem.
    pub fn add(
        &mut self,
        field: impl Into<String>,
        value: impl fmt::Display,
        rule: impl Into<String>,
    ) {
        self.0.push(Problem {
            field: field.into(),
            value: value.to_string(),
            rule: rule.into(),
        });
    }

    /// Takes over the problems of a part, if it has any; those that are noted already only once.
    pub fn absorb(&mut self, result: Result<(), Self>) {
        for problem in result.err().into_iter().flat_map(|others| others.0) {
            if !self.0.contains(&problem) {
                self.0.push(problem);
            }
        }
    }

    /// Takes over the problems of a part whose fields nothing is known to be wrong with yet.
    pub(crate) fn absorb_new(&mut self, result: Result<(), Self>) {
        let known = self.0.len();
        for problem in result.err().into_iter().flat_map(|others| others.0) {
            if !self.0[..known].iter().any(|p| p.field == problem.field) {
                self.0.push(problem);
            }
        }
    }

    /// `Ok` where nothing is wrong.
    ///
    /// # Errors
    /// These problems, where there is at least one.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    /// The problems in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
