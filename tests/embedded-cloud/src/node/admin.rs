//! The admin API of a simulator: faults, nodes, clusters. For tests and for embedding.

use std::sync::Arc;

use axum::extract::{Path, State as Shares};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::config::NodeFault;
use super::shared::Shared;
use super::state::ActiveFault;

type Answer = (StatusCode, Json<Value>);

/// The routes:
///
/// - `GET /_proxy`: address of the CONNECT proxy
/// - `GET /_nodes`, `GET /_nodes/{server name}`: how far each server has come and what it looked at
/// - `POST /_nodes/{server name}/break`, `.../repair`: stop and start its kubelet
/// - `GET /_clusters`: endpoint, members and number of objects
/// - `GET /_faults`, `POST /_faults` (a [`NodeFault`]), `DELETE /_faults`
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/_proxy", get(proxy))
        .route("/_nodes", get(nodes))
        .route("/_nodes/{name}", get(node))
        .route("/_nodes/{name}/break", post(break_node))
        .route("/_nodes/{name}/repair", post(repair_node))
        .route("/_clusters", get(clusters))
        .route("/_faults", get(faults).post(add_fault).delete(clear_faults))
        .with_state(shared)
}

async fn proxy(Shares(shared): Shares<Arc<Shared>>) -> Json<Value> {
    Json(json!({"proxy_url": shared.proxy_url}))
}

async fn nodes(Shares(shared): Shares<Arc<Shared>>) -> Json<Value> {
    let list: Vec<_> = shared.state().servers.values().cloned().collect();
    Json(json!({"nodes": list}))
}

fn not_found(name: &str) -> Answer {
    (
        StatusCode::NOT_FOUND,
        Json(json!({"error": format!("no server {name} of ours")})),
    )
}

async fn node(Shares(shared): Shares<Arc<Shared>>, Path(name): Path<String>) -> Answer {
    let found = shared
        .state()
        .servers
        .values()
        .find(|r| r.server_name == name)
        .cloned();
    found.map_or_else(|| not_found(&name), |r| (StatusCode::OK, Json(json!(r))))
}

async fn break_node(Shares(shared): Shares<Arc<Shared>>, Path(name): Path<String>) -> Answer {
    set_broken(&shared, &name, true)
}

async fn repair_node(Shares(shared): Shares<Arc<Shared>>, Path(name): Path<String>) -> Answer {
    set_broken(&shared, &name, false)
}

fn set_broken(shared: &Shared, name: &str, broken: bool) -> Answer {
    let found = shared.change(|s| {
        let record = s.servers.values_mut().find(|r| r.server_name == name)?;
        record.broken = broken;
        Some(json!(record))
    });
    found.map_or_else(|| not_found(name), |r| (StatusCode::OK, Json(r)))
}

async fn clusters(Shares(shared): Shares<Arc<Shared>>) -> Json<Value> {
    let running = shared.clusters.read().await;
    let records: Vec<_> = shared.state().clusters.values().cloned().collect();
    let list: Vec<Value> = records
        .iter()
        .map(|c| {
            let core = running.get(&c.id).map(|r| r.core().clone());
            let count = |table: &str| core.as_ref().map_or(0, |core| core.store.count(table));
            json!({
                "id": c.id, "endpoint": {"host": c.host, "port": c.port}, "names": c.names, "members": c.members,
                "version": c.api.version, "nodes": count("nodes"), "pods": count("pods"),
                "serving": running.get(&c.id).is_some_and(|r| r.is_up()),
            })
        })
        .collect();
    Json(json!({"clusters": list}))
}

async fn faults(Shares(shared): Shares<Arc<Shared>>) -> Json<Value> {
    let list = shared.state().faults.clone();
    Json(json!({"faults": list}))
}

async fn add_fault(
    Shares(shared): Shares<Arc<Shared>>,
    Json(fault): Json<NodeFault>,
) -> StatusCode {
    shared.change(|s| s.faults.push(ActiveFault { fault, hits: 0 }));
    StatusCode::CREATED
}

async fn clear_faults(Shares(shared): Shares<Arc<Shared>>) -> StatusCode {
    shared.change(|s| s.faults.clear());
    StatusCode::NO_CONTENT
}
