//! [`HttpService`] on reqwest; no reqwest type shows in a signature.

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use super::{HttpConfig, HttpError, HttpErrorKind, HttpService};

/// The default HTTP client: pooled connections, HTTP/2 where offered, rustls, redirects off.
#[derive(Debug, Clone)]
pub struct ReqwestService {
    client: reqwest::Client,
    max_response_bytes: usize,
}

impl ReqwestService {
    /// Builds a client.
    ///
    /// # Errors
    /// [`HttpErrorKind::Invalid`] when a PEM text or the proxy address cannot be used.
    pub fn new(config: HttpConfig) -> Result<Self, HttpError> {
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(config.connect_timeout)
            .timeout(config.request_timeout)
            .pool_max_idle_per_host(config.max_idle_per_host)
            .user_agent(config.user_agent);
        if let Some(proxy) = &config.proxy {
            let proxy = reqwest::Proxy::all(proxy.as_str())
                .map_err(|e| invalid("the proxy address cannot be used", e))?;
            builder = builder.no_proxy().proxy(proxy);
        } else if !config.proxy_from_environment {
            builder = builder.no_proxy();
        }
        if let Some(pem) = &config.tls.ca_bundle {
            let roots = reqwest::Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|e| invalid("the CA bundle is not PEM", e))?;
            if roots.is_empty() {
                return Err(HttpError::new(
                    HttpErrorKind::Invalid,
                    "the CA bundle holds no certificate",
                ));
            }
            builder = if config.tls.only_ca_bundle {
                builder.tls_certs_only(roots)
            } else {
                builder.tls_certs_merge(roots)
            };
        } else if config.tls.only_ca_bundle {
            return Err(HttpError::new(
                HttpErrorKind::Invalid,
                "only a CA bundle is to be trusted, but none is given",
            ));
        }
        if let Some(identity) = &config.tls.client_identity {
            let mut pem = Zeroizing::new(Vec::with_capacity(8192));
            pem.extend_from_slice(identity.certificate.as_bytes());
            pem.push(b'\n');
            pem.extend_from_slice(identity.key.expose_secret().as_bytes());
            let identity = reqwest::Identity::from_pem(&pem).map_err(|_| {
                HttpError::new(
                    HttpErrorKind::Invalid,
                    "the client certificate or its key is not PEM",
                )
            })?;
            builder = builder.identity(identity);
        }
        if config.tls.skips_verification() {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        let client = builder
            .build()
            .map_err(|e| invalid("the HTTP client cannot be built", e))?;
        Ok(Self {
            client,
            max_response_bytes: config.max_response_bytes,
        })
    }
}

fn invalid(text: &str, source: reqwest::Error) -> HttpError {
    HttpError::new(HttpErrorKind::Invalid, text).with_source(source.without_url())
}

fn failed(target: &str, error: reqwest::Error) -> HttpError {
    let error = error.without_url();
    let kind = if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_builder() {
        HttpErrorKind::Invalid
    } else if error.is_body() || error.is_decode() {
        HttpErrorKind::Body
    } else {
        HttpErrorKind::Interrupted
    };
    let what = match kind {
        HttpErrorKind::Connect => "cannot connect to",
        HttpErrorKind::Timeout => "no answer in time from",
        HttpErrorKind::Invalid => "unusable request for",
        HttpErrorKind::Body | HttpErrorKind::TooLarge => "incomplete answer from",
        HttpErrorKind::Interrupted => "connection lost to",
    };
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    HttpError::new(kind, format!("{what} {target}: {cause}")).with_source(error)
}

#[async_trait]
impl HttpService for ReqwestService {
    async fn call(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let uri = request.uri();
        let target = format!(
            "{}://{}",
            uri.scheme_str().unwrap_or_default(),
            uri.authority()
                .map(http::uri::Authority::as_str)
                .unwrap_or_default()
        );
        let request = reqwest::Request::try_from(request.map(reqwest::Body::from))
            .map_err(|e| failed(&target, e))?;
        let mut response = self
            .client
            .execute(request)
            .await
            .map_err(|e| failed(&target, e))?;
        let mut answer = http::Response::builder()
            .status(response.status())
            .version(response.version());
        if let Some(headers) = answer.headers_mut() {
            *headers = response.headers().clone();
        }
        let mut body = BytesMut::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    if body.len() + chunk.len() > self.max_response_bytes {
                        let text = format!(
                            "the answer of {target} is larger than {} bytes",
                            self.max_response_bytes
                        );
                        return Err(HttpError::new(HttpErrorKind::TooLarge, text));
                    }
                    body.extend_from_slice(&chunk);
                }
                Ok(None) => break,
                Err(e) => {
                    let mut error = failed(&target, e);
                    if error.kind() != HttpErrorKind::Timeout {
                        error = HttpError::new(
                            HttpErrorKind::Body,
                            format!("incomplete answer from {target}"),
                        )
                        .with_source(error);
                    }
                    return Err(error);
                }
            }
        }
        answer
            .body(body.freeze())
            .map_err(|e| HttpError::new(HttpErrorKind::Invalid, e.to_string()))
    }
}
