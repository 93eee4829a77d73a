//! Certificate authorities, and what they sign.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;

use crate::certificate::Certificate;
use crate::csr::Csr;
use crate::profile::{Grant, Profile};
use crate::tbs::{self, Tbs, Usage};
use crate::{AltNames, AuthorityKind, Error, KeyAlgorithm, PrivateKey, PublicKey, Signer, Subject};

/// Life of a new authority unless told otherwise: 3650 days.
pub const AUTHORITY_LIFE: Duration = Duration::from_secs(3650 * 24 * 3600);

/// How far an authority's `notBefore` lies in the past. kubeadm copies it into the leaves that it makes,
/// so an hour takes care of nodes whose clock is behind.
pub const AUTHORITY_BACKDATE: Duration = Duration::from_secs(3600);

/// How far a leaf's `notBefore` lies in the past (never before its authority's).
pub const LEAF_BACKDATE: Duration = Duration::from_secs(5 * 60);

/// A certificate with its private key.
#[derive(Debug)]
pub struct Credential {
    certificate: Certificate,
    key: PrivateKey,
}

impl Credential {
    /// Pairs a certificate with its key.
    ///
    /// # Errors
    /// [`Error::BadKey`] when they do not belong together.
    pub fn new(certificate: Certificate, key: PrivateKey) -> Result<Self, Error> {
        if certificate.public_key() != key.public_key() {
            return Err(Error::BadKey {
                reason: "the key does not belong to the certificate".to_owned(),
            });
        }
        Ok(Self { certificate, key })
    }

    /// The certificate.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The private key.
    #[must_use]
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// The private key as PEM.
    #[must_use]
    pub fn key_pem(&self) -> SecretString {
        self.key.to_pem()
    }
}

/// A certificate authority: a certificate and whatever signs with its key. Cheap to clone.
#[derive(Clone)]
pub struct Authority {
    kind: AuthorityKind,
    certificate: Certificate,
    signer: Arc<dyn Signer>,
    key: Option<Arc<PrivateKey>>,
}

impl Authority {
    /// Makes a new self-signed authority with a fresh key; subject `CN=<kind>-ca <label>`.
    ///
    /// `label` tells clusters and generations apart, for example the cluster's id: authorities with different keys must have
    /// different subjects, or chain building becomes a guess. `life` counts from `now`; the start is [`AUTHORITY_BACKDATE`] earlier.
    /// Slow for RSA: call it on a blocking thread then.
    ///
    /// # Errors
    /// [`Error::Crypto`], [`Error::BadName`] for a bad label.
    pub fn create(
        kind: AuthorityKind,
        label: &str,
        algorithm: KeyAlgorithm,
        life: Duration,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let subject = Subject::new(&format!("{kind}-ca {label}"), Vec::<String>::new())?;
        let key = PrivateKey::generate(algorithm)?;
        let name = subject.to_der();
        let certificate = tbs::sign(
            &Tbs {
                issuer: &name,
                authority_key_id: None,
                subject: &name,
                public_key: key.public_key(),
                names: &AltNames::new(),
                usage: Usage::Authority,
                not_before: now - delta(AUTHORITY_BACKDATE),
                not_after: now + delta(life),
            },
            &key,
        )?;
        Self::from_key(kind, certificate, key)
    }

    /// An authority made elsewhere: certificate and private key as PEM, one block each.
    ///
    /// # Errors
    /// [`Error::BadPem`], [`Error::BadCertificate`] when the certificate is no authority, [`Error::BadKey`] when the key is not its key.
    pub fn from_pem(kind: AuthorityKind, certificate: &str, key: &str) -> Result<Self, Error> {
        Self::from_key(
            kind,
            Certificate::from_pem(certificate)?,
            PrivateKey::from_pem(key)?,
        )
    }

    fn from_key(
        kind: AuthorityKind,
        certificate: Certificate,
        key: PrivateKey,
    ) -> Result<Self, Error> {
        let key = Arc::new(key);
        let signer: Arc<dyn Signer> = Arc::clone(&key) as Arc<dyn Signer>;
        Ok(Self {
            key: Some(key),
            ..Self::with_signer(kind, certificate, signer)?
        })
    }

    /// An authority whose key lives elsewhere, behind a [`Signer`]. It signs, and it cannot be put into a PKI bundle.
    ///
    /// # Errors
    /// [`Error::BadCertificate`] when the certificate is no authority or lacks a subject key identifier,
    /// [`Error::BadKey`] when the signer's key is not the certificate's.
    pub fn with_signer(
        kind: AuthorityKind,
        certificate: Certificate,
        signer: Arc<dyn Signer>,
    ) -> Result<Self, Error> {
        let bad = |reason: &str| {
            Err(Error::BadCertificate {
                reason: format!("{kind} authority: {reason}"),
            })
        };
        if !certificate.is_authority() {
            return bad("it is no certificate authority (CA:TRUE with keyCertSign)");
        }
        if certificate.subject_key_id().is_none() {
            return bad(
                "it has no subject key identifier, so strict clients would refuse what it signs",
            );
        }
        PublicKey::from_der(certificate.public_key().der())?;
        if certificate.public_key() != signer.public_key() {
            return Err(Error::BadKey {
                reason: format!("the key does not belong to the {kind} authority"),
            });
        }
        Ok(Self {
            kind,
            certificate,
            signer,
            key: None,
        })
    }

    /// Which of the cluster's authorities this is.
    #[must_use]
    pub fn kind(&self) -> AuthorityKind {
        self.kind
    }

    /// Its certificate.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Its private key as PEM; `None` when the key lives elsewhere.
    #[must_use]
    pub fn key_pem(&self) -> Option<SecretString> {
        self.key.as_ref().map(|key| key.to_pem())
    }

    pub(crate) fn signer(&self) -> &dyn Signer {
        self.signer.as_ref()
    }

    /// Issues a certificate for a fresh key.
    ///
    /// `life` counts from `now`; `None` is the profile's default. It is cut to the profile's longest life, and a leaf never
    /// outlives its authority. Slow for RSA.
    ///
    /// # Errors
    /// [`Error::NotAllowed`] when the profile belongs to another authority or claims a reserved identity, [`Error::BadName`],
    /// [`Error::AuthorityNotValid`], [`Error::Crypto`].
    pub fn issue(
        &self,
        profile: &Profile,
        algorithm: KeyAlgorithm,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Credential, Error> {
        let grant = self.check(profile, now)?;
        let key = PrivateKey::generate(algorithm)?;
        let certificate = self.certify(&grant, &grant.names, key.public_key(), life, now)?;
        Ok(Credential { certificate, key })
    }

    /// Signs a request under a profile.
    ///
    /// Taken from the request: its public key, byte for byte; and, where the profile has names, those that it asks for (all of the
    /// profile's when it asks for none). A request that asks for more (another user, another group, another name) is refused, not trimmed.
    /// Everything else is the profile's. Life as in [`Authority::issue`].
    ///
    /// # Errors
    /// As [`Authority::issue`]; [`Error::NotAllowed`] names what was asked beyond the profile.
    pub fn sign_csr(
        &self,
        csr: &Csr,
        profile: &Profile,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Certificate, Error> {
        let grant = self.check(profile, now)?;
        let refuse = |what: &str, asked: &str| {
            Err(Error::NotAllowed {
                reason: format!(
                    "{what} {asked:?} in a request for profile {:?}",
                    profile.name()
                ),
            })
        };
        if let Some(name) = csr.common_name()
            && name != grant.subject.common_name()
        {
            return refuse("common name", name);
        }
        if let Some(group) = csr
            .organizations()
            .iter()
            .find(|group| !grant.subject.organizations().contains(group))
        {
            return refuse("organization", group);
        }
        if let Some(name) = csr.names().beyond(&grant.names).first() {
            return refuse("name", name);
        }
        let names = if csr.names().is_empty() {
            &grant.names
        } else {
            csr.names()
        };
        self.certify(&grant, names, csr.public_key(), life, now)
    }

    fn check(&self, profile: &Profile, now: DateTime<Utc>) -> Result<Grant, Error> {
        let grant = profile.grant()?;
        if grant.authority != self.kind {
            return Err(Error::NotAllowed {
                reason: format!(
                    "profile {:?} belongs to the {} authority, not to {}",
                    profile.name(),
                    grant.authority,
                    self.kind
                ),
            });
        }
        if self.certificate.is_valid_at(now) {
            return Ok(grant);
        }
        Err(Error::AuthorityNotValid {
            authority: self.certificate.common_name().to_owned(),
            not_before: self.certificate.not_before(),
            not_after: self.certificate.not_after(),
            now,
        })
    }

    fn certify(
        &self,
        grant: &Grant,
        names: &AltNames,
        public_key: &PublicKey,
        life: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<Certificate, Error> {
        let life = life.unwrap_or(grant.default_life).min(grant.longest_life);
        tbs::sign(
            &Tbs {
                issuer: self.certificate.subject_der(),
                authority_key_id: self.certificate.subject_key_id(),
                subject: &grant.subject.to_der(),
                public_key,
                names,
                usage: Usage::Leaf {
                    server: grant.server,
                    client: grant.client,
                },
                not_before: (now - delta(LEAF_BACKDATE)).max(self.certificate.not_before()),
                not_after: (now + delta(life)).min(self.certificate.not_after()),
            },
            self.signer(),
        )
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("kind", &self.kind)
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// A duration as a time difference; beyond a thousand years it is a thousand years.
pub(crate) fn delta(duration: Duration) -> TimeDelta {
    const MOST: i64 = 1000 * 365 * 24 * 3600;
    TimeDelta::seconds(i64::try_from(duration.as_secs()).unwrap_or(MOST).min(MOST))
}
