//! The service catalog: from service, interface and region to an endpoint.

use serde::Deserialize;
use url::Url;

use crate::{Error, Interface, Result, request::ServiceType};

/// One endpoint of a service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Endpoint {
    /// `public`, `internal` or `admin`.
    pub interface: String,
    /// Region.
    #[serde(default, alias = "region")]
    region_id: Option<String>,
    /// Address.
    pub url: String,
}

impl Endpoint {
    /// Region.
    pub fn region(&self) -> Option<&str> {
        self.region_id.as_deref()
    }
}

/// One service of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct CatalogService {
    /// Type: `orchestration`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name: `heat`.
    #[serde(default)]
    pub name: String,
    /// Endpoints.
    #[serde(default, deserialize_with = "endpoints")]
    pub endpoints: Vec<Endpoint>,
}

/// Keystone names the region twice; `region_id` wins over `region`.
fn endpoints<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Vec<Endpoint>, D::Error> {
    #[derive(Deserialize)]
    struct Raw {
        interface: String,
        region_id: Option<String>,
        region: Option<String>,
        url: String,
    }
    let raw = Vec::<Raw>::deserialize(d)?;
    Ok(raw
        .into_iter()
        .map(|r| Endpoint {
            interface: r.interface,
            region_id: r.region_id.or(r.region),
            url: r.url,
        })
        .collect())
}

/// All services that the token may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Catalog {
    services: Vec<CatalogService>,
}

impl Catalog {
    /// The services.
    pub fn services(&self) -> &[CatalogService] {
        &self.services
    }

    /// Whether there is none; so with an unscoped token.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    /// The service of this type, or of an alias.
    pub fn service(&self, service: ServiceType) -> Option<&CatalogService> {
        let names = service
            .names()
            .iter()
            .copied()
            .chain(std::iter::once(service.name()));
        names.into_iter().find_map(|name| {
            self.services
                .iter()
                .find(|s| s.kind == name && !s.endpoints.is_empty())
        })
    }

    /// All regions, sorted.
    pub fn regions(&self) -> Vec<String> {
        let mut regions: Vec<String> = self
            .services
            .iter()
            .flat_map(|s| &s.endpoints)
            .filter_map(|e| e.region().map(str::to_owned))
            .collect();
        regions.sort();
        regions.dedup();
        regions
    }

    /// The endpoint of a service, version included.
    ///
    /// # Errors
    /// [`Error::NoService`], [`Error::NoEndpoint`] or [`Error::AmbiguousRegion`]; never another interface or region
    /// than the one asked for.
    pub fn endpoint(
        &self,
        service: ServiceType,
        interface: Interface,
        region: Option<&str>,
    ) -> Result<Url> {
        let found = self.service(service).ok_or_else(|| {
            let mut available: Vec<String> = self.services.iter().map(|s| s.kind.clone()).collect();
            available.sort();
            Error::NoService { service, available }
        })?;
        let in_region: Vec<&Endpoint> = found
            .endpoints
            .iter()
            .filter(|e| region.is_none_or(|r| e.region() == Some(r)))
            .collect();
        let matching: Vec<&Endpoint> = in_region
            .iter()
            .copied()
            .filter(|e| e.interface.trim_end_matches("URL") == interface.as_str())
            .collect();
        let mut regions: Vec<String> = matching
            .iter()
            .filter_map(|e| e.region().map(str::to_owned))
            .collect();
        regions.sort();
        regions.dedup();
        if region.is_none() && regions.len() > 1 {
            return Err(Error::AmbiguousRegion { service, regions });
        }
        let Some(endpoint) = matching.first() else {
            let mut available: Vec<String> = if in_region.is_empty() {
                found
                    .endpoints
                    .iter()
                    .map(|e| format!("{} in {}", e.interface, e.region().unwrap_or("no region")))
                    .collect()
            } else {
                in_region.iter().map(|e| e.interface.clone()).collect()
            };
            available.sort();
            available.dedup();
            let region = region.map(str::to_owned);
            return Err(Error::NoEndpoint {
                service,
                interface: interface.to_string(),
                region,
                available,
            });
        };
        let url = Url::parse(&endpoint.url).map_err(|e| {
            Error::invalid("read the catalog", format!("endpoint of {service}: {e}"))
        })?;
        Ok(with_version(url, service))
    }
}

/// Adds the version path where the endpoint names none.
pub(super) fn with_version(mut url: Url, service: ServiceType) -> Url {
    let has_version = url.path_segments().is_some_and(|mut segments| {
        segments.any(|s| {
            s.strip_prefix('v')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    });
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty();
        if let (false, Some(version)) = (has_version, service.version_path()) {
            path.push(version);
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(endpoints: &str) -> Catalog {
        serde_json::from_str(&format!(
            r#"[{{"type":"orchestration","name":"heat","endpoints":[{endpoints}]}}]"#
        ))
        .unwrap()
    }

    #[test]
    fn au_03_the_interface_is_honoured() {
        let both = catalog(
            r#"{"interface":"public","region_id":"R","url":"http://pub/v1/p"},{"interface":"internal","region":"R","url":"http://int/v1/p"}"#,
        );
        let heat = ServiceType::Orchestration;
        assert_eq!(
            both.endpoint(heat, Interface::Internal, None)
                .unwrap()
                .as_str(),
            "http://int/v1/p"
        );
        let one = catalog(r#"{"interface":"public","region_id":"R","url":"http://pub/v1/p"}"#);
        match one.endpoint(heat, Interface::Internal, None).unwrap_err() {
            Error::NoEndpoint {
                service,
                interface,
                available,
                ..
            } => {
                assert_eq!(
                    (service, interface.as_str(), available),
                    (heat, "internal", vec!["public".to_owned()])
                );
            }
            other => panic!("{other}"),
        }
        assert!(matches!(
            one.endpoint(ServiceType::Compute, Interface::Public, None),
            Err(Error::NoService { .. })
        ));
    }

    #[test]
    fn au_04_several_regions() {
        let two = catalog(
            r#"{"interface":"public","region_id":"R2","url":"http://two/v1/p"},{"interface":"public","region_id":"R1","url":"http://one/v1/p"}"#,
        );
        let heat = ServiceType::Orchestration;
        assert_eq!(
            two.endpoint(heat, Interface::Public, Some("R2"))
                .unwrap()
                .as_str(),
            "http://two/v1/p"
        );
        match two.endpoint(heat, Interface::Public, None).unwrap_err() {
            Error::AmbiguousRegion { regions, .. } => assert_eq!(regions, ["R1", "R2"]),
            other => panic!("{other}"),
        }
        assert!(matches!(
            two.endpoint(heat, Interface::Public, Some("R9")),
            Err(Error::NoEndpoint { .. })
        ));
    }

    #[test]
    fn versions_are_added_where_missing() {
        let url =
            |text: &str, service| with_version(Url::parse(text).unwrap(), service).to_string();
        assert_eq!(
            url("http://h:9696", ServiceType::Network),
            "http://h:9696/v2.0"
        );
        assert_eq!(
            url("http://h:9696/", ServiceType::Network),
            "http://h:9696/v2.0"
        );
        assert_eq!(
            url("http://h/network/v2.0/", ServiceType::Network),
            "http://h/network/v2.0"
        );
        assert_eq!(
            url("http://h/heat/v1/p", ServiceType::Orchestration),
            "http://h/heat/v1/p"
        );
        assert_eq!(
            url("http://h/volume/v3/p", ServiceType::BlockStorage),
            "http://h/volume/v3/p"
        );
    }
}
