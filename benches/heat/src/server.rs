//! A server that does nothing but answer.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Keystone's login and Heat's empty list, on the loopback interface and in a thread of its own.
#[derive(Debug)]
pub struct Server {
    base: String,
}

impl Server {
    /// Starts it; it ends with the process.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn start() -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let base = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let at = base.clone();
        std::thread::spawn(move || runtime.block_on(serve(listener, at)));
        Ok(Self { base })
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }
}

async fn serve(listener: std::net::TcpListener, base: String) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let base = base.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, &base));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    base: &str,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let login = request.uri().path().ends_with("/auth/tokens");
    let _ = request.into_body().collect().await;
    let json = |value: &Value| Full::new(Bytes::from(value.to_string()));
    if !login {
        return Ok(Response::new(json(&json!({"stacks": []}))));
    }
    let token = json!({"token": {
        "user": {"id": "u", "name": "u"}, "project": {"id": "p", "name": "p"},
        "issued_at": "2026-12-01T00:00:00Z", "expires_at": "2026-12-02T00:00:00Z",
        "catalog": [{"type": "orchestration", "name": "heat", "endpoints": [
            {"interface": "public", "region_id": "R", "url": format!("{base}/v1/p")}]}],
    }});
    let mut answer = Response::new(json(&token));
    *answer.status_mut() = StatusCode::CREATED;
    let subject = HeaderValue::from_static("token");
    answer.headers_mut().insert("x-subject-token", subject);
    Ok(answer)
}
