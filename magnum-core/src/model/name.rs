//! Names of clusters, node groups and templates.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Problems;

/// The longest cluster name that Magnum takes.
const CLUSTER_NAME_MAX: usize = 242;
/// The longest node group name: it becomes part of server names, which Heat limits to 53 characters.
const NODE_GROUP_NAME_MAX: usize = 24;
/// The longest template name that Magnum stores.
const TEMPLATE_NAME_MAX: usize = 255;

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and wraps a name.
            ///
            /// # Errors
            /// The rules that the name breaks, under the field `name`.
            pub fn new(name: impl Into<String>) -> Result<Self, Problems> {
                let name = name.into();
                $check(&name)?;
                Ok(Self(name))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Problems;

            fn try_from(name: String) -> Result<Self, Problems> {
                Self::new(name)
            }
        }

        impl FromStr for $name {
            type Err = Problems;

            fn from_str(name: &str) -> Result<Self, Problems> {
                Self::new(name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type! {
    /// A cluster's name: a letter, then letters, digits, `_`, `.` or `-`; at most 242 characters (Magnum's rule).
    ClusterName, cluster_name
}
name_type! {
    /// A node group's name: a DNS label of at most 24 characters beginning with a letter, since it becomes part of node names.
    NodeGroupName, node_group_name
}
name_type! {
    /// A cluster template's name: 1 to 255 characters without control characters.
    TemplateName, template_name
}

impl ClusterName {
    /// The name as a DNS label of at most `max` characters, for names derived from it:
    /// lower case letters, digits and single `-`, beginning with a letter (rule `TV-06`).
    #[must_use]
    pub fn to_dns_label(&self, max: usize) -> String {
        let mut label = String::with_capacity(self.0.len().min(max));
        for c in self.0.chars() {
            let c = c.to_ascii_lowercase();
            let c = if c.is_ascii_alphanumeric() { c } else { '-' };
            if c == '-' && label.ends_with('-') {
                continue;
            }
            if label.len() == max {
                break;
            }
            label.push(c);
        }
        label.trim_end_matches('-').to_owned()
    }
}

fn cluster_name(name: &str) -> Result<(), Problems> {
    let mut problems = Problems::new();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        problems.add("name", name, "must begin with a letter");
    }
    if name.chars().count() > CLUSTER_NAME_MAX {
        problems.add(
            "name",
            name,
            format!("must have at most {CLUSTER_NAME_MAX} characters"),
        );
    }
    if !name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    {
        problems.add(
            "name",
            name,
            "may hold only letters, digits, \"_\", \".\" and \"-\"",
        );
    }
    problems.into_result()
}

fn node_group_name(name: &str) -> Result<(), Problems> {
    let mut problems = Problems::new();
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        problems.add("name", name, "must begin with a lower case letter");
    }
    if name.len() > NODE_GROUP_NAME_MAX {
        problems.add(
            "name",
            name,
            format!("must have at most {NODE_GROUP_NAME_MAX} characters"),
        );
    }
    if name.ends_with('-')
        || !name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    {
        problems.add(
            "name",
            name,
            "must be a DNS label: lower case letters, digits and inner \"-\"",
        );
    }
    problems.into_result()
}

fn template_name(name: &str) -> Result<(), Problems> {
    let mut problems = Problems::new();
    if name.is_empty() || name.chars().count() > TEMPLATE_NAME_MAX {
        problems.add(
            "name",
            name,
            format!("must have 1 to {TEMPLATE_NAME_MAX} characters"),
        );
    }
    if name.chars().any(char::is_control) {
        problems.add("name", name, "must not hold control characters");
    }
    problems.into_result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tv_06_derived_labels_are_dns_labels() {
        let label = |name: &str, max| ClusterName::new(name).unwrap().to_dns_label(max);
        assert_eq!(label("My_Cluster.Prod", 30), "my-cluster-prod");
        assert_eq!(label("a__..b-", 30), "a-b");
        assert_eq!(label(&"x".repeat(240), 20), "x".repeat(20));
        assert_eq!(label("abc-def", 4), "abc");
    }

    #[test]
    fn bad_names_say_every_rule_they_break() {
        assert_eq!(ClusterName::new("1 !").unwrap_err().len(), 2);
        assert!(ClusterName::new("").is_err());
        assert!(NodeGroupName::new("My Group!").is_err());
        assert!(NodeGroupName::new("gpu-").is_err());
        assert!(NodeGroupName::new("default-worker").is_ok());
        assert!(TemplateName::new("a\nb").is_err());
    }
}
