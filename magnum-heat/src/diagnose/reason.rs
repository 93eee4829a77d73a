//! Taking a reason of Heat apart: `Forbidden: resources.workers.resources[2].resources.server: text (HTTP 403) (..)`.

/// A reason, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Reason {
    /// Exception that Heat names, as `ResourceInError`; empty when there is none.
    pub error: String,
    /// Resources it came through, outermost first.
    pub path: Vec<String>,
    /// What is left: the message.
    pub message: String,
    /// Status or code in the text.
    pub code: Option<u16>,
    /// Request id in the text.
    pub request_id: Option<String>,
}

impl Reason {
    /// Takes a reason apart. Never fails; what is not recognised stays in the message.
    pub fn parse(text: &str) -> Self {
        let mut reason = Self::default();
        let mut rest = text.trim();
        loop {
            let before = rest;
            if let Some(inner) = after_failed(rest) {
                rest = inner;
            }
            if let Some((error, inner)) = exception(rest) {
                reason.error = error.to_owned();
                rest = inner;
            }
            if let Some((path, inner)) = resource_path(rest) {
                reason.path.extend(path);
                rest = inner;
            }
            if rest == before {
                break;
            }
        }
        rest = reason.take_endings(rest);
        rest = reason.take_server_fault(rest);
        reason.message = rest.trim().trim_end_matches([' ', ',']).to_owned();
        reason
    }

    /// Takes `(HTTP 403)` and `(Request-ID: req-..)` off the end.
    fn take_endings<'a>(&mut self, mut rest: &'a str) -> &'a str {
        while let Some(open) = rest.strip_suffix(')').and_then(|r| r.rfind('(')) {
            let inside = &rest[open + 1..rest.len() - 1];
            if let Some(id) = inside.strip_prefix("Request-ID:") {
                self.request_id = Some(id.trim().to_owned());
            } else if let Some(code) = inside
                .strip_prefix("HTTP ")
                .and_then(|c| c.trim().parse().ok())
            {
                self.code = Some(code);
            } else {
                break;
            }
            rest = rest[..open].trim_end();
        }
        rest
    }

    /// Takes the message out of `Went to status ERROR due to "Message: .., Code: 500"`.
    fn take_server_fault<'a>(&mut self, rest: &'a str) -> &'a str {
        let Some(inner) = rest.strip_prefix("Went to status ERROR due to ") else {
            return rest;
        };
        let inner = inner.trim_matches('"');
        let inner = inner.strip_prefix("Message: ").unwrap_or(inner);
        match inner.rsplit_once(", Code: ") {
            Some((message, code)) => {
                self.code = code.trim().parse().ok();
                message
            }
            None => inner,
        }
    }

    /// Whether it only says that this was given up because something else failed.
    pub fn is_follower(&self) -> bool {
        let text = self.message.to_ascii_lowercase();
        let stopped = [
            "create", "update", "delete", "suspend", "resume", "rollback", "check",
        ]
        .iter()
        .any(|action| {
            text.contains(&format!("{action} aborted"))
                || text.contains(&format!("{action} cancelled"))
        });
        stopped
            || text.contains("cancelled)")
            || text == "cancelled"
            || text.contains("operation cancelled")
            || (self.message.is_empty() && self.error.is_empty())
    }
}

/// What follows `Resource CREATE failed: `.
fn after_failed(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Resource ")?;
    let (action, rest) = rest.split_once(' ')?;
    let known = !action.is_empty() && action.chars().all(|c| c.is_ascii_uppercase());
    known.then(|| rest.strip_prefix("failed: ")).flatten()
}

/// A leading `SomeError: `.
fn exception(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(": ")?;
    let good = word.len() >= 3
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        && word.chars().any(|c| c.is_ascii_lowercase())
        && (word.chars().filter(char::is_ascii_uppercase).count() > 1
            || matches!(
                word,
                "Forbidden" | "Conflict" | "Unauthorized" | "Error" | "Exception"
            ));
    good.then_some((word, rest))
}

/// A leading `resources.a.resources[2].resources.b: `.
fn resource_path(text: &str) -> Option<(Vec<String>, &str)> {
    let mut path = Vec::new();
    let mut rest = text;
    while let Some(inner) = rest.strip_prefix("resources") {
        let (name, after) = match inner.as_bytes().first()? {
            b'.' => {
                let inner = &inner[1..];
                let dot = inner.find(".resources").map(|at| (at, 1));
                let colon = inner.find(": ").map(|at| (at, 0));
                let (end, skip) = [dot, colon].into_iter().flatten().min()?;
                (&inner[..end], &inner[end + skip..])
            }
            b'[' => {
                let (name, after) = inner[1..].split_once(']')?;
                (
                    name.trim_matches(['"', '\'']),
                    after.strip_prefix('.').unwrap_or(after),
                )
            }
            _ => return None,
        };
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        path.push(name.to_owned());
        rest = after;
    }
    let rest = rest.strip_prefix(": ")?;
    (!path.is_empty()).then_some((path, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_taken_apart() {
        let reason = Reason::parse(
            "Resource CREATE failed: Forbidden: resources.workers.resources[2].resources.server: Quota exceeded for instances: Requested 1, but already used 33 of 32 instances (HTTP 403) (Request-ID: req-261e134f)",
        );
        assert_eq!(
            (reason.error.as_str(), reason.path.join("/")),
            ("Forbidden", "workers/2/server".to_owned())
        );
        assert_eq!(
            reason.message,
            "Quota exceeded for instances: Requested 1, but already used 33 of 32 instances"
        );
        assert_eq!(
            (reason.code, reason.request_id.as_deref()),
            (Some(403), Some("req-261e134f"))
        );

        let reason = Reason::parse(
            "resources.workers: Resource CREATE failed: Forbidden: resources[5].resources.server: Quota exceeded",
        );
        assert_eq!(reason.path.join("/"), "workers/5/server");
        assert_eq!(reason.message, "Quota exceeded");

        let reason = Reason::parse(
            "ResourceInError: resources.server: Went to status ERROR due to \"Message: No valid host was found. , Code: 500\"",
        );
        assert_eq!(
            (reason.message.as_str(), reason.code),
            ("No valid host was found.", Some(500))
        );
        for text in [
            "",
            "resources",
            "resources.",
            "resources[",
            "state changed",
            "Error: ",
            "a: b",
            "resources.x y: z",
            "(",
            ")",
        ] {
            Reason::parse(text);
        }
        assert_eq!(
            Reason::parse("Property error: x").message,
            "Property error: x"
        );
    }

    #[test]
    fn op_02_followers_are_known() {
        for text in [
            "resources[3]: Stack CREATE cancelled",
            "CREATE aborted (Task create from Server \"server2\" Stack \"x\" [1] cancelled)",
            "CREATE aborted",
            "",
        ] {
            assert!(Reason::parse(text).is_follower(), "{text}");
        }
        for text in [
            "Build of instance 5 aborted: no network",
            "No valid host was found.",
        ] {
            assert!(!Reason::parse(text).is_follower(), "{text}");
        }
    }
}
