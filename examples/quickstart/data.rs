//! The data directory: database, sealing key, the embedded cloud's journal, and which run it holds.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use magnum_core::ClusterId;
use magnum_examples::Inventory;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Failure;
use crate::arguments::Arguments;

/// Where a run on a real cloud keeps its data when nothing else is said: losing it would lose the cluster.
const DEFAULT_FOR_CLOUDS: &str = "quickstart-data";

/// A directory that outlives the process, or a temporary one.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl DataDirectory {
    /// Opens the directory that the arguments ask for; it is made where it is not there, readable by its owner only.
    pub(crate) fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let given = arguments.data.clone().or_else(|| {
            arguments
                .cloud
                .is_some()
                .then(|| PathBuf::from(DEFAULT_FOR_CLOUDS))
        });
        let Some(path) = given else {
            let temporary = tempfile::Builder::new()
                .prefix("quickstart-")
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()?;
            return Ok(Self {
                path: temporary.path().to_owned(),
                temporary: Some(temporary),
            });
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| {
                format!("data directory {} cannot be made: {error}", path.display())
            })?;
        let path = path.canonicalize()?;
        Ok(Self {
            path,
            temporary: None,
        })
    }

    /// Whether it outlives the process.
    pub(crate) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The engine's database.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("magnum.db")
    }

    /// The sealing key, mode 0600.
    pub(crate) fn key(&self) -> PathBuf {
        self.path.join("key")
    }

    /// The embedded cloud's journal.
    pub(crate) fn cloud(&self) -> PathBuf {
        self.path.join("cloud")
    }

    /// Takes the directory for this process: a second quick start on it is refused.
    pub(crate) fn lock(&self) -> Result<fs::File, Failure> {
        let path = self.path.join("lock");
        let file = fs::File::create(&path)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        file.try_lock()
            .map_err(|_| format!("another quick start is running on {}", self.path.display()))?;
        Ok(file)
    }

    /// The run that the directory holds, if any.
    pub(crate) fn run(&self) -> Result<Option<RunRecord>, Failure> {
        let path = self.path.join("run.json");
        match fs::read(&path) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).map_err(|error| {
                format!("{} cannot be read: {error}", path.display())
            })?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display()).into()),
        }
    }

    /// Refuses a database whose sealing key is gone: what it holds could never be opened again.
    pub(crate) fn check_key(&self) -> Result<(), Failure> {
        if self.database().exists() && !self.key().exists() {
            return Err(format!(
                "{} is missing, and {} is sealed with it",
                self.key().display(),
                self.database().display()
            )
            .into());
        }
        Ok(())
    }

    /// Keeps the run, whole or not at all.
    pub(crate) fn keep(&self, run: &RunRecord) -> Result<(), Failure> {
        let path = self.path.join("run.json");
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.write_all(&serde_json::to_vec_pretty(run)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// One run, from nothing to nothing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    /// Makes the creation idempotent.
    pub(crate) id: Uuid,
    /// Where it runs: the cloud's name and the project.
    pub(crate) place: String,
    /// The cluster, once accepted.
    pub(crate) cluster: Option<ClusterId>,
    /// What the project had before.
    pub(crate) before: Inventory,
    /// Whether it came to its end.
    pub(crate) finished: bool,
}

impl RunRecord {
    /// A new run in a project that has this.
    pub(crate) fn begin(place: String, before: Inventory) -> Self {
        Self {
            id: Uuid::new_v4(),
            place,
            cluster: None,
            before,
            finished: false,
        }
    }
}
