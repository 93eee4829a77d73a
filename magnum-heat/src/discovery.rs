//! Version documents of services, and choosing a microversion.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{Error, Result, Session, fault::ApiError, request::ServiceType};

const OPERATION: &str = "discover API versions";

/// One API version of a service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ApiVersion {
    /// `v2.1`, ...
    pub id: String,
    /// `CURRENT`, `SUPPORTED`, `stable`, ...
    #[serde(default)]
    pub status: String,
    /// Newest microversion.
    #[serde(default)]
    max_version: Option<String>,
    /// Newest microversion, as Nova, Cinder and Ironic name it.
    #[serde(default)]
    version: Option<String>,
    /// Oldest microversion.
    #[serde(default)]
    min_version: Option<String>,
}

impl ApiVersion {
    /// Oldest and newest microversion, where the service has any.
    pub fn microversions(&self) -> Option<(Microversion, Microversion)> {
        let newest = self.max_version.as_deref().or(self.version.as_deref())?;
        Some((
            self.min_version.as_deref()?.parse().ok()?,
            newest.parse().ok()?,
        ))
    }
}

/// A microversion: `2.79`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Microversion {
    /// Before the dot.
    pub major: u32,
    /// After the dot.
    pub minor: u32,
}

impl std::fmt::Display for Microversion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl std::str::FromStr for Microversion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no microversion");
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        Ok(Self {
            major: major.parse().map_err(|_| bad())?,
            minor: minor.parse().map_err(|_| bad())?,
        })
    }
}

/// The newest microversion that both sides know: at least `need`, at most `want`; `None` when there is none.
pub fn negotiate(
    offered: (Microversion, Microversion),
    need: Microversion,
    want: Microversion,
) -> Option<Microversion> {
    let best = offered.1.min(want);
    (best >= need && best >= offered.0).then_some(best)
}

/// The versions in a service's version document, in any of its shapes.
///
/// # Errors
/// A sentence when it is none.
pub fn versions(body: &Bytes) -> Result<Vec<ApiVersion>, String> {
    let value: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    let list = match &value {
        Value::Object(map) => match (map.get("versions"), map.get("version")) {
            (Some(Value::Object(inner)), _) => inner.get("values").cloned(),
            (Some(list), _) => Some(list.clone()),
            (None, Some(one)) => Some(Value::Array(vec![one.clone()])),
            (None, None) => None,
        },
        _ => None,
    };
    let Some(Value::Array(items)) = list else {
        return Err("no versions in the answer".to_owned());
    };
    items
        .into_iter()
        .map(|item| serde_json::from_value(item).map_err(|e| e.to_string()))
        .collect()
}

impl Session {
    /// The versions that a service offers, from its version document; no token is sent. Repeated by
    /// the session's policy.
    ///
    /// # Errors
    /// [`Error::Http`], [`Error::Api`], [`Error::Decode`], and those of the catalog.
    pub async fn api_versions(&self, service: ServiceType) -> Result<Vec<ApiVersion>> {
        let mut url = self.endpoint(service).await?;
        let is_version = |s: &str| {
            s.strip_prefix('v')
                .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
        };
        let prefix: Vec<String> = url
            .path_segments()
            .map(|s| {
                s.take_while(|s| !is_version(s))
                    .filter(|s| !s.is_empty())
                    .map(str::to_owned)
                    .collect()
            })
            .unwrap_or_default();
        url.set_path(&format!(
            "/{}",
            prefix.iter().map(|s| format!("{s}/")).collect::<String>()
        ));
        self.repeated(|| self.version_document(service, url.clone()))
            .await
    }

    async fn version_document(
        &self,
        service: ServiceType,
        url: url::Url,
    ) -> Result<Vec<ApiVersion>> {
        let request = http::Request::builder()
            .uri(url.as_str())
            .header(http::header::ACCEPT, "application/json")
            .body(Bytes::new())
            .map_err(|e| Error::invalid(OPERATION, e.to_string()))?;
        let answer = self
            .http()
            .call(request)
            .await
            .map_err(|source| Error::Http {
                operation: OPERATION,
                source,
            })?;
        // Most services answer 300 here.
        if answer.status().as_u16() >= 400 {
            let now = self.now();
            return Err(ApiError::decode(OPERATION, service, &answer, now).into());
        }
        versions(answer.body()).map_err(|message| Error::Decode {
            operation: OPERATION,
            message,
            request_id: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microversions_are_negotiated() {
        let v = |text: &str| text.parse::<Microversion>().unwrap();
        let offered = (v("2.1"), v("2.96"));
        assert_eq!(negotiate(offered, v("2.61"), v("2.79")), Some(v("2.79")));
        assert_eq!(negotiate(offered, v("2.61"), v("2.100")), Some(v("2.96")));
        assert_eq!(negotiate((v("2.1"), v("2.53")), v("2.61"), v("2.79")), None);
        assert!("2".parse::<Microversion>().is_err());
        assert!(versions(&Bytes::from_static(b"[]")).is_err());
    }
}
