//! Labels: the text map through which Magnum users set what has no field of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::Problems;

/// Label keys and values, ordered by key. Unknown keys are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, String>);

/// Labels of a cluster laid over those of its template, and how they came about (rule `TV-05`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelMerge {
    /// What holds for the cluster.
    pub effective: Labels,
    /// Keys that only the cluster names.
    pub added: Labels,
    /// Keys that both name with different values, with the **template's** values, as Magnum shows them.
    pub overridden: Labels,
    /// Keys of the template that do not hold for the cluster.
    pub skipped: Labels,
}

impl Labels {
    /// No labels.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same labels with one set.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// All labels by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a label as a value of type `T`; surrounding blanks are ignored. A bad value is noted in `problems` with `rule` and reads as absent.
    pub fn parse<T: FromStr>(&self, key: &str, rule: &str, problems: &mut Problems) -> Option<T> {
        let text = self.get(key)?;
        let value = text.trim().parse().ok();
        if value.is_none() {
            problems.add(format!("labels.{key}"), text, rule);
        }
        value
    }

    /// Reads a label as a whole number of at least zero (rule `TV-01`).
    pub fn number(&self, key: &str, problems: &mut Problems) -> Option<u32> {
        self.parse(key, "must be a whole number of at least 0", problems)
    }

    /// Reads a label as a switch: `true`/`false` in any case.
    pub fn switch(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        let text = self.get(key)?;
        match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                problems.add(format!("labels.{key}"), text, "must be true or false");
                None
            }
        }
    }

    /// Reads a label as an address range.
    pub fn cidr(&self, key: &str, problems: &mut Problems) -> Option<IpNet> {
        self.parse(
            key,
            "must be an address range such as 10.0.0.0/24",
            problems,
        )
    }

    /// Lays the labels given for a cluster over those of its template.
    ///
    /// Nothing given: the template's hold. Without `merge` the given ones replace them; with it they overlay them.
    #[must_use]
    pub fn over(template: &Self, given: Option<&Self>, merge: bool) -> LabelMerge {
        let Some(given) = given else {
            return LabelMerge {
                effective: template.clone(),
                ..LabelMerge::default()
            };
        };
        let mut result = LabelMerge {
            effective: given.clone(),
            ..LabelMerge::default()
        };
        for (key, value) in &given.0 {
            match template.0.get(key) {
                None => drop(result.added.0.insert(key.clone(), value.clone())),
                Some(old) if old != value => {
                    result.overridden.0.insert(key.clone(), old.clone());
                }
                Some(_) => {}
            }
        }
        for (key, value) in &template.0 {
            if given.0.contains_key(key) {
                continue;
            }
            if merge {
                result.effective.0.insert(key.clone(), value.clone());
            } else {
                result.skipped.0.insert(key.clone(), value.clone());
            }
        }
        result
    }
}

impl FromIterator<(String, String)> for Labels {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(labels: I) -> Self {
        Self(labels.into_iter().collect())
    }
}

/// Reads the text form `key=value,key=value`; a piece without `=` belongs to the value before it (rule `TV-04`).
impl FromStr for Labels {
    type Err = Problems;

    fn from_str(text: &str) -> Result<Self, Problems> {
        let mut labels: Vec<(String, String)> = Vec::new();
        for piece in text.split(',').filter(|_| !text.is_empty()) {
            match (piece.split_once('='), labels.last_mut()) {
                (Some(("", _)), _) => {
                    return Err(Problems::one(
                        "labels",
                        piece,
                        "must have a key before \"=\"",
                    ));
                }
                (Some((key, value)), _) => labels.push((key.to_owned(), value.to_owned())),
                (None, Some((_, value))) => {
                    value.push(',');
                    value.push_str(piece);
                }
                (None, None) => {
                    return Err(Problems::one("labels", piece, "must be written key=value"));
                }
            }
        }
        Ok(labels.into_iter().collect())
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Labels {
        text.parse().unwrap()
    }

    #[test]
    fn tv_01_numbers_are_read_or_named() {
        let labels = labels("a=20,b=0,c= 20 ,d=abc,e=-5,f=20GB");
        let mut problems = Problems::new();
        assert_eq!(labels.number("a", &mut problems), Some(20));
        assert_eq!(labels.number("b", &mut problems), Some(0));
        assert_eq!(labels.number("c", &mut problems), Some(20));
        assert!(problems.is_empty());
        for key in ["d", "e", "f"] {
            assert_eq!(labels.number(key, &mut problems), None);
        }
        let fields: Vec<_> = problems.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(fields, ["labels.d", "labels.e", "labels.f"]);
    }

    #[test]
    fn tv_04_values_may_hold_commas_and_equal_signs() {
        let read = labels("a=1,admission=X,Y,b=2");
        assert_eq!(read.get("admission"), Some("X,Y"));
        assert_eq!(read.get("b"), Some("2"));
        assert_eq!(labels("k=v=w").get("k"), Some("v=w"));
        assert!("=x".parse::<Labels>().is_err());
        assert!("k".parse::<Labels>().is_err());
        assert!(labels("").is_empty());
    }

    #[test]
    fn tv_05_labels_of_template_and_cluster_together() {
        let template = labels("a=1,b=2");
        let given = labels("b=3,c=4");
        let plain = Labels::over(&template, Some(&given), false);
        assert_eq!(plain.effective, given);
        assert_eq!(plain.added, labels("c=4"));
        assert_eq!(plain.overridden, labels("b=2"));
        assert_eq!(plain.skipped, labels("a=1"));
        let merged = Labels::over(&template, Some(&given), true);
        assert_eq!(merged.effective, labels("a=1,b=3,c=4"));
        assert!(merged.skipped.is_empty());
        assert_eq!(Labels::over(&template, None, false).effective, template);
    }
}
