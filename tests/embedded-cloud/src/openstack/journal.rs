//! The state on disk: one file, replaced whole, so that a kill at any moment leaves a consistent cloud.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{Cloud, Persist};

/// What the file holds beside the services.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Meta {
    boots: u64,
    port: u16,
}

#[derive(Debug, Default)]
struct Written {
    meta: Meta,
    parts: HashMap<&'static str, (u64, Arc<Vec<u8>>)>,
}

/// The journal of one folder.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    boots: u64,
    last_port: u16,
    written: Mutex<Written>,
}

/// A state file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the journal {path} cannot be used: {reason}")]
pub struct JournalError {
    path: PathBuf,
    reason: String,
}

impl Journal {
    /// Opens the folder (made when missing) and loads what it holds into `states`, by name.
    ///
    /// # Errors
    /// When the folder or its file cannot be read or is of another shape.
    pub fn open(
        folder: &Path,
        states: &[(&'static str, &dyn Persist)],
    ) -> Result<Self, JournalError> {
        let path = folder.join("state.json");
        let failed = |reason: String| JournalError {
            path: path.clone(),
            reason,
        };
        std::fs::create_dir_all(folder).map_err(|e| failed(e.to_string()))?;
        let mut meta = Meta::default();
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let file: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_str(&text).map_err(|e| failed(e.to_string()))?;
                if let Some(value) = file.get("meta") {
                    meta =
                        serde_json::from_value(value.clone()).map_err(|e| failed(e.to_string()))?;
                }
                for (name, state) in states {
                    if let Some(value) = file.get(*name) {
                        state
                            .load(&value.to_string())
                            .map_err(|e| failed(format!("{name}: {e}")))?;
                    }
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e.to_string())),
        }
        let last_port = meta.port;
        meta.boots += 1;
        let boots = meta.boots;
        let written = Mutex::new(Written {
            meta,
            parts: HashMap::new(),
        });
        Ok(Self {
            folder: folder.to_owned(),
            boots,
            last_port,
            written,
        })
    }

    /// How often this folder was started, this time included.
    #[must_use]
    pub const fn boots(&self) -> u64 {
        self.boots
    }

    /// The port of the last run; 0 at the first.
    #[must_use]
    pub const fn last_port(&self) -> u16 {
        self.last_port
    }

    /// Writes `DIR/port` and `DIR/pid`, each whole.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub async fn announce(&self, port: u16) -> std::io::Result<()> {
        self.written.lock().await.meta.port = port;
        replace(&self.folder, "port", format!("{port}\n").as_bytes())?;
        replace(
            &self.folder,
            "pid",
            format!("{}\n", std::process::id()).as_bytes(),
        )
    }

    /// Removes `DIR/port` and `DIR/pid`: the cloud has ended in order.
    pub fn retire(&self) {
        let _ = std::fs::remove_file(self.folder.join("port"));
        let _ = std::fs::remove_file(self.folder.join("pid"));
    }

    /// Writes what has changed. Returns when all that had changed before the call is on disk; concurrent calls share one write.
    pub async fn flush(&self, cloud: &Cloud) {
        let mut written = self.written.lock().await;
        let states = cloud.states();
        let current = |w: &Written, name: &str, state: &dyn Persist| {
            w.parts
                .get(name)
                .is_some_and(|(version, _)| *version == state.version())
        };
        if states
            .iter()
            .all(|(name, state)| current(&written, name, *state))
        {
            return;
        }
        let gate = cloud.inner().gate.write().await;
        for (name, state) in states {
            if current(&written, name, state) {
                continue;
            }
            match state.dump() {
                Ok((version, json)) => {
                    written.parts.insert(name, (version, Arc::new(json)));
                }
                Err(error) => tracing::error!(%error, service = name, "state cannot be serialised"),
            }
        }
        drop(gate);
        let Ok(meta) = serde_json::to_vec(&written.meta) else {
            return;
        };
        let mut file = b"{\"meta\":".to_vec();
        file.extend_from_slice(&meta);
        for (name, (_, json)) in &written.parts {
            file.extend_from_slice(format!(",\n\"{name}\":").as_bytes());
            file.extend_from_slice(json);
        }
        file.extend_from_slice(b"}\n");
        let folder = self.folder.clone();
        let done = tokio::task::spawn_blocking(move || replace(&folder, "state.json", &file)).await;
        if !matches!(done, Ok(Ok(()))) {
            written.parts.clear();
            tracing::error!(?done, "the journal cannot be written");
        }
    }

    /// Writes in the background, for changes that no request waits for.
    pub(super) async fn run(cloud: Cloud) {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            cloud.flush().await;
        }
    }
}

fn replace(folder: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
    let temporary = folder.join(format!(".{name}.new"));
    let mut file = std::fs::File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_data()?;
    std::fs::rename(&temporary, folder.join(name))
}

impl Cloud {
    pub(super) fn states(&self) -> Vec<(&'static str, &dyn Persist)> {
        let services = self
            .inner()
            .services
            .iter()
            .map(|s| (s.kind().name(), s.state()));
        services
            .chain([("ledger", &self.ledger().entries as &dyn Persist)])
            .collect()
    }

    /// Marks the journal as ended in order.
    pub fn retire(&self) {
        if let Some(journal) = &self.inner().journal {
            journal.retire();
        }
    }

    /// Brings the journal up to date; nothing without one.
    pub async fn flush(&self) {
        if let Some(journal) = &self.inner().journal {
            journal.flush(self).await;
        }
    }
}
