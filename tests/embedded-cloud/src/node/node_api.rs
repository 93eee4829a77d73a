//! A node's way to its cluster's API: over TLS with a credential, or (on the first control-plane
//! node, which has the CA itself) directly.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::kubernetes::{CoreHandle, Identity, respond};

/// Why a call got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// Nobody answers there (yet).
    Unreachable(String),
    /// The TLS handshake was refused by one of the two.
    Tls(String),
}

/// A client of one identity.
#[derive(Debug)]
pub(crate) enum NodeApi {
    /// By TLS through the CONNECT proxy.
    Remote {
        client: reqwest::Client,
        base: String,
    },
    /// In the process.
    Local {
        core: CoreHandle,
        identity: Identity,
    },
}

impl NodeApi {
    /// A client with a certificate. `base` is `https://host:port`.
    pub(crate) fn remote(
        proxy: &str,
        cluster: &str,
        base: &str,
        ca: &str,
        certificate: &str,
        key: &str,
    ) -> Result<Self, String> {
        let say = |e: reqwest::Error| chain(&e);
        let roots = reqwest::Certificate::from_pem_bundle(ca.as_bytes()).map_err(say)?;
        let identity =
            reqwest::Identity::from_pem(format!("{certificate}\n{key}").as_bytes()).map_err(say)?;
        let proxy = reqwest::Proxy::all(proxy)
            .map_err(say)?
            .basic_auth(cluster, "");
        let client = reqwest::Client::builder()
            .proxy(proxy)
            .tls_certs_only(roots)
            .identity(identity)
            .http1_only()
            .user_agent("kubeadm/simulated")
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(30))
            .build()
            .map_err(say)?;
        Ok(Self::Remote {
            client,
            base: base.to_owned(),
        })
    }

    /// One call; the answer is its status and JSON (null when it is not JSON).
    pub(crate) async fn call(
        &self,
        method: http::Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), CallError> {
        let body = body.map_or_else(Bytes::new, |b| Bytes::from(b.to_string()));
        match self {
            Self::Remote { client, base } => {
                let request = client
                    .request(method, format!("{base}{path}"))
                    .header("Content-Type", "application/json")
                    .header("Accept", "application/json")
                    .body(body);
                let answer = request.send().await.map_err(|e| classify(&e))?;
                let status = answer.status().as_u16();
                let bytes = answer.bytes().await.map_err(|e| classify(&e))?;
                Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
            }
            Self::Local { core, identity } => {
                let request = http::Request::builder()
                    .method(method)
                    .uri(path)
                    .header("Content-Type", "application/json")
                    .header("User-Agent", "kubelet/simulated")
                    .body(body)
                    .map_err(|e| CallError::Unreachable(e.to_string()))?;
                let answer = respond(&Arc::clone(core), Some(identity), request);
                let status = answer.status().as_u16();
                let bytes = answer
                    .into_body()
                    .collect()
                    .await
                    .map(http_body_util::Collected::to_bytes);
                Ok((
                    status,
                    serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default(),
                ))
            }
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let next = inner.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = inner.source();
    }
    text
}

fn classify(error: &reqwest::Error) -> CallError {
    let text = chain(error);
    let lower = text.to_lowercase();
    let tls = [
        "certificate",
        "unknownissuer",
        "fatal alert",
        "handshake",
        "tls",
    ]
    .iter()
    .any(|w| lower.contains(w));
    if tls {
        CallError::Tls(text)
    } else {
        CallError::Unreachable(text)
    }
}
