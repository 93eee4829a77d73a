//! Microversions of a request.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::ServiceKind;

/// The asked version; `2.1` without a header means the service's own minimum, `0.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Microversion {
    /// Major.
    pub major: u32,
    /// Minor.
    pub minor: u32,
    /// `latest` was asked; then major and minor are the greatest numbers.
    pub latest: bool,
}

impl Microversion {
    /// A version to compare with: `version >= Microversion::new(2, 79)`.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self {
            major,
            minor,
            latest: false,
        }
    }

    /// At least this version.
    #[must_use]
    pub fn at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "latest" {
            return Some(Self {
                major: u32::MAX,
                minor: u32::MAX,
                latest: true,
            });
        }
        let (major, minor) = text.split_once('.')?;
        Some(Self::new(major.parse().ok()?, minor.parse().ok()?))
    }

    /// The version asked in these headers of a service; zero when none is.
    #[must_use]
    pub fn from_headers(kind: Option<ServiceKind>, headers: &http::HeaderMap) -> Self {
        let typed = headers
            .get_all("openstack-api-version")
            .iter()
            .filter_map(|v| v.to_str().ok());
        let wanted = match kind {
            Some(ServiceKind::Nova) => "compute",
            Some(ServiceKind::Cinder) => "volume",
            Some(ServiceKind::Placement) => "placement",
            Some(ServiceKind::Ironic) => "baremetal",
            Some(ServiceKind::Barbican) => "key-manager",
            _ => "",
        };
        let named = typed.flat_map(|v| v.split(',')).find_map(|v| {
            let (service, version) = v.trim().split_once(' ')?;
            (service == wanted).then(|| Self::parse(version)).flatten()
        });
        let own = match kind {
            Some(ServiceKind::Nova) => headers.get("x-openstack-nova-api-version"),
            Some(ServiceKind::Ironic) => headers.get("x-openstack-ironic-api-version"),
            _ => None,
        };
        named
            .or_else(|| own.and_then(|v| v.to_str().ok()).and_then(Self::parse))
            .unwrap_or_default()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Microversion {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::from_headers(
            parts.extensions.get::<ServiceKind>().copied(),
            &parts.headers,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_headers_are_read() {
        let mut headers = http::HeaderMap::new();
        assert_eq!(
            Microversion::from_headers(Some(ServiceKind::Nova), &headers),
            Microversion::default()
        );
        headers.insert("x-openstack-nova-api-version", "2.79".parse().unwrap());
        assert!(Microversion::from_headers(Some(ServiceKind::Nova), &headers).at_least(2, 79));
        headers.insert("openstack-api-version", "compute 2.96".parse().unwrap());
        assert_eq!(
            Microversion::from_headers(Some(ServiceKind::Nova), &headers),
            Microversion::new(2, 96)
        );
        headers.insert("openstack-api-version", "compute latest".parse().unwrap());
        assert!(Microversion::from_headers(Some(ServiceKind::Nova), &headers).latest);
    }
}
