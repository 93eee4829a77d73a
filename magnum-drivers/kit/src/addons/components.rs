//! The table of versions, images and origins.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use magnum_core::KubeVersion;
use serde::Deserialize;

use super::error::AddonError;

const TABLE: &str = include_str!("../../manifests/components.yaml");

/// A component of the bundle for one Kubernetes minor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Version.
    pub version: String,
    /// Where it comes from.
    pub source: String,
    /// Images by their part in the manifests.
    pub images: BTreeMap<String, String>,
}

type Table = BTreeMap<String, BTreeMap<String, Component>>;

static COMPONENTS: LazyLock<Result<Table, String>> =
    LazyLock::new(|| serde_saphyr::from_str(TABLE).map_err(|error| error.to_string()));

/// The Kubernetes minors that the bundle knows, for instance `1.36`.
#[must_use]
pub fn supported_minors() -> Vec<String> {
    COMPONENTS
        .as_ref()
        .map(|table| table.keys().cloned().collect())
        .unwrap_or_default()
}

/// The component `name` for a Kubernetes version.
pub(crate) fn component(
    name: &str,
    kubernetes: &KubeVersion,
) -> Result<&'static Component, AddonError> {
    let table = COMPONENTS.as_ref().map_err(|reason| AddonError::Manifest {
        addon: name.to_owned(),
        reason: reason.clone(),
    })?;
    let minor = format!("{}.{}", kubernetes.major(), kubernetes.minor());
    table
        .get(&minor)
        .and_then(|components| components.get(name))
        .ok_or_else(|| AddonError::Unsupported {
            what: format!("add-on {name} for Kubernetes {kubernetes}"),
            reason: format!(
                "the bundle has Kubernetes {}",
                supported_minors().join(", ")
            ),
        })
}

/// An image from another place: `prefix` and the last part of its name.
pub(crate) fn relocated(image: &str, prefix: Option<&str>) -> String {
    match prefix {
        None => image.to_owned(),
        Some(prefix) => {
            let name = image.rsplit('/').next().unwrap_or(image);
            format!("{}/{name}", prefix.trim_end_matches('/'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_minor_has_every_component_with_version_source_and_images() {
        assert_eq!(supported_minors(), ["1.34", "1.35", "1.36", "1.37"]);
        for minor in supported_minors() {
            let kubernetes: KubeVersion = format!("{minor}.0").parse().unwrap();
            for name in [
                "flannel",
                "openstack-cloud-controller-manager",
                "cinder-csi",
                "metrics-server",
            ] {
                let component = component(name, &kubernetes).unwrap();
                assert!(
                    component.source.starts_with("https://")
                        && component.source.ends_with(&component.version)
                );
                for image in component.images.values() {
                    assert!(
                        image
                            .rsplit_once(':')
                            .is_some_and(|(_, tag)| tag.starts_with('v')),
                        "{image}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_cloud_provider_is_never_newer_than_the_api_server() {
        for minor in supported_minors() {
            let kubernetes: KubeVersion = format!("{minor}.0").parse().unwrap();
            let version: KubeVersion = component("openstack-cloud-controller-manager", &kubernetes)
                .unwrap()
                .version
                .parse()
                .unwrap();
            assert!(
                version.minor() <= kubernetes.minor() && version.minor() + 1 >= kubernetes.minor()
            );
        }
    }

    #[test]
    fn an_unknown_minor_is_refused_with_what_there_is() {
        let error = component("flannel", &"v1.33.0".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "add-on flannel for Kubernetes v1.33.0 is not supported: the bundle has Kubernetes 1.34, 1.35, 1.36, 1.37"
        );
    }

    #[test]
    fn images_are_relocated_as_magnum_does() {
        let image = "registry.k8s.io/provider-os/cinder-csi-plugin:v1.36.0";
        assert_eq!(
            relocated(image, Some("r.example.org/m/")),
            "r.example.org/m/cinder-csi-plugin:v1.36.0"
        );
        assert_eq!(relocated(image, None), image);
    }
}
