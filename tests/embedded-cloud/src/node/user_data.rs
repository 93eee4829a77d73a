//! A server's user-data, read as cloud-init would read it, but strictly.

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde::Deserialize;

/// Nova's limit of `user_data`, after base64.
pub const MAX_USER_DATA: usize = 65_535;

/// One file of `write_files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// Permission bits.
    pub mode: u32,
    /// `user:group`.
    pub owner: String,
    /// Decoded content.
    pub content: Vec<u8>,
}

impl UserFile {
    /// The content as text.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.content).map_err(|e| e.to_string())
    }
}

/// Parsed user-data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserData {
    /// Files by path.
    pub files: BTreeMap<String, UserFile>,
    /// Commands of `runcmd`, as words.
    pub commands: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    write_files: Vec<Entry>,
    #[serde(default)]
    runcmd: Vec<Command>,
    #[serde(default)]
    #[expect(dead_code, reason = "accepted, not used")]
    ssh_authorized_keys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    permissions: String,
    owner: Option<String>,
    encoding: Option<String>,
    content: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Words(Vec<String>),
    Line(String),
}

impl UserData {
    /// Whether a text is meant to be ours at all; others' servers are left alone.
    #[must_use]
    pub fn is_ours(text: &str) -> bool {
        text.contains("/etc/clusternode/node.env")
    }

    /// Parses the text.
    ///
    /// # Errors
    /// A sentence with what cloud-init would trip over: header, YAML, unknown keys, encodings,
    /// permissions, or a path given twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.lines().next().map(str::trim_end) != Some("#cloud-config") {
            return Err("user-data does not begin with #cloud-config".into());
        }
        let document: Document =
            serde_saphyr::from_str(text).map_err(|e| format!("user-data: {e}"))?;
        let mut files = BTreeMap::new();
        for entry in document.write_files {
            let file =
                decode(&entry).map_err(|why| format!("write_files {}: {why}", entry.path))?;
            if files.insert(entry.path.clone(), file).is_some() {
                return Err(format!("write_files {}: given twice", entry.path));
            }
        }
        let commands = document
            .runcmd
            .into_iter()
            .map(|c| match c {
                Command::Words(words) => words,
                Command::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            })
            .collect();
        Ok(Self { files, commands })
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When it is missing or not text.
    pub fn text(&self, path: &str) -> Result<&str, String> {
        let file = self
            .files
            .get(path)
            .ok_or_else(|| format!("{path} is missing"))?;
        file.text().map_err(|e| format!("{path}: {e}"))
    }
}

fn decode(entry: &Entry) -> Result<UserFile, String> {
    if !entry.path.starts_with('/') {
        return Err("the path is not absolute".into());
    }
    let digits = entry
        .permissions
        .strip_prefix("0o")
        .unwrap_or(&entry.permissions);
    let mode = u32::from_str_radix(digits, 8).ok().filter(|m| *m <= 0o7777);
    let mode = mode.ok_or_else(|| format!("permissions {:?} are not octal", entry.permissions))?;
    let unbase64 = || {
        let plain: String = entry.content.split_whitespace().collect();
        STANDARD
            .decode(plain)
            .map_err(|e| format!("content is not base64: {e}"))
    };
    let content = match entry.encoding.as_deref() {
        None | Some("text/plain") => entry.content.clone().into_bytes(),
        Some("b64" | "base64") => unbase64()?,
        Some("gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64") => {
            let mut content = Vec::new();
            let packed = unbase64()?;
            GzDecoder::new(packed.as_slice())
                .take(16 * 1024 * 1024)
                .read_to_end(&mut content)
                .map_err(|e| format!("content is not gzip: {e}"))?;
            content
        }
        Some(other) => return Err(format!("unknown encoding {other:?}")),
    };
    let owner = entry.owner.clone().unwrap_or_else(|| "root:root".into());
    Ok(UserFile {
        mode,
        owner,
        content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn all_encodings_give_the_same() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"hello\n").unwrap();
        let packed = STANDARD.encode(gz.finish().unwrap());
        let text = format!(
            "#cloud-config\nwrite_files:\n- {{path: /a, permissions: '0644', content: \"hello\\n\"}}\n\
             - {{path: /b, permissions: '0600', encoding: b64, content: aGVsbG8K}}\n\
             - {{path: /c, permissions: '0755', encoding: gz+b64, content: {packed}}}\n\
             runcmd:\n- [systemctl, daemon-reload]\n- echo x\n"
        );
        let data = UserData::parse(&text).unwrap();
        for path in ["/a", "/b", "/c"] {
            assert_eq!(data.text(path).unwrap(), "hello\n");
        }
        assert_eq!(data.files["/c"].mode, 0o755);
        assert_eq!(data.commands[1], ["echo", "x"]);
    }

    #[test]
    fn what_cloud_init_would_trip_over_is_named() {
        for (text, expected) in [
            ("#!/bin/sh\n", "#cloud-config"),
            ("#cloud-config\nwritefiles: []\n", "writefiles"),
            (
                "#cloud-config\nwrite_files:\n- {path: /a, permissions: '9', content: x}\n",
                "octal",
            ),
            (
                "#cloud-config\nwrite_files:\n- {path: a, permissions: '0600', content: x}\n",
                "absolute",
            ),
            (
                "#cloud-config\nwrite_files:\n- {path: /a, permissions: '0600', encoding: zip, content: x}\n",
                "zip",
            ),
            (
                "#cloud-config\nwrite_files:\n- {path: /a, permissions: '0600', content: x}\n- {path: /a, permissions: '0600', content: y}\n",
                "twice",
            ),
        ] {
            let why = UserData::parse(text).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }
}
