//! Barbican.

use std::sync::Arc;

use axum::Router;
use serde_json::{Value, json};

use super::{Cloud, Persist, Service, ServiceKind, Store};

/// The service.
#[derive(Debug, Default)]
pub struct Barbican {
    state: Store<()>,
}

impl Barbican {
    /// A service with its seeded objects.
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
        Router::new()
    }

    fn inventory(&self, _project: Option<&str>) -> Value {
        json!({})
    }
}
