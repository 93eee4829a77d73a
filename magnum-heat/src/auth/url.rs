//! Keystone's address in any usual spelling.

use std::fmt;

use url::Url;

/// Keystone's address; always ends in `/v3` inside, whatever was written (`AU-05`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AuthUrl(Url);

impl AuthUrl {
    /// Reads an address such as `https://k:5000`, `https://k/identity/v3/`.
    ///
    /// # Errors
    /// A sentence when it is not an `http` or `https` URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut url = Url::parse(text.trim()).map_err(|e| e.to_string())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("must begin with http:// or https://".to_owned());
        }
        url.set_query(None);
        url.set_fragment(None);
        // A password in the address would show up in messages.
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a user name or password".to_owned());
        }
        let mut segments: Vec<String> = url
            .path_segments()
            .map(|s| s.filter(|p| !p.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default();
        if segments
            .last()
            .is_some_and(|last| matches!(last.as_str(), "tokens"))
        {
            segments.truncate(segments.len().saturating_sub(2));
        }
        if segments
            .last()
            .is_some_and(|last| matches!(last.as_str(), "v3" | "v2.0"))
        {
            segments.pop();
        }
        segments.push("v3".to_owned());
        url.set_path(&segments.join("/"));
        Ok(Self(url))
    }

    /// The address of a path below `/v3`.
    pub fn join(&self, segments: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend(segments);
        }
        url
    }

    /// The address, ending in `/v3`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The address as a URL, ending in `/v3`.
    pub fn as_url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Debug for AuthUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for AuthUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_05_spellings_of_the_identity_url() {
        for (text, want) in [
            ("https://k:5000", "https://k:5000/v3/auth/tokens"),
            ("https://k:5000/", "https://k:5000/v3/auth/tokens"),
            ("https://k:5000/v3", "https://k:5000/v3/auth/tokens"),
            ("https://k:5000/v3/", "https://k:5000/v3/auth/tokens"),
            ("https://k:5000//v3//", "https://k:5000/v3/auth/tokens"),
            ("https://k/identity", "https://k/identity/v3/auth/tokens"),
            ("https://k/identity/v3", "https://k/identity/v3/auth/tokens"),
            (
                "https://k/identity/v2.0",
                "https://k/identity/v3/auth/tokens",
            ),
            ("https://k/v3/auth/tokens", "https://k/v3/auth/tokens"),
        ] {
            assert_eq!(
                AuthUrl::parse(text)
                    .unwrap()
                    .join(&["auth", "tokens"])
                    .as_str(),
                want,
                "{text}"
            );
        }
        assert!(AuthUrl::parse("k:5000").is_err());
        assert!(AuthUrl::parse("https://user:pw@k:5000").is_err());
    }
}
