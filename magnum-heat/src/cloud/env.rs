//! The process environment as a value, filled at the edge.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use url::Url;

use super::ConfigError;

/// Environment variables and folders that settings are read from.
///
/// Libraries and tests pass it on; only the program's edge calls [`Env::from_process`]. `Debug` shows names only.
#[derive(Clone, Default)]
pub struct Env {
    vars: BTreeMap<String, String>,
    /// Current folder, the first place `clouds.yaml` is looked for; `None` skips it.
    pub current_dir: Option<PathBuf>,
    /// Site-wide folder, the last place. Default `/etc/openstack` from the process, none otherwise.
    pub site_dir: Option<PathBuf>,
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field(
                "names",
                &self
                    .vars
                    .keys()
                    .filter(|k| k.starts_with("OS_"))
                    .collect::<Vec<_>>(),
            )
            .field("current_dir", &self.current_dir)
            .finish_non_exhaustive()
    }
}

impl Env {
    /// The environment of this process.
    pub fn from_process() -> Self {
        Self {
            vars: std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
            current_dir: std::env::current_dir().ok(),
            site_dir: Some(PathBuf::from("/etc/openstack")),
        }
    }

    /// An environment of the given variables and no folders.
    pub fn from_vars<K: Into<String>, V: Into<String>>(
        vars: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self {
            vars: vars
                .into_iter()
                .map(|(k, v)| (k.into(), v.into()))
                .collect(),
            ..Self::default()
        }
    }

    /// Value of a variable; empty counts as unset.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    }

    /// The proxy for this address, by the usual variables in either case.
    pub(crate) fn proxy_for(&self, url: &Url) -> Result<Option<Url>, ConfigError> {
        let either = |name: &str| self.var(name).or_else(|| self.var(&name.to_uppercase()));
        let host = url.host_str().unwrap_or_default();
        let direct = either("no_proxy").is_some_and(|list| {
            list.split(',')
                .map(str::trim)
                .filter(|entry| !entry.is_empty())
                .any(|entry| {
                    let entry = entry.trim_start_matches('.');
                    let below = host
                        .strip_suffix(entry)
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                    entry == "*" || below
                })
        });
        let name = if url.scheme() == "https" {
            "https_proxy"
        } else {
            "http_proxy"
        };
        let Some(text) = either(name)
            .or_else(|| either("all_proxy"))
            .filter(|_| !direct)
        else {
            return Ok(None);
        };
        let text = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        Url::parse(&text)
            .map(Some)
            .map_err(|e| ConfigError::BadValue {
                place: "environment".to_owned(),
                key: name.to_owned(),
                reason: e.to_string(),
            })
    }

    /// Folders searched for configuration files, in order.
    pub(crate) fn config_dirs(&self) -> Vec<PathBuf> {
        let user = self
            .var("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| {
                self.var("HOME")
                    .map(|home| PathBuf::from(home).join(".config"))
            })
            .map(|dir| dir.join("openstack"));
        self.current_dir
            .clone()
            .into_iter()
            .chain(user)
            .chain(self.site_dir.clone())
            .collect()
    }
}
