//! Private keys.

use std::fmt;

use rcgen::{PublicKeyData as _, SigningKey as _};
use secrecy::SecretString;
use zeroize::{Zeroize as _, Zeroizing};

use super::{KeyAlgorithm, PublicKey, SignatureScheme, Signer};
use crate::{Error, der, pem};

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
