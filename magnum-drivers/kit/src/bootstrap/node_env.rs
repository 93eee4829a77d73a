//! `node.env`: the facts about a node as shell assignments.

use std::borrow::Cow;

/// A file of `KEY=value` lines that bash can source.
#[derive(Debug, Default)]
pub(crate) struct NodeEnv {
    text: String,
}

impl NodeEnv {
    /// Appends `key=value`, the value quoted where the shell needs it.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> &mut Self {
        self.text.push_str(key);
        self.text.push('=');
        self.text.push_str(&shell_quote(value));
        self.text.push('\n');
        self
    }

    /// The file.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Quotes `value` for a POSIX shell; plain words stay as they are.
pub(crate) fn shell_quote(value: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("'{}'", value.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn bash_reads_back_what_was_set() {
        let hostile = "a'b \"c\" $(touch /tmp/x) `id` \\ ; # %";
        let mut env = NodeEnv::default();
        env.set("PLAIN", "v1.36.1")
            .set("EMPTY", "")
            .set("HOSTILE", hostile);
        let script = format!(
            "{}printf '%s|%s|%s' \"$PLAIN\" \"$EMPTY\" \"$HOSTILE\"",
            env.into_text()
        );
        let output = Command::new("bash").arg("-c").arg(script).output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("v1.36.1||{hostile}")
        );
    }
}
