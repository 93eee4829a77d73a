//! Which driver runs a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ClusterDriver;
use crate::model::{ServerType, TemplateSpec};

/// A combination for which a driver is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DriverSelector {
    /// Virtual machines or bare metal.
    pub server_type: ServerType,
    /// The nodes' operating system, as in the image's `os_distro`.
    pub distro: String,
    /// The container orchestration engine.
    pub coe: String,
}

impl DriverSelector {
    /// A selector for Kubernetes on a distribution.
    pub fn kubernetes(server_type: ServerType, distro: impl Into<String>) -> Self {
        Self {
            server_type,
            distro: distro.into(),
            coe: "kubernetes".to_owned(),
        }
    }
}

/// Why no driver could be registered or found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two drivers of one name.
    #[error("a driver named {0} is registered already")]
    DuplicateName(String),
    /// Two drivers for one combination; a template must name the driver then, so registering both as default is refused.
    #[error(
        "drivers {first} and {second} both claim server type {server_type}, distribution {distro}, engine {coe}"
    )]
    DuplicateSelector {
        /// The driver registered first.
        first: String,
        /// The driver registered second.
        second: String,
        /// The combination's server type.
        server_type: &'static str,
        /// The combination's distribution.
        distro: String,
        /// The combination's engine.
        coe: String,
    },
    /// No driver of that name.
    #[error("no driver is named {name:?}; there are: {known}")]
    UnknownName {
        /// The name.
        name: String,
        /// The names that are registered.
        known: String,
    },
    /// No driver for that combination.
    #[error("no driver supports server type {server_type}, distribution {distro}, engine {coe}")]
    UnknownSelector {
        /// The server type.
        server_type: &'static str,
        /// The distribution.
        distro: String,
        /// The engine.
        coe: String,
    },
}

/// All drivers of an engine, by name and by what they are chosen for.
#[derive(Debug, Clone, Default)]
pub struct DriverRegistry {
    by_name: BTreeMap<String, Arc<dyn ClusterDriver>>,
}

impl DriverRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver.
    ///
    /// # Errors
    /// Where its name or one of its selectors is taken.
    pub fn register(&mut self, driver: Arc<dyn ClusterDriver>) -> Result<(), RegistryError> {
        let name = driver.name().to_owned();
        if self.by_name.contains_key(&name) {
            return Err(RegistryError::DuplicateName(name));
        }
        for selector in driver.selectors() {
            if let Some(other) = self.find(&selector) {
                return Err(RegistryError::DuplicateSelector {
                    first: other.name().to_owned(),
                    second: name,
                    server_type: selector.server_type.as_str(),
                    distro: selector.distro,
                    coe: selector.coe,
                });
            }
        }
        self.by_name.insert(name, driver);
        Ok(())
    }

    /// The driver of that name.
    ///
    /// # Errors
    /// [`RegistryError::UnknownName`] with the names that exist.
    pub fn by_name(&self, name: &str) -> Result<&Arc<dyn ClusterDriver>, RegistryError> {
        self.by_name
            .get(name)
            .ok_or_else(|| RegistryError::UnknownName {
                name: name.to_owned(),
                known: self.names().collect::<Vec<_>>().join(", "),
            })
    }

    /// The driver for a template: the one it names, else the one for its combination.
    ///
    /// # Errors
    /// Where there is none.
    pub fn for_template(
        &self,
        spec: &TemplateSpec,
    ) -> Result<&Arc<dyn ClusterDriver>, RegistryError> {
        if let Some(name) = &spec.driver {
            return self.by_name(name);
        }
        let selector = DriverSelector {
            server_type: spec.server_type,
            distro: spec.distro.clone(),
            coe: spec.coe.clone(),
        };
        self.find(&selector).ok_or(RegistryError::UnknownSelector {
            server_type: selector.server_type.as_str(),
            distro: selector.distro,
            coe: selector.coe,
        })
    }

    /// The names of all drivers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    fn find(&self, selector: &DriverSelector) -> Option<&Arc<dyn ClusterDriver>> {
        self.by_name
            .values()
            .find(|driver| driver.selectors().contains(selector))
    }
}
