//! A parsed X.509 certificate.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::digest;
use chrono::{DateTime, TimeDelta, Utc};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Name};

use crate::key::hex;
use crate::{AltNames, Error, PublicKey, pem};

/// An X.509 certificate: its bytes, and what this crate reads from them. Cheap to clone.
#[derive(Clone)]
pub struct Certificate {
    inner: Arc<Parsed>,
}

struct Parsed {
    der: Vec<u8>,
    serial: Vec<u8>,
    subject_der: Vec<u8>,
    issuer_der: Vec<u8>,
    common_name: String,
    organizations: Vec<String>,
    issuer_common_name: String,
    not_before: DateTime<Utc>,
    not_after: DateTime<Utc>,
    names: AltNames,
    public_key: PublicKey,
    is_authority: bool,
    signs_certificates: bool,
    server_auth: bool,
    client_auth: bool,
    subject_key_id: Option<Vec<u8>>,
    authority_key_id: Option<Vec<u8>>,
}

impl Certificate {
    /// Parses one certificate in DER.
    ///
    /// # Errors
    /// [`Error::BadCertificate`].
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadCertificate {
            reason: reason.to_owned(),
        };
        let (rest, parsed) = X509Certificate::from_der(der).map_err(|_| bad("not X.509"))?;
        if !rest.is_empty() {
            return Err(bad("trailing data"));
        }
        let instant = |seconds| {
            DateTime::from_timestamp(seconds, 0).ok_or_else(|| bad("validity out of range"))
        };
        let mut inner = Parsed {
            der: der.to_vec(),
            serial: parsed
                .raw_serial()
                .iter()
                .copied()
                .skip_while(|byte| *byte == 0)
                .collect(),
            subject_der: parsed.subject().as_raw().to_vec(),
            issuer_der: parsed.issuer().as_raw().to_vec(),
            common_name: attributes(parsed.subject(), false)
                .into_iter()
                .next()
                .unwrap_or_default(),
            organizations: attributes(parsed.subject(), true),
            issuer_common_name: attributes(parsed.issuer(), false)
                .into_iter()
                .next()
                .unwrap_or_default(),
            not_before: instant(parsed.validity().not_before.timestamp())?,
            not_after: instant(parsed.validity().not_after.timestamp())?,
            names: AltNames::new(),
            public_key: PublicKey::of_any_kind(parsed.public_key().raw),
            is_authority: parsed.is_ca(),
            // Without the extension every use is open (RFC 5280, 4.2.1.3).
            signs_certificates: true,
            server_auth: false,
            client_auth: false,
            subject_key_id: None,
            authority_key_id: None,
        };
        for extension in parsed.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(names) => {
                    inner.names = alt_names(&names.general_names, false)?;
                }
                ParsedExtension::KeyUsage(usage) => {
                    inner.signs_certificates = usage.key_cert_sign();
                }
                ParsedExtension::ExtendedKeyUsage(usage) => {
                    inner.server_auth = usage.server_auth;
                    inner.client_auth = usage.client_auth;
                }
                ParsedExtension::SubjectKeyIdentifier(id) => {
                    inner.subject_key_id = Some(id.0.to_vec());
                }
                ParsedExtension::AuthorityKeyIdentifier(id) => {
                    inner.authority_key_id = id.key_identifier.as_ref().map(|id| id.0.to_vec());
                }
                ParsedExtension::ParseError { .. } => {
                    return Err(bad("an extension cannot be read"));
                }
                _ => {}
            }
        }
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Parses exactly one PEM block `CERTIFICATE`.
    ///
    /// # Errors
    /// [`Error::BadPem`] or [`Error::BadCertificate`].
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode_one(&[pem::label::CERTIFICATE], text)?)
    }

    /// Parses a bundle: one or more PEM blocks `CERTIFICATE`; comments and other blocks are skipped, as TLS libraries do.
    ///
    /// # Errors
    /// As [`Certificate::from_pem`]; an empty bundle is [`Error::BadPem`].
    pub fn bundle_from_pem(text: &str) -> Result<Vec<Self>, Error> {
        let blocks = pem::decode_among(&[pem::label::CERTIFICATE], text)?;
        if blocks.is_empty() {
            return Err(Error::BadPem {
                expected: pem::label::CERTIFICATE,
                reason: "there is no block",
            });
        }
        blocks.iter().map(|block| Self::from_der(block)).collect()
    }

    /// The certificate in DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.inner.der
    }

    /// PEM block `CERTIFICATE`.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode(pem::label::CERTIFICATE, &self.inner.der)
    }

    /// Serial number in lower-case hexadecimal, without leading zeros.
    #[must_use]
    pub fn serial(&self) -> String {
        hex(&self.inner.serial)
    }

    pub(crate) fn serial_bytes(&self) -> &[u8] {
        &self.inner.serial
    }

    /// SHA-256 over the DER, in lower-case hexadecimal.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex(digest::digest(&digest::SHA256, &self.inner.der).as_ref())
    }

    /// Common name of the subject (the user, for Kubernetes); empty when there is none.
    #[must_use]
    pub fn common_name(&self) -> &str {
        &self.inner.common_name
    }

    /// Organizations of the subject (the groups, for Kubernetes).
    #[must_use]
    pub fn organizations(&self) -> &[String] {
        &self.inner.organizations
    }

    /// Common name of the issuer.
    #[must_use]
    pub fn issuer_common_name(&self) -> &str {
        &self.inner.issuer_common_name
    }

    /// Start of validity.
    #[must_use]
    pub fn not_before(&self) -> DateTime<Utc> {
        self.inner.not_before
    }

    /// End of validity.
    #[must_use]
    pub fn not_after(&self) -> DateTime<Utc> {
        self.inner.not_after
    }

    /// What is left of the validity at `now`; negative when it is over.
    #[must_use]
    pub fn remaining(&self, now: DateTime<Utc>) -> TimeDelta {
        self.inner.not_after - now
    }

    /// Whether `now` lies in the validity.
    #[must_use]
    pub fn is_valid_at(&self, now: DateTime<Utc>) -> bool {
        self.inner.not_before <= now && now <= self.inner.not_after
    }

    /// When it should be renewed: after two thirds of its life, so that a third is left for trying again.
    #[must_use]
    pub fn renew_at(&self) -> DateTime<Utc> {
        self.inner.not_before + (self.inner.not_after - self.inner.not_before) * 2 / 3
    }

    /// Subject alternative names (DNS names and addresses).
    #[must_use]
    pub fn names(&self) -> &AltNames {
        &self.inner.names
    }

    /// The certified key; of any kind, since certificates made elsewhere are read as well.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.inner.public_key
    }

    /// Whether it may issue certificates: `CA:TRUE`, and keyCertSign unless there is no keyUsage.
    #[must_use]
    pub fn is_authority(&self) -> bool {
        self.inner.is_authority && self.inner.signs_certificates
    }

    /// Whether it is for TLS servers.
    #[must_use]
    pub fn for_servers(&self) -> bool {
        self.inner.server_auth
    }

    /// Whether it is for TLS clients.
    #[must_use]
    pub fn for_clients(&self) -> bool {
        self.inner.client_auth
    }

    /// Subject key identifier.
    #[must_use]
    pub fn subject_key_id(&self) -> Option<&[u8]> {
        self.inner.subject_key_id.as_deref()
    }

    /// Authority key identifier.
    #[must_use]
    pub fn authority_key_id(&self) -> Option<&[u8]> {
        self.inner.authority_key_id.as_deref()
    }

    pub(crate) fn subject_der(&self) -> &[u8] {
        &self.inner.subject_der
    }

    /// Whether `authority` issued this certificate: names match and the signature verifies. Validity is not looked at.
    #[must_use]
    pub fn is_issued_by(&self, authority: &Certificate) -> bool {
        if self.inner.issuer_der != authority.inner.subject_der || !authority.is_authority() {
            return false;
        }
        match (
            X509Certificate::from_der(self.der()),
            X509Certificate::from_der(authority.der()),
        ) {
            (Ok((_, leaf)), Ok((_, issuer))) => {
                leaf.verify_signature(Some(issuer.public_key())).is_ok()
            }
            _ => false,
        }
    }
}

impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        self.inner.der == other.inner.der
    }
}

impl Eq for Certificate {}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("common_name", &self.inner.common_name)
            .field("organizations", &self.inner.organizations)
            .field("serial", &self.serial())
            .field("not_after", &self.inner.not_after)
            .finish()
    }
}

/// Values of the common name, or of the organizations.
pub(crate) fn attributes(name: &X509Name<'_>, organizations: bool) -> Vec<String> {
    let wanted = if organizations {
        OID_X509_ORGANIZATION_NAME
    } else {
        OID_X509_COMMON_NAME
    };
    name.iter_by_oid(&wanted)
        .filter_map(|attribute| attribute.as_str().ok())
        .map(str::to_owned)
        .collect()
}

/// DNS names and addresses. Other kinds are skipped, or refused when `strict`.
pub(crate) fn alt_names(list: &[GeneralName<'_>], strict: bool) -> Result<AltNames, Error> {
    let mut names = AltNames::new();
    for name in list {
        names = match name {
            GeneralName::DNSName(dns) => match names.clone().with(dns) {
                Ok(more) => more,
                Err(error) if strict => return Err(error),
                Err(_) => names,
            },
            GeneralName::IPAddress(octets) => match address(octets) {
                Some(address) => names.with_ip(address),
                None if strict => {
                    return Err(Error::BadName {
                        name: hex(octets),
                        reason: "an address has 4 or 16 octets",
                    });
                }
                None => names,
            },
            _ if strict => {
                return Err(Error::BadName {
                    name: "subjectAltName".to_owned(),
                    reason: "only DNS names and addresses are accepted",
                });
            }
            _ => names,
        };
    }
    Ok(names)
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(octets)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
        .ok()
}
