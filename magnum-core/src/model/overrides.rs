//! Which fields of a template users may set otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Labels, Problems};

/// How far a user may depart from a template's value. The template's own value is always allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OverrideRule {
    /// Any value that is valid; what holds where nothing is said.
    Free,
    /// The template's value only.
    Locked,
    /// One of these values.
    OneOf(BTreeSet<String>),
    /// A whole number within these bounds, both included.
    Range {
        /// The least; none means no lower bound.
        #[serde(default)]
        min: Option<u64>,
        /// The most; none means no upper bound.
        #[serde(default)]
        max: Option<u64>,
    },
}

/// The rules of a template by field. A cluster keeps those of the template it was made from, so later changes never reach it; they hold
/// for its later node groups, sizes and images as well.
///
/// Fields: `master_count`, `node_count` (of each worker group), `keypair`, `flavor`, `master_flavor`, `image`, `server_type`,
/// `fixed_network`, `fixed_subnet`, `master_lb_enabled`, `create_timeout` (seconds), `labels` for all labels, and `labels.KEY` for one, which wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Overrides(BTreeMap<String, OverrideRule>);

const FIELDS: [&str; 12] = [
    "master_count",
    "node_count",
    "keypair",
    "flavor",
    "master_flavor",
    "image",
    "server_type",
    "fixed_network",
    "fixed_subnet",
    "master_lb_enabled",
    "create_timeout",
    "labels",
];
/// Fields for which a template has no value of its own.
const COUNTS: [&str; 3] = ["master_count", "node_count", "create_timeout"];

impl Overrides {
    /// Everything is free.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same rules with one more.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, rule: OverrideRule) -> Self {
        self.0.insert(field.into(), rule);
        self
    }

    /// Whether everything is free.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All rules by field.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OverrideRule)> {
        self.0.iter().map(|(field, rule)| (field.as_str(), rule))
    }

    /// Checks the rules themselves.
    ///
    /// # Errors
    /// Every field that there is not, and every rule that nothing or everything fits.
    pub fn validate(&self) -> Result<(), Problems> {
        let mut problems = Problems::new();
        for (field, rule) in &self.0 {
            let name = format!("overrides.{field}");
            let label = field.strip_prefix("labels.").is_some_and(|k| !k.is_empty());
            if !label && !FIELDS.contains(&field.as_str()) {
                let known = FIELDS.join(", ");
                problems.add(
                    &name,
                    field,
                    format!("must be one of {known} or labels.KEY"),
                );
            }
            match rule {
                OverrideRule::Locked if COUNTS.contains(&field.as_str()) => {
                    let rule = "must be a list or a range: a template has no value for it";
                    problems.add(&name, "locked", rule);
                }
                OverrideRule::OneOf(values) if values.is_empty() => {
                    problems.add(&name, "[]", "must list at least one value");
                }
                OverrideRule::Range {
                    min: Some(min),
                    max: Some(max),
                } if min > max => {
                    problems.add(&name, format!("{min}..{max}"), "min must not be above max");
                }
                OverrideRule::Range {
                    min: None,
                    max: None,
                } => problems.add(&name, "", "must have min or max"),
                _ => {}
            }
        }
        problems.into_result()
    }

    /// Checks a value that a user gave for a field; `own` is the template's.
    pub(crate) fn check(
        &self,
        field: &str,
        given: impl fmt::Display,
        own: Option<&str>,
        problems: &mut Problems,
    ) {
        let rule = self.0.get(field).or_else(|| {
            let label = field.starts_with("labels.");
            label.then(|| self.0.get("labels")).flatten()
        });
        let Some(rule) = rule else { return };
        let given = given.to_string();
        if own == Some(given.as_str()) {
            return;
        }
        match rule {
            OverrideRule::Free => {}
            OverrideRule::Locked => {
                let fixed = own.unwrap_or("none");
                let rule = format!("is fixed by the template to {fixed}");
                problems.add(field, given, rule);
            }
            OverrideRule::OneOf(values) => {
                if !values.contains(&given) {
                    let all: Vec<_> = values.iter().map(String::as_str).collect();
                    let rule = format!("must be one of {}, as the template says", all.join(", "));
                    problems.add(field, given, rule);
                }
            }
            OverrideRule::Range { min, max } => {
                let fits = given.trim().parse::<u64>().is_ok_and(|number| {
                    min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
                });
                if !fits {
                    let bound = |bound: &Option<u64>| {
                        bound.map_or_else(|| "any".to_owned(), |bound| bound.to_string())
                    };
                    let (min, max) = (bound(min), bound(max));
                    let rule = format!("must be {min} to {max}, as the template says");
                    problems.add(field, given, rule);
                }
            }
        }
    }

    /// Checks labels as they would hold against the template's, those that would not hold any more included.
    pub(crate) fn check_labels(&self, effective: &Labels, own: &Labels, problems: &mut Problems) {
        if self.is_empty() {
            return;
        }
        for (key, value) in effective.iter() {
            self.check(&format!("labels.{key}"), value, own.get(key), problems);
        }
        for (key, value) in own.iter().filter(|(key, _)| effective.get(key).is_none()) {
            let field = format!("labels.{key}");
            let rule = self.0.get(&field).or_else(|| self.0.get("labels"));
            if rule == Some(&OverrideRule::Locked) {
                let rule = format!("is fixed by the template to {value}: merge the labels");
                problems.add(field, "", rule);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(check: impl FnOnce(&mut Problems)) -> Vec<String> {
        let mut problems = Problems::new();
        check(&mut problems);
        problems.iter().map(|p| p.field.clone()).collect()
    }

    #[test]
    fn every_kind_of_rule_allows_and_refuses() {
        let sizes = ["m1.small", "m1.large"].map(str::to_owned);
        let rules = Overrides::new()
            .with("flavor", OverrideRule::OneOf(sizes.into()))
            .with("keypair", OverrideRule::Locked)
            .with(
                "node_count",
                OverrideRule::Range {
                    min: Some(1),
                    max: Some(10),
                },
            );
        rules.validate().unwrap();
        let try_it = |field: &str, given: &str, own: Option<&str>| {
            fields(|p| rules.check(field, given, own, p)).is_empty()
        };
        assert!(try_it("flavor", "m1.large", Some("m1.tiny")));
        assert!(
            try_it("flavor", "m1.tiny", Some("m1.tiny")),
            "the template's own"
        );
        assert!(!try_it("flavor", "m1.huge", Some("m1.tiny")));
        assert!(!try_it("keypair", "mine", Some("ops")) && !try_it("keypair", "mine", None));
        assert!(try_it("node_count", "10", None) && !try_it("node_count", "11", None));
        assert!(!try_it("node_count", "many", None));
        assert!(
            try_it("master_flavor", "any", None),
            "nothing is said: free"
        );
    }

    #[test]
    fn labels_are_ruled_all_or_one_by_one_and_cannot_be_dropped() {
        let rules = Overrides::new()
            .with("labels", OverrideRule::Locked)
            .with("labels.kube_tag", OverrideRule::Free);
        let own: Labels = "kube_tag=v1.36.1,audit=on".parse().unwrap();
        let check = |text: &str| {
            let given: Labels = text.parse().unwrap();
            fields(|p| rules.check_labels(&given, &own, p))
        };
        assert!(check("kube_tag=v1.35.2,audit=on").is_empty());
        assert_eq!(check("kube_tag=v1.35.2"), ["labels.audit"]);
        assert_eq!(check("audit=off,new=1"), ["labels.audit", "labels.new"]);
    }

    #[test]
    fn rules_that_make_no_sense_are_all_named() {
        let rules = Overrides::new()
            .with("colour", OverrideRule::Free)
            .with("node_count", OverrideRule::Locked)
            .with("flavor", OverrideRule::OneOf(BTreeSet::new()))
            .with(
                "master_count",
                OverrideRule::Range {
                    min: Some(3),
                    max: Some(1),
                },
            );
        let named: Vec<_> = rules
            .validate()
            .unwrap_err()
            .iter()
            .map(|p| p.field.clone())
            .collect();
        assert_eq!(
            named,
            ["colour", "flavor", "master_count", "node_count"].map(|f| format!("overrides.{f}"))
        );
    }
}
