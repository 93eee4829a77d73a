//! Kubernetes versions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Problems;

/// A Kubernetes release such as `v1.36.1`. Text with or without the leading `v` is read; the `v` is always written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KubeVersion(semver::Version);

impl KubeVersion {
    /// The major number (1).
    #[must_use]
    pub const fn major(&self) -> u64 {
        self.0.major
    }

    /// The minor number, such as 36.
    #[must_use]
    pub const fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The patch number.
    #[must_use]
    pub const fn patch(&self) -> u64 {
        self.0.patch
    }
}

impl FromStr for KubeVersion {
    type Err = Problems;

    fn from_str(text: &str) -> Result<Self, Problems> {
        semver::Version::parse(text.strip_prefix('v').unwrap_or(text))
            .map(Self)
            .map_err(|_| {
                Problems::one(
                    "kube_version",
                    text,
                    "must be a Kubernetes release such as v1.36.1",
                )
            })
    }
}

impl TryFrom<String> for KubeVersion {
    type Error = Problems;

    fn try_from(text: String) -> Result<Self, Problems> {
        text.parse()
    }
}

impl From<KubeVersion> for String {
    fn from(version: KubeVersion) -> Self {
        version.to_string()
    }
}

impl fmt::Display for KubeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_with_and_without_v_and_order_by_number() {
        let a: KubeVersion = "1.9.0".parse().unwrap();
        let b: KubeVersion = "v1.36.1".parse().unwrap();
        assert!(a < b);
        assert_eq!(b.to_string(), "v1.36.1");
        assert!("1.36".parse::<KubeVersion>().is_err());
    }
}
