//! Files that only their owner may read. Called at the edge of a program, not from the library's inside.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use super::sealing_key::SealingKey;
use crate::Error;
use crate::key::hex;

/// Reads the sealing key from `path`, or makes one there with mode 0600 when there is no file.
///
/// Creation is atomic: the file appears complete or not at all, and of two processes that race both use the same key.
/// The directory must exist. Blocks on file I/O.
///
/// # Errors
/// [`Error::Io`]; [`Error::BadSealingKey`] when the file's content is none, or when others than the owner may read it.
pub fn load_or_create_sealing_key(path: &Path) -> Result<SealingKey, Error> {
    if let Some(key) = load(path)? {
        return Ok(key);
    }
    let fresh = SealingKey::generate()?;
    let draft = write_draft(path, &fresh.to_text())?;
    // A hard link, unlike a rename, never replaces a file that another process made meanwhile.
    let linked = fs::hard_link(&draft, path);
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => sync_directory(path)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(source) => {
            return Err(Error::Io {
                operation: "create the sealing key",
                path: path.to_owned(),
                source,
            });
        }
    }
    load(path)?.ok_or_else(|| Error::BadSealingKey {
        reason: "the file vanished while it was read".to_owned(),
    })
}

/// Writes a private file (mode 0600) in one step: readers see the old content or the new, never a part. Blocks on file I/O.
///
/// # Errors
/// [`Error::Io`].
pub fn write_private_file(path: &Path, content: &SecretString) -> Result<(), Error> {
    let draft = write_draft(path, content)?;
    if let Err(source) = fs::rename(&draft, path) {
        let _ = fs::remove_file(&draft);
        return Err(Error::Io {
            operation: "write",
            path: path.to_owned(),
            source,
        });
    }
    sync_directory(path)
}

fn load(path: &Path) -> Result<Option<SealingKey>, Error> {
    let failed = |source| Error::Io {
        operation: "read the sealing key",
        path: path.to_owned(),
        source,
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let metadata = file.metadata().map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let reason = format!(
                "{} has mode {mode:04o}: others than its owner may use it",
                path.display()
            );
            return Err(Error::BadSealingKey { reason });
        }
    }
    if metadata.len() > 64 * 1024 {
        return Err(Error::BadSealingKey {
            reason: format!("{} is no key file: too large", path.display()),
        });
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(failed)?;
    SealingKey::from_text(&text).map(Some)
}

/// A complete private file beside `path`, synced to disk.
fn write_draft(path: &Path, content: &SecretString) -> Result<PathBuf, Error> {
    let mut suffix = [0_u8; 8];
    aws_lc_rs::rand::fill(&mut suffix)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", hex(&suffix)));
    let draft = path.with_file_name(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(content.expose_secret().as_bytes())?;
        file.sync_all()
    });
    written.map_err(|source| {
        let _ = fs::remove_file(&draft);
        Error::Io {
            operation: "write",
            path: draft.clone(),
            source,
        }
    })?;
    Ok(draft)
}

fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| Error::Io {
            operation: "sync",
            path: directory.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_key_is_made_once_and_kept_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let first = load_or_create_sealing_key(&path).unwrap();
        let second = load_or_create_sealing_key(&path).unwrap();
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
        assert_eq!(mode(&path), 0o600);
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "no draft is left"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(
            load_or_create_sealing_key(&path),
            Err(Error::BadSealingKey { .. })
        ));
    }

    #[test]
    fn racing_processes_get_the_same_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let keys: Vec<String> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| format!("{:?}", load_or_create_sealing_key(&path).unwrap()))
                })
                .collect();
            racers
                .into_iter()
                .map(|racer| racer.join().unwrap())
                .collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
    }

    #[test]
    fn a_private_file_replaces_one_that_all_could_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write_private_file(&path, &SecretString::from("new")).unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), mode(&path)),
            ("new", 0o600)
        );
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error =
            load_or_create_sealing_key(Path::new("/nonexistent-directory/key")).unwrap_err();
        assert!(
            error.to_string().contains("/nonexistent-directory/key"),
            "{error}"
        );
    }
}
