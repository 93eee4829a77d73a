//! A key-encryption key in memory, from a file or the environment.

use std::fmt;

use async_trait::async_trait;
use aws_lc_rs::digest;
use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrap as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::wrapper::{KeyWrapper, WrapError, WrappedKey};
use crate::Error;
use crate::key::hex;

/// 256-bit key-encryption keys: the first wraps (AES key wrap, RFC 3394), the others are there to open what they once wrapped.
///
/// As text: one key a line, base64 of 32 bytes, the current one first; blank lines and lines that begin with `#` are skipped.
#[derive(Clone)]
pub struct SealingKey {
    current: Key,
    older: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    id: String,
    bytes: Zeroizing<[u8; 32]>,
}

impl Key {
    fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        // The id is public; a hash with its own prefix tells nothing about the key.
        let mut input = Zeroizing::new(b"magnum-certs sealing key id\0".to_vec());
        input.extend_from_slice(bytes.as_slice());
        let hash = digest::digest(&digest::SHA256, &input);
        Self {
            id: hex(hash.as_ref().get(..8).unwrap_or_default()),
            bytes,
        }
    }

    fn kek(&self) -> Result<AesKek, WrapError> {
        AesKek::new(&AES_256, self.bytes.as_slice()).map_err(|_| WrapError::Damaged)
    }
}

impl SealingKey {
    /// A fresh random key.
    ///
    /// # Errors
    /// [`Error::Crypto`] when the provider has no randomness.
    pub fn generate() -> Result<Self, Error> {
        Ok(Self {
            current: Key::new(random_key()?),
            older: Vec::new(),
        })
    }

    /// A key from 32 bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self {
            current: Key::new(Zeroizing::new(bytes)),
            older: Vec::new(),
        }
    }

    /// Reads the text form, from a file or from the value of an environment variable.
    ///
    /// # Errors
    /// [`Error::BadSealingKey`] names the line, never its content.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let mut keys = Vec::new();
        for (number, line) in text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
        {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = || Error::BadSealingKey {
                reason: format!("line {number} is not base64 of 32 bytes"),
            };
            let bytes = STANDARD
                .decode(line)
                .map(Zeroizing::new)
                .map_err(|_| bad())?;
            let key = <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| bad())?;
            keys.push(Key::new(Zeroizing::new(key)));
        }
        let mut keys = keys.into_iter();
        let current = keys.next().ok_or_else(|| Error::BadSealingKey {
            reason: "there is no key".to_owned(),
        })?;
        Ok(Self {
            current,
            older: keys.collect(),
        })
    }

    /// The text form.
    #[must_use]
    pub fn to_text(&self) -> SecretString {
        let mut text = Zeroizing::new(String::new());
        for key in std::iter::once(&self.current).chain(&self.older) {
            text.push_str(&Zeroizing::new(STANDARD.encode(key.bytes.as_slice())));
            text.push('\n');
        }
        SecretString::from(text.as_str())
    }

    /// A new current key, the present ones behind it. Store the text, then [`crate::Envelope::rewrap`] every value, then drop the
    /// old ones with [`SealingKey::without_older`].
    ///
    /// # Errors
    /// [`Error::Crypto`] when the provider has no randomness.
    pub fn rotated(&self) -> Result<Self, Error> {
        let older = std::iter::once(&self.current)
            .chain(&self.older)
            .cloned()
            .collect();
        Ok(Self {
            current: Key::new(random_key()?),
            older,
        })
    }

    /// Only the current key.
    #[must_use]
    pub fn without_older(&self) -> Self {
        Self {
            current: self.current.clone(),
            older: Vec::new(),
        }
    }
}

pub(super) fn random_key() -> Result<Zeroizing<[u8; 32]>, Error> {
    let mut key = Zeroizing::new([0_u8; 32]);
    aws_lc_rs::rand::fill(key.as_mut_slice()).map_err(|_| Error::Crypto {
        operation: "draw a key",
    })?;
    Ok(key)
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let older: Vec<&str> = self.older.iter().map(|key| key.id.as_str()).collect();
        f.debug_struct("SealingKey")
            .field("current", &self.current.id)
            .field("older", &older)
            .finish()
    }
}

#[async_trait]
impl KeyWrapper for SealingKey {
    fn current_key_id(&self) -> String {
        self.current.id.clone()
    }

    async fn wrap(&self, data_key: &Zeroizing<[u8; 32]>) -> Result<WrappedKey, WrapError> {
        let mut out = [0_u8; 40];
        let wrapped = self
            .current
            .kek()?
            .wrap(data_key.as_slice(), &mut out)
            .map_err(|_| {
                WrapError::Unavailable("the crypto provider failed to wrap a key".to_owned())
            })?;
        Ok(WrappedKey {
            key_id: self.current.id.clone(),
            bytes: wrapped.to_vec(),
        })
    }

    async fn unwrap(&self, wrapped: &WrappedKey) -> Result<Zeroizing<[u8; 32]>, WrapError> {
        let key = std::iter::once(&self.current)
            .chain(&self.older)
            .find(|key| key.id == wrapped.key_id)
            .ok_or_else(|| WrapError::UnknownKey(wrapped.key_id.clone()))?;
        let mut out = Zeroizing::new([0_u8; 40]);
        let plain = key
            .kek()?
            .unwrap(&wrapped.bytes, out.as_mut_slice())
            .map_err(|_| WrapError::Damaged)?;
        let plain = <[u8; 32]>::try_from(&*plain).map_err(|_| WrapError::Damaged)?;
        Ok(Zeroizing::new(plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    #[tokio::test]
    async fn a_rotated_key_opens_what_the_old_one_wrapped() {
        let data = random_key().unwrap();
        let old = SealingKey::generate().unwrap();
        let wrapped = old.wrap(&data).await.unwrap();
        let new = old.rotated().unwrap();
        assert_ne!(new.current_key_id(), old.current_key_id());
        assert_eq!(new.unwrap(&wrapped).await.unwrap(), data);
        let lost = new.without_older().unwrap(&wrapped).await;
        assert_eq!(lost, Err(WrapError::UnknownKey(old.current_key_id())));
        let mut altered = wrapped;
        altered.bytes[3] ^= 1;
        assert_eq!(old.unwrap(&altered).await, Err(WrapError::Damaged));
    }

    #[test]
    fn text_round_trips_and_bad_text_is_named_by_line() {
        let key = SealingKey::generate().unwrap().rotated().unwrap();
        let text = key.to_text();
        let again =
            SealingKey::from_text(&format!("# comment\n\n{}", text.expose_secret())).unwrap();
        assert_eq!(format!("{key:?}"), format!("{again:?}"));
        for bad in ["", "# nothing", "short", "AAAA"] {
            assert!(
                matches!(SealingKey::from_text(bad), Err(Error::BadSealingKey { .. })),
                "{bad}"
            );
        }
        let error = SealingKey::from_text("\nhunter2").unwrap_err().to_string();
        assert!(
            error.contains("line 2") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn ms_04_debug_of_a_sealing_key_shows_ids_only() {
        let key = SealingKey::generate().unwrap();
        assert!(!format!("{key:?}").contains(key.to_text().expose_secret().trim()));
    }
}
