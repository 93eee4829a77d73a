//! Envelope encryption at rest.

mod envelope;
mod key_file;
mod sealing_key;
mod wrapper;

pub use envelope::Envelope;
pub use key_file::{load_or_create_sealing_key, write_private_file};
pub use sealing_key::SealingKey;
pub use wrapper::{KeyWrapper, WrapError, WrappedKey};
