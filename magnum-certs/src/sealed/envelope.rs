//! Sealed values: AES-256-GCM-SIV under a random data key each, which is wrapped by a key-encryption key.
//!
//! ```text
//! "MGS1" | key id length (1) | key id | wrapped length (2) | wrapped data key | nonce (12) | ciphertext and tag
//! ```
//!
//! The associated data is `"MGS1" | cluster (16) | purpose`: bytes moved to another cluster or purpose, or taken for those of
//! another version of the format, do not open. The wrapped key is left out of it so that a new key-encryption key needs no new
//! encryption of the values.

use async_trait::async_trait;
use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use magnum_core::{SealContext, SealError, Sealer, Secret};
use zeroize::Zeroizing;

use super::sealing_key::{SealingKey, random_key};
use super::wrapper::{KeyWrapper, WrapError, WrappedKey};
use crate::Error;

const MAGIC: &[u8; 4] = b"MGS1";

/// The standard [`Sealer`]: an envelope around every value.
#[derive(Debug)]
pub struct Envelope<W = SealingKey> {
    wrapper: W,
}

impl<W: KeyWrapper> Envelope<W> {
    /// Seals with data keys that `wrapper` wraps.
    pub const fn new(wrapper: W) -> Self {
        Self { wrapper }
    }

    /// The key wrapper.
    pub const fn wrapper(&self) -> &W {
        &self.wrapper
    }

    /// Whether a sealed value's data key is wrapped by an older key-encryption key.
    ///
    /// # Errors
    /// [`Error::Unsealable`] when the bytes are not sealed ones.
    pub fn needs_rewrap(&self, sealed: &[u8]) -> Result<bool, Error> {
        Ok(Parts::read(sealed)?.wrapped.key_id != self.wrapper.current_key_id())
    }

    /// Wraps a sealed value's data key under the current key-encryption key; the value itself is not decrypted.
    /// `None` when that is the case already.
    ///
    /// # Errors
    /// [`Error::Unsealable`] when the bytes are not sealed ones or the old key-encryption key is gone, [`Error::Crypto`] when the key service fails.
    pub async fn rewrap(&self, sealed: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if !self.needs_rewrap(sealed)? {
            return Ok(None);
        }
        let parts = Parts::read(sealed)?;
        let failed = |error| match error {
            WrapError::UnknownKey(_) => Error::Unsealable {
                reason: "its key-encryption key is not known",
            },
            WrapError::Damaged => Error::Unsealable {
                reason: "its data key does not open",
            },
            WrapError::Unavailable(_) => Error::Crypto {
                operation: "reach the key service",
            },
        };
        let data_key = self.wrapper.unwrap(&parts.wrapped).await.map_err(failed)?;
        let wrapped = self.wrapper.wrap(&data_key).await.map_err(failed)?;
        Ok(Some(write(&wrapped, parts.nonce, parts.ciphertext)?))
    }
}

#[async_trait]
impl<W: KeyWrapper> Sealer for Envelope<W> {
    async fn seal(&self, context: &SealContext, plain: &Secret) -> Result<Vec<u8>, SealError> {
        let unavailable = |reason: String| SealError::KeyUnavailable { reason };
        let data_key = random_key().map_err(|error| unavailable(error.to_string()))?;
        let wrapped = self
            .wrapper
            .wrap(&data_key)
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        encrypt(&data_key, &wrapped, context, plain).map_err(|error| unavailable(error.to_string()))
    }

    async fn open(&self, context: &SealContext, sealed: &[u8]) -> Result<Secret, SealError> {
        let does_not_open = || SealError::DoesNotOpen {
            cluster: context.cluster,
            purpose: context.purpose.clone(),
        };
        let parts = Parts::read(sealed).map_err(|_| does_not_open())?;
        let data_key = self
            .wrapper
            .unwrap(&parts.wrapped)
            .await
            .map_err(|error| match error {
                WrapError::Unavailable(reason) => SealError::KeyUnavailable { reason },
                WrapError::UnknownKey(_) | WrapError::Damaged => does_not_open(),
            })?;
        let key = cipher(&data_key).map_err(|_| does_not_open())?;
        let nonce = Nonce::try_assume_unique_for_key(parts.nonce).map_err(|_| does_not_open())?;
        let mut buffer = Zeroizing::new(parts.ciphertext.to_vec());
        let plain = key
            .open_in_place(nonce, Aad::from(associated(context)), &mut buffer)
            .map_err(|_| does_not_open())?;
        Ok(Secret::new(&*plain))
    }
}

fn associated(context: &SealContext) -> Vec<u8> {
    let cluster = context.cluster.as_uuid();
    [
        MAGIC.as_slice(),
        cluster.as_bytes(),
        context.purpose.as_bytes(),
    ]
    .concat()
}

fn cipher(data_key: &Zeroizing<[u8; 32]>) -> Result<LessSafeKey, Error> {
    Ok(LessSafeKey::new(UnboundKey::new(
        &AES_256_GCM_SIV,
        data_key.as_slice(),
    )?))
}

fn encrypt(
    data_key: &Zeroizing<[u8; 32]>,
    wrapped: &WrappedKey,
    context: &SealContext,
    plain: &Secret,
) -> Result<Vec<u8>, Error> {
    let mut nonce = [0_u8; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce)?;
    let mut buffer = Vec::with_capacity(plain.expose().len() + AES_256_GCM_SIV.tag_len());
    buffer.extend_from_slice(plain.expose());
    cipher(data_key)?.seal_in_place_append_tag(
        Nonce::assume_unique_for_key(nonce),
        Aad::from(associated(context)),
        &mut buffer,
    )?;
    write(wrapped, &nonce, &buffer)
}

fn write(wrapped: &WrappedKey, nonce: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
    let too_long = |_| Error::BadSealingKey {
        reason: "the key service's id or wrapped key is too long".to_owned(),
    };
    let id_length = u8::try_from(wrapped.key_id.len()).map_err(too_long)?;
    let key_length = u16::try_from(wrapped.bytes.len()).map_err(too_long)?;
    Ok([
        MAGIC.as_slice(),
        &[id_length],
        wrapped.key_id.as_bytes(),
        &key_length.to_be_bytes(),
        &wrapped.bytes,
        nonce,
        ciphertext,
    ]
    .concat())
}

struct Parts<'a> {
    wrapped: WrappedKey,
    nonce: &'a [u8],
    ciphertext: &'a [u8],
}

impl<'a> Parts<'a> {
    fn read(sealed: &'a [u8]) -> Result<Self, Error> {
        Self::split(sealed).ok_or(Error::Unsealable {
            reason: "it is not a sealed value of this format",
        })
    }

    fn split(sealed: &'a [u8]) -> Option<Self> {
        let rest = sealed.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first()?;
        let (id, rest) = rest.split_at_checked(usize::from(*length))?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (bytes, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        let (nonce, ciphertext) = rest.split_at_checked(NONCE_LEN)?;
        let key_id = String::from_utf8(id.to_vec()).ok()?;
        Some(Self {
            wrapped: WrappedKey {
                key_id,
                bytes: bytes.to_vec(),
            },
            nonce,
            ciphertext,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use magnum_core::ClusterId;
    use uuid::Uuid;

    fn context(cluster: u128, purpose: &str) -> SealContext {
        SealContext::new(ClusterId::from_uuid(Uuid::from_u128(cluster)), purpose)
    }

    fn envelope() -> Envelope {
        Envelope::new(SealingKey::generate().unwrap())
    }

    #[tokio::test]
    async fn what_is_sealed_opens_in_its_own_place_only() {
        let envelope = envelope();
        let secret = Secret::new(b"the root of all trust".to_vec());
        let sealed = envelope.seal(&context(1, "pki.ca"), &secret).await.unwrap();
        assert!(!sealed.windows(4).any(|window| window == b"root"));
        assert_eq!(
            envelope.open(&context(1, "pki.ca"), &sealed).await.unwrap(),
            secret
        );
        for elsewhere in [
            context(2, "pki.ca"),
            context(1, "pki.sa"),
            context(1, "pki.c"),
            context(1, ""),
        ] {
            let opened = envelope.open(&elsewhere, &sealed).await;
            assert!(
                matches!(opened, Err(SealError::DoesNotOpen { .. })),
                "{elsewhere:?}"
            );
        }
        let again = envelope.seal(&context(1, "pki.ca"), &secret).await.unwrap();
        assert_ne!(sealed, again, "each value has its own key and nonce");
    }

    #[tokio::test]
    async fn every_altered_or_cut_byte_is_noticed() {
        let envelope = envelope();
        let place = context(1, "pki.ca");
        let sealed = envelope
            .seal(&place, &Secret::new(b"secret".to_vec()))
            .await
            .unwrap();
        for index in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[index] ^= 1;
            let opened = envelope.open(&place, &altered).await;
            assert!(
                matches!(opened, Err(SealError::DoesNotOpen { .. })),
                "byte {index}"
            );
            let opened = envelope.open(&place, &sealed[..index]).await;
            assert!(
                matches!(opened, Err(SealError::DoesNotOpen { .. })),
                "cut at {index}"
            );
        }
    }

    #[tokio::test]
    async fn a_new_key_needs_no_new_encryption() {
        let old = SealingKey::generate().unwrap();
        let place = context(1, "pki.ca");
        let secret = Secret::new(b"secret".to_vec());
        let sealed = Envelope::new(old.clone())
            .seal(&place, &secret)
            .await
            .unwrap();

        let both = Envelope::new(old.rotated().unwrap());
        assert!(both.needs_rewrap(&sealed).unwrap());
        assert_eq!(both.open(&place, &sealed).await.unwrap(), secret);
        let rewrapped = both.rewrap(&sealed).await.unwrap().unwrap();
        assert_eq!(both.rewrap(&rewrapped).await.unwrap(), None);

        let new_only = Envelope::new(both.wrapper().without_older());
        assert_eq!(new_only.open(&place, &rewrapped).await.unwrap(), secret);
        assert!(matches!(
            new_only.open(&place, &sealed).await,
            Err(SealError::DoesNotOpen { .. })
        ));
    }

    #[tokio::test]
    async fn empty_and_large_values_are_fine() {
        let envelope = envelope();
        let place = context(1, "x");
        for size in [0, 1, 1 << 20] {
            let secret = Secret::new(vec![7; size]);
            let sealed = envelope.seal(&place, &secret).await.unwrap();
            assert_eq!(envelope.open(&place, &sealed).await.unwrap(), secret);
        }
    }
}
