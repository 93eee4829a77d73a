//! Typed identifiers: mixing a cluster's id with a node group's does not compile.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! typed_uuid {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that was made elsewhere.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The plain UUID.
            #[must_use]
            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

typed_uuid! {
    /// A cluster template.
    ClusterTemplateId
}
typed_uuid! {
    /// A cluster.
    ClusterId
}
typed_uuid! {
    /// A node group of a cluster.
    NodeGroupId
}
typed_uuid! {
    /// A durable operation; version 7, so that ids sort by the time of acceptance.
    OperationId
}
typed_uuid! {
    /// One engine process (or one engine of several in a process): the owner of leases.
    EngineId
}

/// A Keystone project, as Keystone writes it (32 hexadecimal digits on most clouds, but that is the cloud's choice).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectId(String);

impl ProjectId {
    /// Wraps the text that Keystone gave.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The text that Keystone gave.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The short random id of a member (node) of a node group, such as `7f2kq`. Never reused within a cluster.
///
/// Five characters of `[bcdfghjklmnpqrstvwxz2456789]`: no vowels, so that no words appear, and nothing that reads like another character.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(String);

impl MemberId {
    /// The characters of which ids are made.
    pub const ALPHABET: &'static [u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    /// The length of an id.
    pub const LENGTH: usize = 5;

    /// A fresh id from the given source of randomness.
    pub fn random(rng: &mut (impl rand::Rng + ?Sized)) -> Self {
        Self(
            (0..Self::LENGTH)
                .map(|_| char::from(Self::ALPHABET[rng.random_range(0..Self::ALPHABET.len())]))
                .collect(),
        )
    }

    /// Wraps an id that was made before.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn member_ids_are_dns_safe_and_repeatable_by_seed() {
        let mut a = rand::rngs::SmallRng::seed_from_u64(7);
        let mut b = rand::rngs::SmallRng::seed_from_u64(7);
        let id = MemberId::random(&mut a);
        assert_eq!(id, MemberId::random(&mut b));
        assert!(id.as_str().bytes().all(|c| MemberId::ALPHABET.contains(&c)));
    }

    #[test]
    fn ids_read_back_what_they_write() {
        let id = ClusterId::from_uuid(Uuid::new_v4());
        assert_eq!(id.to_string().parse::<ClusterId>().unwrap(), id);
    }
}
