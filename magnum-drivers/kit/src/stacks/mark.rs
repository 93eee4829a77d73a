//! The mark that everything made for a cluster carries.

use magnum_core::ClusterId;
use magnum_heat::hot::Value;

/// The mark of one cluster, in the forms that the services take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// What every mark begins with.
    pub const PREFIX: &'static str = "magnum-cluster-";

    /// The mark of a cluster.
    #[must_use]
    pub fn of(cluster: ClusterId) -> Self {
        Self(format!("{}{cluster}", Self::PREFIX))
    }

    /// The plain text, as a tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A list of it alone, for Neutron's and Heat's tags.
    #[must_use]
    pub fn tags(&self) -> Value {
        Value::list([self.as_str()])
    }

    /// A description that begins with it.
    #[must_use]
    pub fn description(&self, what: &str) -> String {
        format!("{} {what}", self.0)
    }

    /// Extra keys for Neutron resources that have a description but no property for it.
    #[must_use]
    pub fn description_specs(&self, what: &str) -> Value {
        Value::map([("description", self.description(what))])
    }

    /// Whether a description or name is marked.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_found_in_its_own_descriptions() {
        let mark = Mark::of("1a2b3c4d-0000-4000-8000-000000000001".parse().unwrap());
        let other = Mark::of("1a2b3c4d-0000-4000-8000-000000000002".parse().unwrap());
        assert!(mark.is_in(&mark.description("API address")));
        assert!(!mark.is_in(&other.description("API address")));
    }
}
