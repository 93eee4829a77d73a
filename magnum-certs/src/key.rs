//! Key pairs: generation, PEM, signing.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use rcgen::{PublicKeyData as _, SigningKey as _};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::PublicKey as ParsedKey;
use x509_parser::x509::SubjectPublicKeyInfo;
use zeroize::{Zeroize as _, Zeroizing};

use crate::{Error, der, pem};

/// Key types that this crate generates.
///
/// ECDSA P-256 is the default: a whole cluster's keys in about a millisecond, and small enough that a control
/// plane's secrets stay far below Nova's limit for user-data. RSA takes from a third of a second (2048) to
/// several seconds (4096) of CPU: generate it on a blocking thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum KeyAlgorithm {
    /// ECDSA on NIST P-256, signing with SHA-256.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// ECDSA on NIST P-384, signing with SHA-384.
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    /// RSA with 2048 bits, signing with SHA-256.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA with 3072 bits, signing with SHA-256.
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    /// RSA with 4096 bits, signing with SHA-256.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
    /// Ed25519. Good for users' certificates; kubeadm takes neither an authority nor a service-account key of this kind.
    #[serde(rename = "ed25519")]
    Ed25519,
}

impl KeyAlgorithm {
    /// Every algorithm, for tests and forms.
    pub const ALL: [Self; 6] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
        Self::Ed25519,
    ];

    /// Whether kubeadm accepts an authority or a service-account key of this kind ("neither in RSA nor ECDSA format" otherwise).
    #[must_use]
    pub const fn fits_kubeadm(self) -> bool {
        !matches!(self, Self::Ed25519)
    }

    /// Whether generating such a key takes long enough to block an async thread.
    #[must_use]
    pub const fn is_slow(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }

    /// The name used in configuration: `ecdsa-p256`, `rsa-2048`, ...
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
            Self::Ed25519 => "ed25519",
        }
    }
}

impl fmt::Display for KeyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a signature over a certificate is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureScheme {
    /// ECDSA with SHA-256, ASN.1 signature.
    EcdsaSha256,
    /// ECDSA with SHA-384, ASN.1 signature.
    EcdsaSha384,
    /// RSA PKCS#1 v1.5 with SHA-256.
    RsaSha256,
    /// Ed25519.
    Ed25519,
}

impl SignatureScheme {
    /// The `AlgorithmIdentifier` in DER.
    pub(crate) fn identifier(self) -> Vec<u8> {
        match self {
            Self::EcdsaSha256 => der::sequence(&[&der::oid(der::oid::ECDSA_SHA256)]),
            Self::EcdsaSha384 => der::sequence(&[&der::oid(der::oid::ECDSA_SHA384)]),
            Self::RsaSha256 => der::sequence(&[&der::oid(der::oid::RSA_SHA256), &[5, 0]]),
            Self::Ed25519 => der::sequence(&[&der::oid(der::oid::ED25519)]),
        }
    }
}

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

/// Lower-case hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

/// A private key. `Debug` shows the public half's identifier only; memory is wiped on drop.
pub struct PrivateKey {
    inner: rcgen::KeyPair,
    public: PublicKey,
}

impl PrivateKey {
    /// Generates a key. RSA is slow: see [`KeyAlgorithm::is_slow`].
    ///
    /// # Errors
    /// [`Error::Crypto`] when the provider fails.
    pub fn generate(algorithm: KeyAlgorithm) -> Result<Self, Error> {
        let rsa = |size| rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
        let inner = match algorithm {
            KeyAlgorithm::EcdsaP256 => rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            KeyAlgorithm::EcdsaP384 => rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            KeyAlgorithm::Rsa2048 => rsa(rcgen::RsaKeySize::_2048),
            KeyAlgorithm::Rsa3072 => rsa(rcgen::RsaKeySize::_3072),
            KeyAlgorithm::Rsa4096 => rsa(rcgen::RsaKeySize::_4096),
            KeyAlgorithm::Ed25519 => return Self::generate_ed25519(),
        }
        .map_err(|_| Error::Crypto {
            operation: "generate a key",
        })?;
        Self::from_inner(inner)
    }

    /// Ed25519 in PKCS#8 version 1: OpenSSL 3.0 does not read version 2, which the provider writes by default.
    fn generate_ed25519() -> Result<Self, Error> {
        let failed = Error::Crypto {
            operation: "generate an Ed25519 key",
        };
        let Ok(key) = aws_lc_rs::signature::Ed25519KeyPair::generate() else {
            return Err(failed);
        };
        let Ok(document) = key.to_pkcs8v1() else {
            return Err(failed);
        };
        Self::from_pkcs8(document.as_ref())
    }

    fn from_pkcs8(bytes: &[u8]) -> Result<Self, Error> {
        // The provider's own error text may describe the key's structure; it is left out on purpose.
        let inner = rcgen::KeyPair::try_from(bytes).map_err(|_| Error::BadKey {
            reason: "not a private key".to_owned(),
        })?;
        Self::from_inner(inner)
    }

    fn from_inner(inner: rcgen::KeyPair) -> Result<Self, Error> {
        let public = PublicKey::from_der(&inner.subject_public_key_info())?;
        Ok(Self { inner, public })
    }

    /// Reads PKCS#8 (`PRIVATE KEY`), PKCS#1 (`RSA PRIVATE KEY`) or SEC1 (`EC PRIVATE KEY`), unencrypted.
    ///
    /// # Errors
    /// [`Error::BadPem`] or [`Error::BadKey`].
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        const LABELS: &[&str] = &[
            pem::label::PRIVATE_KEY,
            pem::label::RSA_PRIVATE_KEY,
            pem::label::EC_PRIVATE_KEY,
        ];
        Self::from_pkcs8(&pem::decode_one(LABELS, text)?)
    }

    /// PEM block with PKCS#8, PKCS#1 or SEC1 as it was read; generated keys are PKCS#8.
    #[must_use]
    pub fn to_pem(&self) -> SecretString {
        let der = Zeroizing::new(self.inner.serialize_der());
        let label = match key_form(&der) {
            KeyForm::Pkcs8 => pem::label::PRIVATE_KEY,
            KeyForm::Pkcs1 => pem::label::RSA_PRIVATE_KEY,
            KeyForm::Sec1 => pem::label::EC_PRIVATE_KEY,
        };
        SecretString::from(pem::encode(label, &der))
    }

    /// The public half.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }
}

enum KeyForm {
    Pkcs8,
    Pkcs1,
    Sec1,
}

/// Tells the three forms apart: after the version comes a SEQUENCE (PKCS#8), an INTEGER (PKCS#1) or an OCTET STRING (SEC1).
fn key_form(der: &[u8]) -> KeyForm {
    let header = match der.get(1) {
        Some(length) if length & 0x80 != 0 => 2 + usize::from(length & 0x7f),
        _ => 2,
    };
    match der.get(header + 3) {
        Some(&der::tag::INTEGER) => KeyForm::Pkcs1,
        Some(&der::tag::OCTET_STRING) => KeyForm::Sec1,
        _ => KeyForm::Pkcs8,
    }
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        self.inner.zeroize();
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.public).finish()
    }
}

/// Something that signs with an authority's key: a key in memory, or a remote one (KMS, HSM, Vault).
///
/// Calls may block; the async doors of this crate make them on a blocking thread.
pub trait Signer: fmt::Debug + Send + Sync {
    /// The key that verifies the signatures.
    fn public_key(&self) -> &PublicKey;

    /// How signatures are made.
    fn scheme(&self) -> SignatureScheme;

    /// Signs `message` (hashing included).
    ///
    /// # Errors
    /// [`Error::Crypto`] when the key cannot be used now.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error>;
}

impl Signer for PrivateKey {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn scheme(&self) -> SignatureScheme {
        let algorithm = self.inner.algorithm();
        if algorithm == &rcgen::PKCS_ED25519 {
            SignatureScheme::Ed25519
        } else if algorithm == &rcgen::PKCS_ECDSA_P384_SHA384 {
            SignatureScheme::EcdsaSha384
        } else if algorithm == &rcgen::PKCS_ECDSA_P256_SHA256 {
            SignatureScheme::EcdsaSha256
        } else {
            SignatureScheme::RsaSha256
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.inner
            .sign(message)
            .map_err(|_| Error::Crypto { operation: "sign" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    #[test]
    fn keys_survive_pem() {
        for algorithm in [
            KeyAlgorithm::EcdsaP256,
            KeyAlgorithm::EcdsaP384,
            KeyAlgorithm::Rsa2048,
            KeyAlgorithm::Ed25519,
        ] {
            let key = PrivateKey::generate(algorithm).unwrap();
            let text = key.to_pem();
            assert!(
                text.expose_secret()
                    .starts_with("-----BEGIN PRIVATE KEY-----\n"),
                "{algorithm}"
            );
            let again = PrivateKey::from_pem(text.expose_secret()).unwrap();
            assert_eq!(again.public_key(), key.public_key(), "{algorithm}");
            let public = PublicKey::from_pem(&key.public_key().to_pem()).unwrap();
            assert_eq!(&public, key.public_key());
            assert_eq!(public.is_ed25519(), algorithm == KeyAlgorithm::Ed25519);
            assert_eq!(public.is_rsa(), algorithm.is_slow());
        }
    }

    #[test]
    fn ms_04_debug_of_a_key_shows_no_secret() {
        let key = PrivateKey::generate(KeyAlgorithm::EcdsaP256).unwrap();
        let shown = format!("{key:?}");
        let pem = key.to_pem();
        for line in pem
            .expose_secret()
            .lines()
            .filter(|line| !line.starts_with('-'))
        {
            assert!(!shown.contains(line));
        }
        assert!(shown.len() < 100, "{shown}");
    }

    #[test]
    fn garbage_is_a_typed_error() {
        assert!(matches!(
            PrivateKey::from_pem("nonsense"),
            Err(Error::BadPem { .. })
        ));
        let text = pem::encode(pem::label::PRIVATE_KEY, b"nonsense");
        assert!(matches!(
            PrivateKey::from_pem(&text),
            Err(Error::BadKey { .. })
        ));
        assert!(matches!(
            PublicKey::from_der(b"nonsense"),
            Err(Error::BadKey { .. })
        ));
    }
}
