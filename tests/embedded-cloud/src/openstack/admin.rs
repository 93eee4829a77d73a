//! `/_embedded`: the cloud's own interface for tests: faults, ledger, requests, inventory, shutdown.

use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Cloud;
use super::faults::{Fault, Faults};

pub(super) fn router() -> Router {
    Router::new()
        .route("/faults", post(add_fault).get(faults).delete(clear_faults))
        .route("/faults/{id}", delete(clear_fault))
        .route("/ledger", get(ledger))
        .route("/requests", get(requests))
        .route("/inventory", get(inventory))
        .route("/shutdown", post(shutdown))
}

async fn add_fault(cloud: Cloud, Json(fault): Json<Fault>) -> Response {
    match cloud.inner().faults.add(fault) {
        Ok(fault) => (StatusCode::CREATED, Json(json!(fault))).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

async fn faults(cloud: Cloud) -> Json<Value> {
    Json(json!({"faults": cloud.inner().faults.list()}))
}

async fn clear_faults(cloud: Cloud) -> StatusCode {
    cloud.inner().faults.clear(None);
    StatusCode::NO_CONTENT
}

async fn clear_fault(cloud: Cloud, Path(id): Path<u64>) -> StatusCode {
    cloud.inner().faults.clear(Some(id));
    StatusCode::NO_CONTENT
}

async fn ledger(cloud: Cloud) -> Json<Value> {
    Json(json!({"ledger": cloud.ledger().entries()}))
}

async fn requests(cloud: Cloud) -> Json<Value> {
    Json(json!({"requests": cloud.requests().all()}))
}

#[derive(Debug, Deserialize)]
struct InventoryQuery {
    project: Option<String>,
}

async fn inventory(cloud: Cloud, Query(query): Query<InventoryQuery>) -> Json<Value> {
    Json(cloud.inventory(query.project.as_deref()))
}

async fn shutdown(cloud: Cloud) -> StatusCode {
    cloud.flush().await;
    let ending = cloud.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        ending.stop();
    });
    StatusCode::ACCEPTED
}

impl Cloud {
    /// The scripted faults, for tests inside the process.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.inner().faults
    }

    /// All that exists, by service and kind; with `project` (an id), only what it owns.
    #[must_use]
    pub fn inventory(&self, project: Option<&str>) -> Value {
        let services = self.inner().services.iter();
        let all: Map<String, Value> = services
            .map(|s| (s.kind().name().to_owned(), s.inventory(project)))
            .collect();
        Value::Object(all)
    }
}
