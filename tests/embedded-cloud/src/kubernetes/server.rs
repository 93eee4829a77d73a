//! The listening API server: TLS with the cluster's CA in front of [`respond`].

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ipnet::Ipv4Net;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::answer::{self, Body};
use super::authority::CaMaterial;
use super::controllers;
use super::core::Core;
use super::dispatch::respond;
use super::error::ApiError;
use super::identity::Identity;

/// Largest request body, as etcd would refuse more.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// What an API server is started from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApiServerConfig {
    /// PEM texts of the cluster.
    pub material: CaMaterial,
    /// Names and addresses of the serving certificate (endpoint, certSANs, node addresses).
    pub names: Vec<String>,
    /// `vX.Y.Z`, for `/version`.
    pub version: String,
    /// Service range; its first address is the service `kubernetes`.
    pub services: Ipv4Net,
    /// File the objects are kept in; in memory only when absent.
    pub journal: Option<PathBuf>,
}

/// A running API server on a loopback port. Dropping it stops it and cuts its connections.
pub struct ApiServer {
    core: Arc<Core>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    cut: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Starts serving. Objects of the journal are there from the first request on.
    ///
    /// # Errors
    /// PEM that does not fit together, an unreadable journal, or no free port; in words.
    pub async fn start(config: &ApiServerConfig) -> Result<Self, String> {
        let core = Core::new(
            &config.material,
            &config.version,
            config.services,
            config.journal.as_deref(),
        )?;
        core.seed().map_err(|e| e.message)?;
        let core = Arc::new(core);
        let tls = Arc::new(tls(&core, &config.names, config.services)?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(controllers::run(core.clone(), stopped.clone()));
        let (cut, cuts) = watch::channel(0);
        let task = tokio::spawn(accept(
            listener,
            TlsAcceptor::from(tls),
            core.clone(),
            stopped,
            cuts,
        ));
        Ok(Self {
            core,
            address,
            stop,
            cut,
            task,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Breaks all open connections; new ones are still taken.
    pub fn disconnect(&self) {
        self.cut.send_modify(|n| *n += 1);
    }

    /// Stops and waits until the listener is closed.
    pub async fn shutdown(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

fn tls(core: &Core, names: &[String], services: Ipv4Net) -> Result<ServerConfig, String> {
    let first = Ipv4Addr::from(u32::from(services.network()) + 1).to_string();
    let fixed = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut all: Vec<String> = names.to_vec();
    all.extend(fixed.iter().map(|n| (*n).to_owned()));
    all.push(first);
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|n| seen.insert(n.clone()));
    let (chain, key) = core.authority.serving(&all)?;
    let mut roots = RootCertStore::empty();
    for root in core.authority.roots() {
        roots
            .add(root.clone())
            .map_err(|e| format!("ca.crt: {e}"))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|e| format!("ca.crt: {e}"))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|e| e.to_string())?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

async fn accept(
    listener: TcpListener,
    tls: TlsAcceptor,
    core: Arc<Core>,
    mut stopped: watch::Receiver<bool>,
    cuts: watch::Receiver<u64>,
) {
    loop {
        let accepted = tokio::select! {
            a = listener.accept() => a,
            _ = stopped.changed() => return,
        };
        let Ok((socket, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (tls, core, mut stopped) = (tls.clone(), core.clone(), stopped.clone());
        let mut cut = cuts.clone();
        cut.mark_unchanged();
        tokio::spawn(async move {
            tokio::select! {
                () = connection(socket, tls, core) => {}
                _ = stopped.changed() => {}
                _ = cut.changed() => {}
            }
        });
    }
}

async fn connection(socket: TcpStream, tls: TlsAcceptor, core: Arc<Core>) {
    let _ = socket.set_nodelay(true);
    let handshake = tokio::time::timeout(Duration::from_secs(10), tls.accept(socket));
    let stream = match handshake.await {
        Ok(Ok(stream)) => stream,
        Ok(Err(e)) => {
            tracing::debug!(error = %e, "TLS handshake refused");
            return;
        }
        Err(_) => return,
    };
    let certificate = stream
        .get_ref()
        .1
        .peer_certificates()
        .and_then(<[_]>::first);
    let identity = Arc::new(certificate.and_then(|c| Identity::of_certificate(c)));
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (core, identity) = (core.clone(), identity.clone());
        async move {
            Ok::<_, std::convert::Infallible>(
                serve(&core, identity.as_ref().as_ref(), request).await,
            )
        }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn serve(
    core: &Arc<Core>,
    identity: Option<&Identity>,
    request: http::Request<hyper::body::Incoming>,
) -> http::Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return answer::error(&ApiError::new(
            413,
            "RequestEntityTooLarge",
            "limit is 3145728",
        ));
    };
    tracing::debug!(method = %parts.method, uri = %parts.uri, user = identity.map_or("", |i| &i.user), "kubernetes");
    respond(
        core,
        identity,
        http::Request::from_parts(parts, body.to_bytes()),
    )
}
