//! One line of JSON a write, rewritten now and then: what survives a kill of the process.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes appended before the file is rewritten.
const COMPACT_AT: u64 = 32 * 1024 * 1024;

/// One write: version, resource, scope (namespace), name, object (absent: deleted).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) v: u64,
    pub(crate) r: String,
    #[serde(default)]
    pub(crate) s: String,
    pub(crate) n: String,
    pub(crate) o: Option<Value>,
}

/// An open journal file. Appends go to the operating system before a write is answered.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    appended: u64,
}

impl Journal {
    /// Opens or creates the file and gives its lines; a torn last line is left out.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Line>), String> {
        let text = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(e.to_string()),
        };
        let mut lines = Vec::new();
        let mut rest = text.split(|b| *b == b'\n').peekable();
        while let Some(line) = rest.next() {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(line) => lines.push(line),
                Err(_) if rest.peek().is_none() => {}
                Err(e) => return Err(format!("line {}: {e}", lines.len() + 1)),
            }
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|e| e.to_string())?;
        Ok((
            Self {
                path: path.to_owned(),
                file,
                appended: 0,
            },
            lines,
        ))
    }

    /// Appends one line by one system call.
    pub(crate) fn append(&mut self, line: &Line) -> Result<(), String> {
        let mut bytes = serde_json::to_vec(line).map_err(|e| e.to_string())?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|e| e.to_string())?;
        self.appended += bytes.len() as u64;
        Ok(())
    }

    /// Whether enough was appended to make a rewrite worth while.
    pub(crate) fn wants_compaction(&self) -> bool {
        self.appended > COMPACT_AT
    }

    /// Replaces the file by these lines (temporary file, then rename).
    pub(crate) fn rewrite(&mut self, lines: impl Iterator<Item = Line>) -> Result<(), String> {
        let temporary = self.path.with_extension("tmp");
        let mut out = BufWriter::new(File::create(&temporary).map_err(|e| e.to_string())?);
        for line in lines {
            serde_json::to_writer(&mut out, &line).map_err(|e| e.to_string())?;
            out.write_all(b"\n").map_err(|e| e.to_string())?;
        }
        out.flush().map_err(|e| e.to_string())?;
        drop(out);
        fs::rename(&temporary, &self.path).map_err(|e| e.to_string())?;
        self.file = OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(|e| e.to_string())?;
        self.appended = 0;
        Ok(())
    }
}
