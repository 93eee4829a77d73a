//! Barbican: secrets, containers and access lists.

use std::sync::Arc;

use axum::Router;
use serde_json::{Value, json};

use super::{Cloud, Persist, Service, ServiceKind, Store, ask};

pub mod model;
mod routes;

#[cfg(test)]
mod tests;

use model::BarbicanState;

/// The service.
#[derive(Debug, Default)]
pub struct Barbican {
    state: Store<BarbicanState>,
}

impl Barbican {
    /// A service without secrets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Service for Barbican {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Barbican
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        ask::router(&self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        let of = |id: &str| project.is_none_or(|p| p == id);
        self.state.read(|s| {
            let secrets = s.secrets.values().filter(|x| of(&x.project_id));
            let secrets: Vec<Value> = secrets
                .map(|x| json!({"id": x.id, "name": x.name, "project_id": x.project_id}))
                .collect();
            let containers = s.containers.values().filter(|x| of(&x.project_id));
            let containers: Vec<Value> = containers
                .map(|x| json!({"id": x.id, "name": x.name, "project_id": x.project_id}))
                .collect();
            json!({"secrets": secrets, "containers": containers})
        })
    }
}
