//! Names in certificates: subjects and subject alternative names.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{Error, der};

/// Longest common name and organization: `system:node:` and the longest node name. RFC 5280 names 64 as an upper bound;
/// neither Go, OpenSSL, rustls nor Kubernetes holds to it, and node names of up to 253 characters are ordinary.
const MAX_ATTRIBUTE: usize = 265;

/// A subject: for Kubernetes, the common name is the user and the organizations are its groups.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    common_name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    organizations: Vec<String>,
}

impl Subject {
    /// A subject from a common name (1 to 265 characters) and organizations (sorted, each once).
    ///
    /// # Errors
    /// [`Error::BadName`] when a part is empty, longer than 265 characters or holds control characters.
    pub fn new<I>(common_name: &str, organizations: I) -> Result<Self, Error>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let organizations: BTreeSet<String> = organizations.into_iter().map(Into::into).collect();
        for part in std::iter::once(common_name).chain(organizations.iter().map(String::as_str)) {
            let bad = |reason| {
                Err(Error::BadName {
                    name: part.to_owned(),
                    reason,
                })
            };
            if part.trim().is_empty() {
                return bad("a subject's parts are not blank");
            }
            if part.chars().count() > MAX_ATTRIBUTE {
                return bad("a subject's parts have at most 265 characters");
            }
            if part.chars().any(char::is_control) {
                return bad("a subject has no control characters");
            }
        }
        Ok(Self {
            common_name: common_name.to_owned(),
            organizations: organizations.into_iter().collect(),
        })
    }

    /// The common name: the user, for Kubernetes.
    #[must_use]
    pub fn common_name(&self) -> &str {
        &self.common_name
    }

    /// The organizations: the groups, for Kubernetes.
    #[must_use]
    pub fn organizations(&self) -> &[String] {
        &self.organizations
    }

    /// The `Name` in DER.
    pub(crate) fn to_der(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for organization in &self.organizations {
            content.extend_from_slice(&der::rdn(der::oid::ORGANIZATION, organization));
        }
        content.extend_from_slice(&der::rdn(der::oid::COMMON_NAME, &self.common_name));
        der::tlv(der::tag::SEQUENCE, &content)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for organization in &self.organizations {
            write!(f, "O={organization}, ")?;
        }
        write!(f, "CN={}", self.common_name)
    }
}

/// Subject alternative names: DNS names and IP addresses, each once, in a stable order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct AltNames {
    dns: BTreeSet<String>,
    ip: BTreeSet<IpAddr>,
}

impl AltNames {
    /// No names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads names separated by commas, for example `api.example.org,10.0.0.5,2001:db8::1`; blank parts are skipped.
    ///
    /// # Errors
    /// [`Error::BadName`] with the first part that is neither a DNS name nor an address.
    pub fn parse(list: &str) -> Result<Self, Error> {
        Self::new().with_all(
            list.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty()),
        )
    }

    /// Adds one name: an address in any usual form (IPv6 also in brackets), else a DNS name.
    ///
    /// # Errors
    /// [`Error::BadName`] when it is neither.
    pub fn with(mut self, name: &str) -> Result<Self, Error> {
        let bare = name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(name);
        if let Ok(address) = bare.parse::<IpAddr>() {
            self.ip.insert(address);
        } else {
            self.dns.insert(dns_name(name)?);
        }
        Ok(self)
    }

    /// Adds several names.
    ///
    /// # Errors
    /// [`Error::BadName`] with the first bad one.
    pub fn with_all<I>(self, names: I) -> Result<Self, Error>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        names
            .into_iter()
            .try_fold(self, |all, name| all.with(name.as_ref()))
    }

    /// Adds an address.
    #[must_use]
    pub fn with_ip(mut self, address: IpAddr) -> Self {
        self.ip.insert(address);
        self
    }

    /// The DNS names, sorted.
    pub fn dns(&self) -> impl Iterator<Item = &str> {
        self.dns.iter().map(String::as_str)
    }

    /// The addresses, sorted.
    pub fn ip(&self) -> impl Iterator<Item = IpAddr> {
        self.ip.iter().copied()
    }

    /// All names as text: DNS names first, then addresses.
    pub fn iter(&self) -> impl Iterator<Item = String> {
        self.dns
            .iter()
            .cloned()
            .chain(self.ip.iter().map(ToString::to_string))
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dns.is_empty() && self.ip.is_empty()
    }

    /// Whether `name` is among them.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match name.parse::<IpAddr>() {
            Ok(address) => self.ip.contains(&address),
            Err(_) => self.dns.contains(&name.to_ascii_lowercase()),
        }
    }

    /// The names of `self` that are not in `allowed`.
    #[must_use]
    pub fn beyond(&self, allowed: &Self) -> Vec<String> {
        let dns = self.dns.difference(&allowed.dns).cloned();
        dns.chain(self.ip.difference(&allowed.ip).map(ToString::to_string))
            .collect()
    }

    /// The value of the subjectAltName extension in DER.
    pub(crate) fn to_der(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for name in &self.dns {
            content.extend_from_slice(&der::tlv(0x82, name.as_bytes()));
        }
        for address in &self.ip {
            content.extend_from_slice(&match address {
                IpAddr::V4(v4) => der::tlv(0x87, &v4.octets()),
                IpAddr::V6(v6) => der::tlv(0x87, &v6.octets()),
            });
        }
        der::tlv(der::tag::SEQUENCE, &content)
    }
}

impl TryFrom<Vec<String>> for AltNames {
    type Error = Error;

    fn try_from(names: Vec<String>) -> Result<Self, Error> {
        Self::new().with_all(names)
    }
}

impl From<AltNames> for Vec<String> {
    fn from(names: AltNames) -> Self {
        names.iter().collect()
    }
}

/// The names that an API server's certificate carries (rule CK-05): `kubernetes`, `kubernetes.default`,
/// `kubernetes.default.svc`, the last with the DNS domain, the first address of each service range, `127.0.0.1`,
/// `localhost`, and `extra` (load balancer, floating IP, own addresses, names given by the user).
///
/// # Errors
/// [`Error::BadName`] when the domain is no DNS name or a range is no CIDR.
pub fn api_server_names(
    dns_domain: &str,
    service_ranges: &[&str],
    extra: &AltNames,
) -> Result<AltNames, Error> {
    let domain = dns_name(dns_domain)?;
    let mut names = extra
        .clone()
        .with_all([
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "localhost",
            "127.0.0.1",
        ])?
        .with(&format!("kubernetes.default.svc.{domain}"))?;
    for range in service_ranges {
        names = names.with_ip(first_address(range)?);
    }
    Ok(names)
}

/// The first usable address of a range, which Kubernetes gives to its own service: `10.254.0.0/16` -> `10.254.0.1`.
///
/// # Errors
/// [`Error::BadName`] when `range` is no CIDR or has no second address.
pub fn first_address(range: &str) -> Result<IpAddr, Error> {
    let bad = |reason| Error::BadName {
        name: range.to_owned(),
        reason,
    };
    let net: IpNet = range
        .parse()
        .map_err(|_| bad("an address range looks like 10.254.0.0/16"))?;
    let first = match net.network() {
        IpAddr::V4(v4) => u32::from(v4).checked_add(1).map(|n| IpAddr::V4(n.into())),
        IpAddr::V6(v6) => u128::from(v6).checked_add(1).map(|n| IpAddr::V6(n.into())),
    };
    first
        .filter(|address| net.contains(address))
        .ok_or_else(|| bad("the range has one address only"))
}

/// Checks and lower-cases a DNS name; one leading `*.` is allowed.
pub(crate) fn dns_name(name: &str) -> Result<String, Error> {
    let bad = |reason| {
        Err(Error::BadName {
            name: name.chars().take(80).collect(),
            reason,
        })
    };
    if name.is_empty() || name.len() > 253 {
        return bad("a DNS name has 1 to 253 characters");
    }
    for label in name.strip_prefix("*.").unwrap_or(name).split('.') {
        if label.is_empty() || label.len() > 63 {
            return bad("a DNS label has 1 to 63 characters");
        }
        if !label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        {
            return bad("a DNS name has letters, digits, hyphens and dots only");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return bad("a DNS label neither begins nor ends with a hyphen");
        }
    }
    Ok(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ck_05_names_of_the_api_server() {
        let extra = AltNames::parse("172.24.4.10, 10.0.0.5").unwrap();
        let names =
            api_server_names("cluster.local", &["10.254.0.0/16", "fd00:1::/112"], &extra).unwrap();
        for name in [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "10.254.0.1",
            "fd00:1::1",
            "127.0.0.1",
            "172.24.4.10",
            "10.0.0.5",
        ] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn ck_06_extra_names_have_their_type_and_come_once() {
        let names =
            AltNames::parse("api.example.org,10.0.0.5,2001:db8::1,API.example.org,10.0.0.5,,")
                .unwrap();
        assert_eq!(names.dns().collect::<Vec<_>>(), ["api.example.org"]);
        assert_eq!(
            names.ip().map(|ip| ip.to_string()).collect::<Vec<_>>(),
            ["10.0.0.5", "2001:db8::1"]
        );
        assert_eq!(AltNames::parse("[2001:db8::1]").unwrap().ip().count(), 1);
        for bad in [
            "bad name!",
            "a..b",
            "-a",
            "a-",
            "10.0.0.0/8 ",
            "a_b",
            &"a".repeat(64),
            "ex.*.org",
            "ü.org",
        ] {
            assert!(
                matches!(AltNames::parse(bad), Err(Error::BadName { .. })),
                "{bad}"
            );
        }
        assert!(AltNames::parse("*.apps.example.org").is_ok());
    }

    #[test]
    fn subjects_are_checked_and_sorted() {
        let subject = Subject::new("alice", ["team-b", "team-a", "team-b"]).unwrap();
        assert_eq!(subject.to_string(), "O=team-a, O=team-b, CN=alice");
        for bad in ["", " ", "a\nb", &"x".repeat(266)] {
            assert!(
                matches!(
                    Subject::new(bad, Vec::<String>::new()),
                    Err(Error::BadName { .. })
                ),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn names_round_trip_through_serde() {
        let names = AltNames::parse("a.b,10.0.0.1").unwrap();
        let text = serde_json::to_string(&names).unwrap();
        assert_eq!(text, r#"["a.b","10.0.0.1"]"#);
        assert_eq!(serde_json::from_str::<AltNames>(&text).unwrap(), names);
        assert!(serde_json::from_str::<AltNames>(r#"["bad name"]"#).is_err());
    }
}
