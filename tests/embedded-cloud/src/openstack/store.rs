//! A service's state behind one lock, with a version that tells the journal when to write.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// State that the journal can write and read.
pub trait Persist: Send + Sync {
    /// Grows with each change.
    fn version(&self) -> u64;
    /// The state as JSON and the version it has.
    ///
    /// # Errors
    /// When the state cannot be serialised.
    fn dump(&self) -> serde_json::Result<(u64, Vec<u8>)>;
    /// Replaces the state.
    ///
    /// # Errors
    /// When the JSON is not of this state's shape.
    fn load(&self, json: &str) -> serde_json::Result<()>;
}

/// State behind a lock. Closures must be short: they run under the lock and never await.
pub struct Store<T> {
    inner: Mutex<T>,
    version: AtomicU64,
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl<T: Default> Default for Store<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Store<T> {
    /// A store that holds `value`.
    pub fn new(value: T) -> Self {
        Self {
            inner: Mutex::new(value),
            version: AtomicU64::new(1),
        }
    }

    /// Reads the state.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state; the journal will write it.
    pub fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let mut guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        self.version.fetch_add(1, Ordering::SeqCst);
        f(&mut guard)
    }
}

impl<T: Serialize + DeserializeOwned + Send> Persist for Store<T> {
    fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    fn dump(&self) -> serde_json::Result<(u64, Vec<u8>)> {
        let guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((
            self.version.load(Ordering::SeqCst),
            serde_json::to_vec(&*guard)?,
        ))
    }

    fn load(&self, json: &str) -> serde_json::Result<()> {
        let value = serde_json::from_str(json)?;
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = value;
        self.version.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_raises_the_version_and_a_dump_can_be_loaded() {
        let store = Store::new(vec![1_u32]);
        let before = store.version();
        store.write(|v| v.push(2));
        assert!(store.version() > before);
        let (_, json) = store.dump().unwrap();
        let other = Store::new(Vec::<u32>::new());
        other.load(std::str::from_utf8(&json).unwrap()).unwrap();
        assert_eq!(other.read(Clone::clone), vec![1, 2]);
    }
}
