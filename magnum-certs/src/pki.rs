//! Everything that a cluster's trust rests on: three authorities and the service-account key.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use magnum_core::driver::RotationPhase;

use crate::authority::{AUTHORITY_LIFE, Authority, Credential};
use crate::generations::Generations;
use crate::{AuthorityKind, Certificate, Csr, Error, KeyAlgorithm, PrivateKey, Profile};

/// How a cluster's keys are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PkiOptions {
    /// Key type of the authorities, the service-account key, and leaves unless told otherwise. Default ECDSA P-256.
    pub algorithm: KeyAlgorithm,
    /// Life of the authorities. Default 3650 days.
    pub authority_life: Duration,
}

impl Default for PkiOptions {
    fn default() -> Self {
        Self {
            algorithm: KeyAlgorithm::default(),
            authority_life: AUTHORITY_LIFE,
        }
    }
}

/// A cluster's authorities and service-account key, with their rotation. Cheap to clone.
///
/// One set per cluster, generated once: every control-plane node gets the same (rule CK-07).
#[derive(Debug, Clone)]
pub struct ClusterPki {
    pub(crate) label: String,
    pub(crate) kubernetes: Generations<Authority>,
    pub(crate) etcd: Generations<Authority>,
    pub(crate) front_proxy: Generations<Authority>,
    pub(crate) service_account: Generations<Arc<PrivateKey>>,
}

impl ClusterPki {
    /// Generates all keys. `label` names the cluster in the authorities' subjects: its id. Slow for RSA.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] for a key type that kubeadm does not take, [`Error::Crypto`], [`Error::BadName`].
    pub fn generate(label: &str, options: PkiOptions, now: DateTime<Utc>) -> Result<Self, Error> {
        let authority = |kind| new_authority(kind, label, 1, options, now).map(Generations::first);
        Ok(Self {
            label: label.to_owned(),
            kubernetes: authority(AuthorityKind::Kubernetes)?,
            etcd: authority(AuthorityKind::Etcd)?,
            front_proxy: authority(AuthorityKind::FrontProxy)?,
            service_account: Generations::first(new_service_account_key(options)?),
        })
    }

    /// Puts a set together from authorities made elsewhere (bring your own, or a remote signer).
    ///
    /// # Errors
    /// [`Error::NotAllowed`] when a role is filled with an authority of another kind, or two share a subject or a key.
    pub fn from_parts(
        label: &str,
        kubernetes: Authority,
        etcd: Authority,
        front_proxy: Authority,
        service_account: PrivateKey,
    ) -> Result<Self, Error> {
        let all = [&kubernetes, &etcd, &front_proxy];
        for (authority, kind) in all.iter().zip(AuthorityKind::ALL) {
            if authority.kind() != kind {
                return Err(Error::NotAllowed {
                    reason: format!(
                        "a {} authority in the place of the {kind} one",
                        authority.kind()
                    ),
                });
            }
            let twin = all.iter().find(|other| {
                other.kind() != kind
                    && (other.certificate().subject_der() == authority.certificate().subject_der()
                        || other.certificate().public_key() == authority.certificate().public_key())
            });
            if let Some(twin) = twin {
                return Err(Error::NotAllowed {
                    reason: format!(
                        "the {kind} and {} authorities share a subject or a key",
                        twin.kind()
                    ),
                });
            }
        }
        Ok(Self {
            label: label.to_owned(),
            kubernetes: Generations::first(kubernetes),
            etcd: Generations::first(etcd),
            front_proxy: Generations::first(front_proxy),
            service_account: Generations::first(Arc::new(service_account)),
        })
    }

    /// The text that names the cluster in subjects.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The generations of one authority.
    #[must_use]
    pub fn generations(&self, kind: AuthorityKind) -> &Generations<Authority> {
        match kind {
            AuthorityKind::Kubernetes => &self.kubernetes,
            AuthorityKind::Etcd => &self.etcd,
            AuthorityKind::FrontProxy => &self.front_proxy,
        }
    }

    /// The authority that signs now.
    #[must_use]
    pub fn authority(&self, kind: AuthorityKind) -> &Authority {
        &self.generations(kind).signing().value
    }

    /// The generations of the service-account key.
    #[must_use]
    pub fn service_account(&self) -> &Generations<Arc<PrivateKey>> {
        &self.service_account
    }

    /// What verifiers must trust, as PEM: one certificate, two during a rotation, the signing one first.
    #[must_use]
    pub fn trust_bundle(&self, kind: AuthorityKind) -> String {
        self.generations(kind)
            .trusted()
            .map(|authority| authority.certificate().to_pem())
            .collect()
    }

    /// Issues a certificate for a fresh key from the profile's own authority; see [`Authority::issue`].
    ///
    /// # Errors
    /// As [`Authority::issue`].
    pub fn issue(
        &self,
        profile: &Profile,
        algorithm: KeyAlgorithm,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Credential, Error> {
        self.authority(profile.authority())
            .issue(profile, algorithm, life, now)
    }

    /// Signs a request with the profile's own authority; see [`Authority::sign_csr`].
    ///
    /// # Errors
    /// As [`Authority::sign_csr`].
    pub fn sign_csr(
        &self,
        csr: &Csr,
        profile: &Profile,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Certificate, Error> {
        self.authority(profile.authority())
            .sign_csr(csr, profile, life, now)
    }

    /// Where the rotation stands: the least advanced of all parts that are being rotated, none when none is.
    #[must_use]
    pub fn phase(&self) -> Option<RotationPhase> {
        let authorities = AuthorityKind::ALL.map(|kind| self.generations(kind).phase());
        let all = authorities
            .into_iter()
            .chain([self.service_account.phase()]);
        all.flatten().min()
    }

    /// Begins a rotation of all authorities and the service-account key; parts that are under way stay as they are. Drivers, which are
    /// called again after crashes, use a [`RotationPlan`](crate::RotationPlan) instead.
    ///
    /// Ask the driver's capabilities first: nothing here can bring the new trust to the nodes. Slow for RSA.
    ///
    /// # Errors
    /// As [`ClusterPki::generate`].
    pub fn begin_rotation(self, options: PkiOptions, now: DateTime<Utc>) -> Result<Self, Error> {
        let label = self.label;
        let begin = |generations: Generations<Authority>, kind| {
            generations.begin(|number| new_authority(kind, &label, number, options, now))
        };
        Ok(Self {
            kubernetes: begin(self.kubernetes, AuthorityKind::Kubernetes)?,
            etcd: begin(self.etcd, AuthorityKind::Etcd)?,
            front_proxy: begin(self.front_proxy, AuthorityKind::FrontProxy)?,
            service_account: self
                .service_account
                .begin(|_| new_service_account_key(options))?,
            label,
        })
    }

    /// The next phase of every part: from "trust both" the new generation signs; see [`Generations::switch`].
    #[must_use]
    pub fn switch_rotation(self) -> Self {
        Self {
            label: self.label,
            kubernetes: self.kubernetes.switch(),
            etcd: self.etcd.switch(),
            front_proxy: self.front_proxy.switch(),
            service_account: self.service_account.switch(),
        }
    }

    /// Ends the rotation: the old generation is dropped wherever the new one signs; see [`Generations::finish`].
    #[must_use]
    pub fn finish_rotation(self) -> Self {
        Self {
            label: self.label,
            kubernetes: self.kubernetes.finish(),
            etcd: self.etcd.finish(),
            front_proxy: self.front_proxy.finish(),
            service_account: self.service_account.finish(),
        }
    }
}

pub(crate) fn new_authority(
    kind: AuthorityKind,
    label: &str,
    generation: u32,
    options: PkiOptions,
    now: DateTime<Utc>,
) -> Result<Authority, Error> {
    fits_kubeadm(options.algorithm)?;
    let label = if generation == 1 {
        label.to_owned()
    } else {
        format!("{label} g{generation}")
    };
    Authority::create(kind, &label, options.algorithm, options.authority_life, now)
}

pub(crate) fn new_service_account_key(options: PkiOptions) -> Result<Arc<PrivateKey>, Error> {
    fits_kubeadm(options.algorithm)?;
    PrivateKey::generate(options.algorithm).map(Arc::new)
}

fn fits_kubeadm(algorithm: KeyAlgorithm) -> Result<(), Error> {
    if algorithm.fits_kubeadm() {
        return Ok(());
    }
    Err(Error::NotAllowed {
        reason: format!(
            "{algorithm} for a cluster's authorities: kubeadm takes RSA and ECDSA only"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    fn now() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
    }

    fn pki() -> ClusterPki {
        ClusterPki::generate("c1", PkiOptions::default(), now()).unwrap()
    }

    #[test]
    fn ck_08_authorities_have_their_own_subjects_and_keys() {
        let pki = pki();
        for a in AuthorityKind::ALL {
            for b in AuthorityKind::ALL.into_iter().filter(|b| *b != a) {
                let (one, two) = (
                    pki.authority(a).certificate(),
                    pki.authority(b).certificate(),
                );
                assert_ne!(one.common_name(), two.common_name());
                assert_ne!(one.public_key(), two.public_key());
            }
        }
        let client = Profile::KubeletClient { node: "n1".into() };
        let issued = pki
            .issue(&client, KeyAlgorithm::EcdsaP256, None, now())
            .unwrap();
        assert!(
            issued
                .certificate()
                .is_issued_by(pki.authority(AuthorityKind::Kubernetes).certificate())
        );
        assert!(
            !issued
                .certificate()
                .is_issued_by(pki.authority(AuthorityKind::FrontProxy).certificate())
        );
        let wrong =
            pki.authority(AuthorityKind::Etcd)
                .issue(&client, KeyAlgorithm::EcdsaP256, None, now());
        assert!(matches!(wrong, Err(Error::NotAllowed { .. })));
    }

    #[test]
    fn ck_07_service_account_key_is_its_own() {
        let pki = pki();
        for kind in AuthorityKind::ALL {
            let sa = pki.service_account().signing().value.public_key().clone();
            assert_ne!(&sa, pki.authority(kind).certificate().public_key());
        }
    }

    #[test]
    fn ck_09_both_generations_are_trusted_until_the_new_one_signs() {
        let kind = AuthorityKind::Kubernetes;
        let admin = Profile::Admin {
            user: "alice".into(),
        };
        let issue = |pki: &ClusterPki| {
            pki.issue(&admin, KeyAlgorithm::EcdsaP256, None, now())
                .unwrap()
        };
        let trusts = |pki: &ClusterPki, leaf: &Credential| {
            pki.generations(kind)
                .trusted()
                .any(|ca| leaf.certificate().is_issued_by(ca.certificate()))
        };
        let first = pki();
        let old = issue(&first);

        let both = first.begin_rotation(PkiOptions::default(), now()).unwrap();
        assert_eq!(both.phase(), Some(RotationPhase::TrustBoth));
        assert_eq!(
            Certificate::bundle_from_pem(&both.trust_bundle(kind))
                .unwrap()
                .len(),
            2
        );
        assert!(trusts(&both, &old) && trusts(&both, &issue(&both)));

        let reissue = both.switch_rotation();
        let new = issue(&reissue);
        assert!(trusts(&reissue, &old) && trusts(&reissue, &new));
        assert_ne!(
            old.certificate().issuer_common_name(),
            new.certificate().issuer_common_name()
        );

        let done = reissue.finish_rotation();
        assert_eq!(done.phase(), None);
        assert!(!trusts(&done, &old) && trusts(&done, &new));
        assert_eq!(
            Certificate::bundle_from_pem(&done.trust_bundle(kind))
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn authorities_of_a_kind_that_kubeadm_refuses_are_refused_here() {
        let options = PkiOptions {
            algorithm: KeyAlgorithm::Ed25519,
            ..PkiOptions::default()
        };
        assert!(matches!(
            ClusterPki::generate("c1", options, now()),
            Err(Error::NotAllowed { .. })
        ));
    }
}
