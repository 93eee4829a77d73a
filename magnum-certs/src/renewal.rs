//! Renewal of leaves.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::{AuthorityKind, Certificate, ClusterPki, Credential, Error, KeyAlgorithm, Profile};

/// Why a certificate has to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenewalReason {
    /// Two thirds of its life are over; see [`Certificate::renew_at`].
    Due,
    /// It has ended.
    Expired,
    /// Another authority than the one that signs now has issued it: one of an earlier generation, or a foreign one.
    OldAuthority,
}

impl fmt::Display for RenewalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Due => "two thirds of its life are over",
            Self::Expired => "it has ended",
            Self::OldAuthority => "it was not issued by the authority that signs now",
        })
    }
}

impl ClusterPki {
    /// Whether a leaf of one of the authorities has to be replaced now, and why. While a rotation only trusts both authorities the old
    /// one's leaves stay; once the new one signs, they are old.
    #[must_use]
    pub fn renewal(
        &self,
        leaf: &Certificate,
        kind: AuthorityKind,
        now: DateTime<Utc>,
    ) -> Option<RenewalReason> {
        if !leaf.is_issued_by(self.authority(kind).certificate()) {
            Some(RenewalReason::OldAuthority)
        } else if now > leaf.not_after() {
            Some(RenewalReason::Expired)
        } else if now >= leaf.renew_at() {
            Some(RenewalReason::Due)
        } else {
            None
        }
    }

    /// A fresh key and certificate in the place of `leaf` where it has to be replaced; none where it is still good. The profile, and not the
    /// old certificate, says what is in the new one. Slow for RSA.
    ///
    /// # Errors
    /// As [`ClusterPki::issue`].
    pub fn renew(
        &self,
        leaf: &Certificate,
        profile: &Profile,
        algorithm: KeyAlgorithm,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Option<Credential>, Error> {
        self.renewal(leaf, profile.authority(), now)
            .map(|_| self.issue(profile, algorithm, life, now))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PkiOptions;
    use chrono::{TimeDelta, TimeZone};

    #[test]
    fn ck_10_leaves_are_renewed_in_time_and_after_a_rotation() {
        let now = Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap();
        let pki = ClusterPki::generate("c1", PkiOptions::default(), now).unwrap();
        let profile = Profile::KubeletClient { node: "n1".into() };
        let life = Some(Duration::from_secs(30 * 24 * 3600));
        let algorithm = KeyAlgorithm::EcdsaP256;
        let leaf = pki.issue(&profile, algorithm, life, now).unwrap();
        let reason = |pki: &ClusterPki, days| {
            let at = now + TimeDelta::days(days);
            pki.renewal(leaf.certificate(), AuthorityKind::Kubernetes, at)
        };
        assert_eq!(reason(&pki, 19), None);
        assert_eq!(reason(&pki, 21), Some(RenewalReason::Due));
        assert_eq!(reason(&pki, 31), Some(RenewalReason::Expired));

        let renew = |pki: &ClusterPki, leaf: &Certificate, at| {
            pki.renew(leaf, &profile, algorithm, life, at).unwrap()
        };
        assert!(renew(&pki, leaf.certificate(), now).is_none());
        let both = pki.begin_rotation(PkiOptions::default(), now).unwrap();
        assert_eq!(reason(&both, 0), None);
        let reissue = both.switch_rotation();
        assert_eq!(reason(&reissue, 0), Some(RenewalReason::OldAuthority));
        let new = renew(&reissue, leaf.certificate(), now).unwrap();
        assert_ne!(
            new.certificate().public_key(),
            leaf.certificate().public_key()
        );
        assert!(renew(&reissue, new.certificate(), now).is_none());
    }
}
