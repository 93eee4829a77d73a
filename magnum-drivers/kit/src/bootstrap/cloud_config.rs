//! cloud-init's cloud-config, as much of it as a node needs.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use std::io::Write as _;

/// How a file's content is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As it is; placeholders in it are filled in.
    Plain,
    /// gzip and base64, done here.
    Compressed,
    /// The content is a placeholder for text that is gzip and base64 already.
    CompressedLater,
}

/// One entry of `write_files`.
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) permissions: &'static str,
    pub(crate) encoding: Encoding,
    pub(crate) content: String,
}

impl WriteFile {
    /// A file that everybody may read.
    pub(crate) fn public(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            permissions: "0644",
            encoding: Encoding::Plain,
            content: content.into(),
        }
    }

    /// A file for root only.
    pub(crate) fn private(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            permissions: "0600",
            ..Self::public(path, content)
        }
    }

    /// The same file, written down in another way.
    pub(crate) fn encoded(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// The same file with other permissions.
    pub(crate) fn mode(self, permissions: &'static str) -> Self {
        Self {
            permissions,
            ..self
        }
    }
}

/// A cloud-config document.
#[derive(Default)]
pub(crate) struct CloudConfig {
    pub(crate) files: Vec<WriteFile>,
    pub(crate) ssh_authorized_keys: Vec<String>,
    pub(crate) commands: Vec<Vec<&'static str>>,
}

impl CloudConfig {
    /// The document, and the size of each file's entry.
    pub(crate) fn render(&self) -> (String, Vec<(String, usize)>) {
        let mut out = String::from("#cloud-config\n");
        let mut sizes = Vec::with_capacity(self.files.len());
        if !self.ssh_authorized_keys.is_empty() {
            out.push_str("ssh_authorized_keys:\n");
            for key in &self.ssh_authorized_keys {
                let _ = writeln!(out, "- {}", quoted(key));
            }
        }
        out.push_str("write_files:\n");
        for file in &self.files {
            let before = out.len();
            render_file(&mut out, file);
            sizes.push((file.path.clone(), out.len() - before));
        }
        out.push_str("runcmd:\n");
        for command in &self.commands {
            let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
            let _ = writeln!(out, "- [{}]", words.join(", "));
        }
        (out, sizes)
    }
}

fn render_file(out: &mut String, file: &WriteFile) {
    let _ = writeln!(out, "- path: {}", quoted(&file.path));
    let _ = writeln!(out, "  permissions: '{}'", file.permissions);
    out.push_str("  owner: root:root\n");
    match file.encoding {
        Encoding::Compressed => {
            let _ = writeln!(
                out,
                "  encoding: gz+b64\n  content: '{}'",
                compress(file.content.as_bytes())
            );
        }
        Encoding::CompressedLater => {
            let _ = writeln!(out, "  encoding: gz+b64\n  content: '{}'", file.content);
        }
        Encoding::Plain if fits_block(&file.content) => {
            out.push_str("  content: |\n");
            for line in file.content.lines() {
                if line.is_empty() {
                    out.push('\n');
                } else {
                    let _ = writeln!(out, "    {line}");
                }
            }
        }
        Encoding::Plain => {
            let _ = writeln!(out, "  content: {}", quoted(&file.content));
        }
    }
}

/// Whether a literal block gives `text` back exactly: one newline at the end, no blank at the start, nothing that
/// YAML does not print.
fn fits_block(text: &str) -> bool {
    text.ends_with('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(|c| {
            c == '\n'
                || c == '\t'
                || (!c.is_control()
                    && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'))
        })
}

/// A double-quoted YAML scalar. JSON's form of a string is one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// gzip and base64, the same bytes for the same text at any time.
pub(crate) fn compress(content: &[u8]) -> String {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    STANDARD.encode(written.expect("writing to memory does not fail"))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn read_back(file: WriteFile) -> serde_json::Value {
        let config = CloudConfig {
            files: vec![file],
            ..CloudConfig::default()
        };
        serde_saphyr::from_str(&config.render().0).unwrap()
    }

    #[test]
    fn plain_text_comes_back_exactly() {
        for text in [
            "a\n",
            "a\n\n  b: 'c'\n#d\n",
            " leading\n",
            "no newline",
            "two\n\n",
            "tab\there\n",
            "\u{1}\n",
            "",
        ] {
            let value = read_back(WriteFile::public("/x", text));
            assert_eq!(value["write_files"][0]["content"], text, "{text:?}");
        }
    }

    #[test]
    fn compressed_text_comes_back_exactly_and_is_reproducible() {
        let text = "#!/bin/bash\n".repeat(50);
        let value = read_back(
            WriteFile::private("/x", text.clone())
                .encoded(Encoding::Compressed)
                .mode("0755"),
        );
        let entry = &value["write_files"][0];
        assert_eq!(entry["encoding"], "gz+b64");
        assert_eq!(entry["permissions"], "0755");
        let bytes = STANDARD.decode(entry["content"].as_str().unwrap()).unwrap();
        let mut back = String::new();
        flate2::read::GzDecoder::new(&bytes[..])
            .read_to_string(&mut back)
            .unwrap();
        assert_eq!(back, text);
        assert_eq!(compress(text.as_bytes()), compress(text.as_bytes()));
    }

    #[test]
    fn sizes_are_told_by_path() {
        let config = CloudConfig {
            files: vec![WriteFile::public("/x", "abc\n")],
            ..CloudConfig::default()
        };
        let (text, sizes) = config.render();
        assert_eq!(sizes.len(), 1);
        assert!(sizes[0].1 < text.len());
    }
}
