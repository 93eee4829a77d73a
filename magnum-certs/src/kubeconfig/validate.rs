//! Checks that a kubeconfig holds together.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;
use zeroize::Zeroizing;

use super::model::{ClusterEntry, Kubeconfig, UserEntry};
use crate::{Certificate, Credential, Error, PrivateKey};

impl Kubeconfig {
    /// Checks that names are unique, contexts lead to clusters and users, the current context exists, addresses are addresses, and
    /// embedded data is what it should be: certificates, and keys that belong to them.
    ///
    /// # Errors
    /// [`Error::BadKubeconfig`] with all problems in one text.
    pub fn validate(&self) -> Result<(), Error> {
        let mut problems = Vec::new();
        if self.api_version != "v1" || self.kind != "Config" {
            problems.push("it is not apiVersion v1, kind Config".to_owned());
        }
        let clusters = names(
            "cluster",
            self.clusters.iter().map(|entry| entry.name.as_str()),
            &mut problems,
        );
        let users = names(
            "user",
            self.users.iter().map(|entry| entry.name.as_str()),
            &mut problems,
        );
        let contexts = names(
            "context",
            self.contexts.iter().map(|entry| entry.name.as_str()),
            &mut problems,
        );
        for entry in &self.contexts {
            if !clusters.contains(entry.context.cluster.as_str()) {
                problems.push(format!(
                    "context {:?} names the unknown cluster {:?}",
                    entry.name, entry.context.cluster
                ));
            }
            if !users.contains(entry.context.user.as_str()) {
                problems.push(format!(
                    "context {:?} names the unknown user {:?}",
                    entry.name, entry.context.user
                ));
            }
        }
        if !self.current_context.is_empty() && !contexts.contains(self.current_context.as_str()) {
            problems.push(format!(
                "the current context {:?} does not exist",
                self.current_context
            ));
        }
        for entry in &self.clusters {
            problems.extend(
                cluster_problems(&entry.cluster)
                    .into_iter()
                    .map(|why| format!("cluster {:?}: {why}", entry.name)),
            );
        }
        for entry in &self.users {
            problems.extend(
                user_problem(&entry.user).map(|why| format!("user {:?}: {why}", entry.name)),
            );
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Error::BadKubeconfig {
                reason: problems.join("; "),
            })
        }
    }

    /// The cluster and the user of the current context.
    #[must_use]
    pub fn current(&self) -> Option<(&ClusterEntry, &UserEntry)> {
        let context = self
            .contexts
            .iter()
            .find(|entry| entry.name == self.current_context)?;
        let cluster = self
            .clusters
            .iter()
            .find(|entry| entry.name == context.context.cluster)?;
        let user = self
            .users
            .iter()
            .find(|entry| entry.name == context.context.user)?;
        Some((&cluster.cluster, &user.user))
    }
}

impl ClusterEntry {
    /// What is wrong with the server's and the proxy's address.
    pub(super) fn address_problems(&self) -> Vec<String> {
        let has_scheme = |text: &str, schemes: &[&str]| {
            Url::parse(text).is_ok_and(|url| schemes.contains(&url.scheme()) && url.has_host())
        };
        let mut problems = Vec::new();
        if !has_scheme(&self.server, &["https", "http"]) {
            problems.push("the server is no http(s) address".to_owned());
        }
        if self
            .proxy_url
            .as_deref()
            .is_some_and(|proxy| !has_scheme(proxy, &["https", "http", "socks5"]))
        {
            problems.push("the proxy is no http, https or socks5 address".to_owned());
        }
        problems
    }

    /// The embedded trust bundle.
    ///
    /// # Errors
    /// [`Error::BadKubeconfig`] when it is no base64, else as [`Certificate::bundle_from_pem`].
    pub fn trust(&self) -> Result<Option<Vec<Certificate>>, Error> {
        self.certificate_authority_data
            .as_deref()
            .map(|data| Certificate::bundle_from_pem(&decode(data)?))
            .transpose()
    }
}

impl UserEntry {
    /// The embedded client certificate and key.
    ///
    /// # Errors
    /// [`Error::BadKubeconfig`] when only one of the two is there or one is no base64; [`Error::BadKey`] when they do not belong together.
    pub fn credential(&self) -> Result<Option<Credential>, Error> {
        match (&self.client_certificate_data, &self.client_key_data) {
            (Some(certificate), Some(key)) => {
                // A chain may be embedded: the first is the client's own.
                let chain = Certificate::bundle_from_pem(&decode(certificate)?)?;
                let Some(own) = chain.into_iter().next() else {
                    return Ok(None);
                };
                Credential::new(own, PrivateKey::from_pem(&decode(key.expose())?)?).map(Some)
            }
            (None, None) => Ok(None),
            (Some(_), None) if self.client_key.is_some() => Ok(None),
            (None, Some(_)) if self.client_certificate.is_some() => Ok(None),
            _ => Err(Error::BadKubeconfig {
                reason: "a client certificate and its key come together".to_owned(),
            }),
        }
    }
}

fn names<'a>(
    kind: &str,
    all: impl Iterator<Item = &'a str>,
    problems: &mut Vec<String>,
) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    for name in all {
        if !seen.insert(name) {
            problems.push(format!("{kind} {name:?} is there twice"));
        }
    }
    seen
}

fn cluster_problems(cluster: &ClusterEntry) -> Vec<String> {
    let mut problems = cluster.address_problems();
    match (cluster.trust(), cluster.insecure_skip_tls_verify) {
        (Err(error), _) => problems.push(format!("certificate-authority-data: {error}")),
        (Ok(Some(_)), Some(true)) => {
            problems.push("it both trusts an authority and skips verification".to_owned());
        }
        _ => {}
    }
    problems
}

fn user_problem(user: &UserEntry) -> Option<String> {
    user.credential().err().map(|error| error.to_string())
}

fn decode(data: &str) -> Result<Zeroizing<String>, Error> {
    let bad = || Error::BadKubeconfig {
        reason: "embedded data is no base64 of text".to_owned(),
    };
    let bytes = STANDARD.decode(data.trim()).map_err(|_| bad())?;
    String::from_utf8(bytes)
        .map(Zeroizing::new)
        .map_err(|_| bad())
}
