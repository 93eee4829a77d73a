//! Orchestration: evaluates templates and builds what they describe through the other services.

mod api;
mod client;
mod engine;
mod events;
mod failure;
mod functions;
mod lookup;
mod model;
mod parts;
mod plugins;
mod request;
mod resources;
mod schema;
mod scope;
mod stacks;
mod step;
mod template;
mod validate;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post};
use serde_json::{Value, json};

use self::client::Client;
use self::failure::Failure;
use self::model::State;
use super::{Cloud, Persist, Service, ServiceKind, Store, seed};

/// Held while a step works on a resource.
type Lock = Arc<tokio::sync::Mutex<()>>;

/// The orchestration service.
#[derive(Debug, Default)]
pub struct Heat {
    state: Store<State>,
    /// Tokens of the owners by stack, not kept over a restart.
    tokens: Mutex<HashMap<String, (String, Instant)>>,
    /// One lock for each resource of each stack: one step at a time.
    locks: Mutex<HashMap<(String, String), Lock>>,
}

impl Heat {
    /// A service without stacks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self, stack: &str, resource: &str) -> Lock {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks
            .entry((stack.to_owned(), resource.to_owned()))
            .or_default()
            .clone()
    }

    /// A token in the name of the stack's owner, by the trust.
    async fn token(&self, cloud: &Cloud, stack: &str, trust: &str) -> Result<String, Failure> {
        let half = cloud.options().token_lifetime / 2;
        let known = self
            .tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(stack)
            .cloned();
        if let Some((token, since)) = known
            && since.elapsed() < half
            && cloud.keystone().caller(cloud, &token).is_some()
        {
            return Ok(token);
        }
        let scope = json!({"OS-TRUST:trust": {"id": trust}});
        let token = Client::login(cloud, seed::HEAT_USER, scope).await?;
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(stack.to_owned(), (token.clone(), Instant::now()));
        Ok(token)
    }

    fn forget_token(&self, stack: &str) {
        self.tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(stack);
        self.locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(s, _), _| s != stack);
    }
}

impl Service for Heat {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Heat
    }

    fn state(&self) -> &dyn Persist {
        &self.state
    }

    fn router(self: Arc<Self>, _cloud: &Cloud) -> Router {
        let stack = "/v1/{project}/stacks/{name}/{id}";
        let by_name = "/v1/{project}/stacks/{name}";
        Router::new()
            .route("/", get(parts::versions))
            .route("/v1/{project}/build_info", get(parts::build_info))
            .route("/v1/{project}/services", get(parts::services))
            .route("/v1/{project}/validate", post(parts::validate))
            .route("/v1/{project}/resource_types", get(parts::resource_types))
            .route(
                "/v1/{project}/resource_types/{kind}",
                get(parts::resource_type),
            )
            .route(
                "/v1/{project}/template_versions",
                get(parts::template_versions),
            )
            .route(
                "/v1/{project}/stacks",
                get(stacks::list).post(stacks::create),
            )
            .route("/v1/{project}/stacks/preview", post(parts::preview))
            .route(by_name, any(stacks::by_name))
            .route(&format!("{by_name}/resources"), get(stacks::by_name_part))
            .route(&format!("{by_name}/events"), get(stacks::by_name_part))
            .route(&format!("{by_name}/template"), get(stacks::by_name_part))
            .route(&format!("{by_name}/outputs"), get(stacks::by_name_part))
            .route(
                stack,
                get(stacks::show)
                    .put(stacks::update)
                    .patch(stacks::update)
                    .delete(stacks::delete),
            )
            .route(&format!("{stack}/template"), get(parts::template))
            .route(&format!("{stack}/files"), get(parts::files))
            .route(&format!("{stack}/environment"), get(parts::environment))
            .route(&format!("{stack}/outputs"), get(parts::outputs))
            .route(&format!("{stack}/outputs/{{key}}"), get(parts::output))
            .route(&format!("{stack}/actions"), post(parts::action))
            .route(&format!("{stack}/events"), get(resources::stack_events))
            .route(&format!("{stack}/resources"), get(resources::list))
            .route(
                &format!("{stack}/resources/{{resource}}"),
                get(resources::show),
            )
            .route(
                &format!("{stack}/resources/{{resource}}/metadata"),
                get(resources::metadata),
            )
            .route(
                &format!("{stack}/resources/{{resource}}/signal"),
                post(resources::signal),
            )
            .route(
                &format!("{stack}/resources/{{resource}}/events"),
                get(resources::resource_events),
            )
            .route(
                &format!("{stack}/resources/{{resource}}/events/{{event}}"),
                get(resources::event),
            )
            .layer(DefaultBodyLimit::max(16 * 1024 * 1024))
            .with_state(self)
    }

    fn inventory(&self, project: Option<&str>) -> Value {
        self.state.read(|s| {
            let living = s.stacks.values().filter(|s| !s.is_deleted());
            let own = living.filter(|s| project.is_none_or(|p| p == s.project_id));
            let list = own.map(|s| json!({"id": s.id, "name": s.name, "project_id": s.project_id, "status": s.stack_status()}));
            json!({"stacks": list.collect::<Vec<_>>()})
        })
    }

    fn resume(self: Arc<Self>, cloud: &Cloud) {
        self.restart(cloud);
    }
}
