//! TLS: whom the HTTP client trusts, how it presents itself, and the way through a `CONNECT` proxy.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use magnum_heat::http::{
    HttpConfig, HttpError, HttpErrorKind, HttpService, ReqwestService, TlsConfig,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::SecretString;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use url::Url;

/// An authority of one test.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    der: rustls::pki_types::CertificateDer<'static>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "test authority");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            der: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    fn sign(
        &self,
        usage: ExtendedKeyUsagePurpose,
        names: &[&str],
    ) -> (rcgen::Certificate, KeyPair) {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, "leaf");
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

/// What a server saw of one connection.
#[derive(Debug, Clone, Default)]
struct Seen {
    client_certificate: bool,
    offered_h2: bool,
    /// Begin of what was sent.
    head: String,
}

type Log = Arc<Mutex<Vec<Seen>>>;

struct Server {
    port: u16,
    log: Log,
}

impl Server {
    /// A server that answers `ok`; with `clients` only those who have a certificate of that authority.
    async fn start(authority: &Authority, clients: Option<&Authority>, h2: bool) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = rustls::RootCertStore::empty();
                roots.add(clients.der.clone()).unwrap();
                let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                    Arc::new(roots),
                    provider,
                );
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let (leaf, key) = authority.sign(ExtendedKeyUsagePurpose::ServerAuth, &["127.0.0.1"]);
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = builder
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        if h2 {
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Log::default();
        let kept = log.clone();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, log) = (acceptor.clone(), kept.clone());
                tokio::spawn(async move {
                    let Ok(mut tls) = acceptor.accept(tcp).await else {
                        return;
                    };
                    let (_, connection) = tls.get_ref();
                    let mut seen = Seen {
                        client_certificate: connection.peer_certificates().is_some(),
                        offered_h2: connection.alpn_protocol() == Some(b"h2"),
                        head: String::new(),
                    };
                    seen.head = head(&mut tls).await;
                    log.lock().unwrap().push(seen);
                    let answer =
                        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
                    let _ = tls.write_all(answer).await;
                    let _ = tls.shutdown().await;
                });
            }
        });
        Self { port, log }
    }

    fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }

    async fn get(&self, config: HttpConfig) -> Result<Bytes, HttpError> {
        let service = ReqwestService::new(config).unwrap();
        let request = http::Request::get(format!("https://127.0.0.1:{}/v1/x", self.port))
            .header("X-Auth-Token", "test-token")
            .body(Bytes::new())
            .unwrap();
        service.call(request).await.map(http::Response::into_body)
    }
}

/// Reads up to the end of the header.
async fn head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 1024];
    while !text.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(n) => text.extend_from_slice(&piece[..n]),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A proxy that takes `CONNECT` and answers it with this status; what it was asked is kept.
async fn proxy(status: &'static str) -> (Url, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let asked = kept.clone();
            tokio::spawn(async move {
                let request = head(&mut client).await;
                let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
                asked.lock().unwrap().push(request);
                let line = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                let _ = client.write_all(line.as_bytes()).await;
                if status.starts_with("200") {
                    let mut server = TcpStream::connect(target).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    let url = format!("http://somebody:proxy-secret@127.0.0.1:{port}");
    (url.parse().unwrap(), asked)
}

fn trusting(authority: &Authority) -> HttpConfig {
    HttpConfig::with_tls(TlsConfig::only_ca_bundle(&authority.pem))
}

#[tokio::test]
async fn only_the_given_authority_is_trusted() {
    let (ours, other) = (Authority::new(), Authority::new());
    let server = Server::start(&ours, None, false).await;
    assert_eq!(server.get(trusting(&ours)).await.unwrap(), "ok");
    let bundle = format!("{}{}", other.pem, ours.pem);
    let both = HttpConfig::with_tls(TlsConfig::with_ca_bundle(bundle));
    assert_eq!(server.get(both).await.unwrap(), "ok");
    for untrusting in [trusting(&other), HttpConfig::default()] {
        let error = server.get(untrusting).await.unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Connect);
        assert!(error.never_sent());
        assert!(error.to_string().contains("certificate"), "{error}");
        assert!(!error.to_string().contains("test-token"));
    }
    assert_eq!(server.seen().len(), 2);

    let mut tls = TlsConfig::default();
    tls.dangerous().skip_verification();
    assert_eq!(server.get(HttpConfig::with_tls(tls)).await.unwrap(), "ok");
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let ours = Authority::new();
    let server = Server::start(&ours, None, false).await;
    let service = ReqwestService::new(trusting(&ours)).unwrap();
    let request = http::Request::get(format!("https://localhost:{}/", server.port));
    let error = service
        .call(request.body(Bytes::new()).unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Connect, "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn the_client_certificate_is_presented() {
    let (servers, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let server = Server::start(&servers, Some(&clients), false).await;
    let as_signed_by = |authority: &Authority| {
        let (leaf, key) = authority.sign(ExtendedKeyUsagePurpose::ClientAuth, &[]);
        let key = SecretString::from(key.serialize_pem());
        HttpConfig::with_tls(TlsConfig::only_ca_bundle(&servers.pem).with_identity(leaf.pem(), key))
    };
    assert_eq!(server.get(as_signed_by(&clients)).await.unwrap(), "ok");
    assert!(server.seen()[0].client_certificate);
    for wrong in [trusting(&servers), as_signed_by(&strangers)] {
        let error = server.get(wrong).await.unwrap_err();
        // With TLS 1.3 the refusal comes after the client believes the handshake over.
        assert!(
            matches!(
                error.kind(),
                HttpErrorKind::Connect | HttpErrorKind::Interrupted
            ),
            "{error:?}"
        );
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn http_2_is_spoken_where_it_is_offered() {
    let ours = Authority::new();
    let server = Server::start(&ours, None, true).await;
    // This server cannot go on with it; what counts is how the client begins.
    let _ = server.get(trusting(&ours)).await;
    let seen = &server.seen()[0];
    assert!(seen.offered_h2);
    assert!(seen.head.starts_with("PRI * HTTP/2.0"), "{}", seen.head);
}

#[tokio::test]
async fn tls_goes_through_a_connect_proxy_unseen() {
    let ours = Authority::new();
    let server = Server::start(&ours, None, false).await;
    let (url, asked) = proxy("200 OK").await;
    let config = trusting(&ours).with_proxy(url);
    assert_eq!(server.get(config).await.unwrap(), "ok");
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    let line = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n", server.port);
    assert!(asked[0].starts_with(&line), "{}", asked[0]);
    // The proxy gets its own credential and neither the path nor the token.
    assert!(
        asked[0]
            .to_lowercase()
            .contains("proxy-authorization: basic ")
    );
    assert!(!asked[0].contains("/v1/x") && !asked[0].contains("test-token"));
    assert!(
        !server.seen()[0]
            .head
            .to_lowercase()
            .contains("proxy-authorization")
    );
}

#[tokio::test]
async fn ms_04_a_proxy_that_refuses_is_told_without_its_password() {
    let ours = Authority::new();
    let server = Server::start(&ours, None, false).await;
    for status in [
        "407 Proxy Authentication Required",
        "403 Forbidden",
        "502 Bad Gateway",
    ] {
        let (url, _) = proxy(status).await;
        let error = server
            .get(trusting(&ours).with_proxy(url))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Connect, "{status}: {error}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("proxy-secret"), "{shown}");
    }
    assert!(server.seen().is_empty());
}
