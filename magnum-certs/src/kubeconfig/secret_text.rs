//! Text in a kubeconfig that is secret.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret value inside a kubeconfig: `Debug` does not show it, memory is wiped on drop. It does serialise, since writing the file is
/// its purpose.
#[derive(Clone)]
pub struct SecretText(SecretString);

impl SecretText {
    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<SecretString> for SecretText {
    fn from(text: SecretString) -> Self {
        Self(text)
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(SecretString::from(text))
    }
}

impl PartialEq for SecretText {
    fn eq(&self, other: &Self) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(
            self.expose().as_bytes(),
            other.expose().as_bytes(),
        )
        .is_ok()
    }
}

impl Eq for SecretText {}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}
