//! Public keys.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::PublicKey as ParsedKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::hex;
use crate::{Error, der, pem};

/// A public key as `SubjectPublicKeyInfo`, kept byte for byte as it came.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey {
    spki: Arc<[u8]>,
}

impl PublicKey {
    /// Takes DER of a `SubjectPublicKeyInfo`: RSA of 2048 to 8192 bits, ECDSA on P-256 or P-384, Ed25519.
    ///
    /// # Errors
    /// [`Error::BadKey`] for anything else.
    pub fn from_der(spki: &[u8]) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadKey {
            reason: reason.to_owned(),
        };
        let (rest, parsed) =
            SubjectPublicKeyInfo::from_der(spki).map_err(|_| bad("not a SubjectPublicKeyInfo"))?;
        if !rest.is_empty() {
            return Err(bad("trailing data after the public key"));
        }
        strength(&parsed)?;
        Ok(Self { spki: spki.into() })
    }

    /// The key of a certificate that somebody else made: whatever it is.
    pub(crate) fn of_any_kind(spki: &[u8]) -> Self {
        Self { spki: spki.into() }
    }

    /// Reads a PEM block `PUBLIC KEY`.
    ///
    /// # Errors
    /// [`Error::BadPem`] or [`Error::BadKey`].
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode_one(&[pem::label::PUBLIC_KEY], text)?)
    }

    /// Reads the first of one or more PEM blocks `PUBLIC KEY`, as kubeadm does.
    pub(crate) fn first_from_pem(text: &str) -> Result<Self, Error> {
        let blocks = pem::decode_all(&[pem::label::PUBLIC_KEY], text)?;
        let first = blocks.first().ok_or(Error::BadPem {
            expected: pem::label::PUBLIC_KEY,
            reason: "there is no block",
        })?;
        Self::from_der(first)
    }

    /// The `SubjectPublicKeyInfo` in DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.spki
    }

    /// PEM block `PUBLIC KEY`.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode(pem::label::PUBLIC_KEY, &self.spki)
    }

    /// Key identifier by RFC 7093 method 1: the first 20 bytes of the SHA-256 of the key's bits.
    #[must_use]
    pub fn key_id(&self) -> [u8; 20] {
        let bits = SubjectPublicKeyInfo::from_der(&self.spki)
            .map(|(_, parsed)| parsed.subject_public_key.data.into_owned())
            .unwrap_or_else(|_| self.spki.to_vec());
        let hash = digest::digest(&digest::SHA256, &bits);
        let mut id = [0; 20];
        for (to, from) in id.iter_mut().zip(hash.as_ref()) {
            *to = *from;
        }
        id
    }

    /// Whether this is an RSA key (which may also encipher keys in old TLS).
    #[must_use]
    pub fn is_rsa(&self) -> bool {
        SubjectPublicKeyInfo::from_der(&self.spki)
            .ok()
            .and_then(|(_, parsed)| {
                parsed
                    .parsed()
                    .ok()
                    .map(|key| matches!(key, ParsedKey::RSA(_)))
            })
            .unwrap_or(false)
    }

    /// Whether this is an Ed25519 key.
    #[must_use]
    pub fn is_ed25519(&self) -> bool {
        self.spki.get(4..9) == Some(&[0x06, 0x03, 0x2b, 0x65, 0x70])
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", hex(&self.key_id()))
    }
}

fn strength(spki: &SubjectPublicKeyInfo<'_>) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::BadKey { reason });
    match spki.parsed() {
        Ok(ParsedKey::RSA(rsa)) => {
            let bits = rsa.modulus.iter().skip_while(|byte| **byte == 0).count() * 8;
            if !(2048..=8192).contains(&bits) {
                return refuse(format!("RSA with {bits} bits; 2048 to 8192 are accepted"));
            }
            match rsa.try_exponent() {
                Ok(exponent) if exponent >= 65_537 && exponent % 2 == 1 => Ok(()),
                _ => refuse("RSA with an unusual public exponent".to_owned()),
            }
        }
        Ok(ParsedKey::EC(point)) => {
            let curve = spki.algorithm.parameters.as_ref().map(|any| any.data);
            let size = match curve {
                Some(der::oid::CURVE_P256) => 65,
                Some(der::oid::CURVE_P384) => 97,
                _ => return refuse("elliptic curve other than P-256 and P-384".to_owned()),
            };
            match point.data() {
                [4, ..] if point.data().len() == size => Ok(()),
                _ => refuse("elliptic curve point that is not in uncompressed form".to_owned()),
            }
        }
        _ if spki.algorithm.algorithm.as_bytes() == der::oid::ED25519
            && spki.subject_public_key.data.len() == 32 =>
        {
            Ok(())
        }
        _ => refuse("of an unsupported type".to_owned()),
    }
}
