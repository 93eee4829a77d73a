//! The phases of a rotation of the certificate authorities.

use serde::{Deserialize, Serialize};

/// A phase of [`Change::RotateCa`](super::Change::RotateCa). The engine leads through them in this order and writes each down before it
/// begins; a driver brings about one at a time and says [`Advance::Done`](super::Advance::Done) when **every** node has shown that it is
/// there, so the old stays valid until the new is proven. There is no way back from a phase; what ends early stays in a state in which
/// old and new are trusted, and the next rotation goes on from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotationPhase {
    /// Old and new are trusted everywhere; the old still signs.
    TrustBoth,
    /// The new signs and every leaf is re-issued by it; the old is still trusted.
    Reissue,
    /// Only the new is trusted.
    TrustNew,
}

impl RotationPhase {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::TrustBoth, Self::Reissue, Self::TrustNew];

    /// What is done in it, in a few words.
    #[must_use]
    pub const fn task(self) -> &'static str {
        match self {
            Self::TrustBoth => "trusting old and new authorities",
            Self::Reissue => "re-issuing certificates",
            Self::TrustNew => "trusting the new authorities only",
        }
    }

    /// The one that follows.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::TrustBoth => Some(Self::Reissue),
            Self::Reissue => Some(Self::TrustNew),
            Self::TrustNew => None,
        }
    }
}
