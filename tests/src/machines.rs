//! A service of machines in a process of its own: what several engine processes build on, and whose ledger tells what they did.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{Path, State};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use bytes::Bytes;
use http::{Method, Request};
use magnum_driver_template::{Machine, MachineError, MachineService, Machines};
use magnum_heat::http::{HttpConfig, HttpService as _, ReqwestService};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

use crate::Failure;

/// How long each call takes, so that engines are killed in the middle of some.
const LATENCY: Duration = Duration::from_millis(3);

/// The service, on a loopback port. It ends when dropped.
#[derive(Debug)]
pub struct MachineServer {
    /// Its ledger and what is there.
    pub machines: Machines,
    /// Its address.
    pub url: Url,
    serving: JoinHandle<()>,
}

impl MachineServer {
    /// Starts one without machines.
    ///
    /// # Errors
    /// Where no port can be opened.
    pub async fn start() -> Result<Self, Failure> {
        let machines = Machines::new();
        let router = Router::new()
            .route("/machines", post(make))
            .route("/machines/{name}", delete(remove))
            .route("/marks/{mark}", get(marked))
            .with_state(machines.clone());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/", listener.local_addr()?).parse()?;
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the service of machines ended");
            }
        });
        Ok(Self {
            machines,
            url,
            serving,
        })
    }
}

impl Drop for MachineServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn make(State(machines): State<Machines>, Json(machine): Json<Machine>) {
    tokio::time::sleep(LATENCY).await;
    let made = machines.make(machine).await;
    made.expect("nobody injects faults here");
}

async fn remove(State(machines): State<Machines>, Path(name): Path<String>) {
    tokio::time::sleep(LATENCY).await;
    let removed = machines.remove(&name).await;
    removed.expect("nobody injects faults here");
}

async fn marked(State(machines): State<Machines>, Path(mark): Path<String>) -> Json<Vec<Machine>> {
    let marked = machines.marked(&mark).await;
    Json(marked.expect("nobody injects faults here"))
}

/// A client of the service.
#[derive(Debug, Clone)]
pub struct MachineClient {
    http: Arc<ReqwestService>,
    url: Url,
}

impl MachineClient {
    /// A client of the service at `url`.
    ///
    /// # Errors
    /// Where the HTTP client cannot be made.
    pub fn new(url: Url) -> Result<Self, Failure> {
        let http = Arc::new(ReqwestService::new(HttpConfig::default())?);
        Ok(Self { http, url })
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, MachineError> {
        let url = self.url.join(path).map_err(|_| MachineError)?;
        let request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|_| MachineError)?;
        let answer = self.http.call(request).await.map_err(|_| MachineError)?;
        if !answer.status().is_success() {
            return Err(MachineError);
        }
        Ok(answer.into_body())
    }
}

#[async_trait]
impl MachineService for MachineClient {
    async fn make(&self, machine: Machine) -> Result<(), MachineError> {
        let body = serde_json::to_vec(&machine).map_err(|_| MachineError)?;
        self.call(Method::POST, "machines", body.into()).await?;
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<(), MachineError> {
        let path = format!("machines/{name}");
        self.call(Method::DELETE, &path, Bytes::new()).await?;
        Ok(())
    }

    async fn marked(&self, mark: &str) -> Result<Vec<Machine>, MachineError> {
        let path = format!("marks/{mark}");
        let body = self.call(Method::GET, &path, Bytes::new()).await?;
        serde_json::from_slice(&body).map_err(|_| MachineError)
    }
}
