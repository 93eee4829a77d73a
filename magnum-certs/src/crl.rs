//! Certificate revocation lists, for components that take one.
//!
//! The Kubernetes API server takes none: there, short lives, RBAC and rotation do the work. etcd (`--client-crl-file`) and proxies do.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::authority::delta;
use crate::{Authority, Certificate, Error, der, pem, tbs};

/// Why a certificate was revoked (RFC 5280, 5.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RevocationReason {
    /// No reason given.
    #[default]
    Unspecified,
    /// The private key is in wrong hands.
    KeyCompromise,
    /// The holder's rights have changed.
    PrivilegeWithdrawn,
    /// Another certificate took its place.
    Superseded,
    /// It is no longer needed.
    CessationOfOperation,
}

impl RevocationReason {
    const fn code(self) -> Option<u8> {
        match self {
            // Must be left out rather than written as 0.
            Self::Unspecified => None,
            Self::KeyCompromise => Some(1),
            Self::Superseded => Some(4),
            Self::CessationOfOperation => Some(5),
            Self::PrivilegeWithdrawn => Some(9),
        }
    }
}

/// A revoked certificate.
#[derive(Debug, Clone)]
pub struct Revocation {
    serial: Vec<u8>,
    at: DateTime<Utc>,
    reason: RevocationReason,
}

impl Revocation {
    /// Revokes a certificate.
    #[must_use]
    pub fn of(certificate: &Certificate, reason: RevocationReason, at: DateTime<Utc>) -> Self {
        Self {
            serial: certificate.serial_bytes().to_vec(),
            at,
            reason,
        }
    }

    /// Revokes by serial number in hexadecimal, as an inventory has it.
    ///
    /// # Errors
    /// [`Error::BadName`] when it is no hexadecimal number of at most 20 bytes.
    pub fn of_serial(
        serial: &str,
        reason: RevocationReason,
        at: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let bad = || Error::BadName {
            name: serial.chars().take(80).collect(),
            reason: "a serial number has 1 to 40 hexadecimal digits",
        };
        if serial.is_empty()
            || serial.len() > 40
            || !serial.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Err(bad());
        }
        let even = if serial.len().is_multiple_of(2) {
            serial.to_owned()
        } else {
            format!("0{serial}")
        };
        let bytes = (0..even.len())
            .step_by(2)
            .map(|at| {
                even.get(at..at + 2)
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                    .ok_or_else(bad)
            })
            .collect::<Result<Vec<u8>, Error>>()?;
        Ok(Self {
            serial: bytes,
            at,
            reason,
        })
    }
}

impl Authority {
    /// Signs a revocation list (PEM block `X509 CRL`) with everything that is revoked, valid from `now` for `life`. `number` grows with every list.
    ///
    /// # Errors
    /// [`Error::Crypto`] when the authority's key cannot be used.
    pub fn revocation_list(
        &self,
        revoked: &[Revocation],
        number: u64,
        life: Duration,
        now: DateTime<Utc>,
    ) -> Result<String, Error> {
        let algorithm = self.signer().scheme().identifier();
        let entries: Vec<Vec<u8>> = revoked.iter().map(entry).collect();
        let entries = entries.concat();
        // An empty list is left out (RFC 5280, 5.1.2.6).
        let entries = if entries.is_empty() {
            entries
        } else {
            der::sequence(&[&entries])
        };
        let key_id = self.certificate().subject_key_id().unwrap_or_default();
        let extensions = [
            tbs::authority_key_id(key_id),
            der::extension(
                der::oid::CRL_NUMBER,
                false,
                &der::unsigned(&number.to_be_bytes()),
            ),
        ]
        .concat();
        let content = der::sequence(&[
            &der::unsigned(&[1]),
            &algorithm,
            self.certificate().subject_der(),
            &der::time(now),
            &der::time(now + delta(life)),
            &entries,
            &der::tlv(0xa0, &der::sequence(&[&extensions])),
        ]);
        let list = tbs::sealed(&content, &algorithm, self.signer())?;
        Ok(pem::encode(pem::label::CRL, &list))
    }
}

fn entry(revocation: &Revocation) -> Vec<u8> {
    let (serial, at) = (der::unsigned(&revocation.serial), der::time(revocation.at));
    match revocation.reason.code() {
        None => der::sequence(&[&serial, &at]),
        Some(code) => {
            let reason = der::extension(
                der::oid::CRL_REASON,
                false,
                &der::tlv(der::tag::ENUMERATED, &[code]),
            );
            der::sequence(&[&serial, &at, &der::sequence(&[&reason])])
        }
    }
}
