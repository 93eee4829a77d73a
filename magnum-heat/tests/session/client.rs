//! The default HTTP client against a local server.

use std::time::Duration;

use axum::{Router, http::StatusCode, response::Redirect, routing::get};
use bytes::Bytes;
use magnum_heat::http::{HttpConfig, HttpErrorKind, HttpService, ReqwestService, TlsConfig};

async fn serve() -> String {
    let app = Router::new()
        .route("/ok", get(|| async { "ok" }))
        .route("/away", get(|| async { Redirect::temporary("/ok") }))
        .route(
            "/slow",
            get(|| async { tokio::time::sleep(Duration::from_secs(30)).await }),
        )
        .route("/big", get(|| async { "x".repeat(5000) }))
        .route("/bad", get(|| async { StatusCode::IM_A_TEAPOT }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

fn request(url: &str) -> http::Request<Bytes> {
    http::Request::get(url)
        .header("X-Auth-Token", "test-token")
        .body(Bytes::new())
        .unwrap()
}

#[tokio::test]
async fn statuses_are_answers_and_redirects_are_not_followed() {
    let base = serve().await;
    let service = ReqwestService::new(HttpConfig::default()).unwrap();
    let status = async |path: &str| {
        service
            .call(request(&format!("{base}{path}")))
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(
        (
            status("/ok").await,
            status("/away").await,
            status("/bad").await
        ),
        (200, 307, 418)
    );
}

#[tokio::test]
async fn failures_are_told_apart() {
    let base = serve().await;
    let mut config = HttpConfig::default();
    config.request_timeout = Duration::from_millis(300);
    config.max_response_bytes = 1000;
    let service = ReqwestService::new(config).unwrap();
    let kind = async |url: String| {
        let error = service.call(request(&url)).await.unwrap_err();
        assert!(!error.to_string().contains("test-token"));
        (error.kind(), error.never_sent())
    };
    assert_eq!(
        kind(format!("{base}/slow")).await,
        (HttpErrorKind::Timeout, false)
    );
    assert_eq!(
        kind(format!("{base}/big")).await,
        (HttpErrorKind::TooLarge, false)
    );
    assert_eq!(
        kind("http://127.0.0.1:1/".to_owned()).await,
        (HttpErrorKind::Connect, true)
    );
}

fn only_bundle_but_none() -> TlsConfig {
    let mut tls = TlsConfig::default();
    tls.only_ca_bundle = true;
    tls
}

#[tokio::test]
async fn unusable_settings_are_refused() {
    for tls in [
        TlsConfig::with_ca_bundle("not PEM"),
        only_bundle_but_none(),
        TlsConfig::default().with_identity("cert", secrecy::SecretString::from("key")),
    ] {
        let error = ReqwestService::new(HttpConfig::with_tls(tls)).unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Invalid);
    }
}

#[tokio::test]
async fn a_proxy_gets_the_whole_address() {
    let app = Router::new().fallback(|uri: axum::http::Uri| async move { uri.to_string() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = url::Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let service = ReqwestService::new(HttpConfig::default().with_proxy(proxy)).unwrap();
    let answer = service
        .call(request("http://cloud.invalid/x?y=1"))
        .await
        .unwrap();
    assert_eq!(answer.body(), "http://cloud.invalid/x?y=1");
}

#[tokio::test]
async fn sp_03_connections_are_reused() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let accepted = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = accepted.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let (mut text, mut piece) = (Vec::new(), [0; 1024]);
                while let Ok(n @ 1..) = stream.read(&mut piece).await {
                    text.extend_from_slice(&piece[..n]);
                    if text.ends_with(b"\r\n\r\n") {
                        text.clear();
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                        stream.write_all(answer).await.unwrap();
                    }
                }
            });
        }
    });
    let service = ReqwestService::new(HttpConfig::default()).unwrap();
    for _ in 0..100 {
        service.call(request(&base)).await.unwrap();
    }
    assert_eq!(accepted.load(Ordering::SeqCst), 1);
}
