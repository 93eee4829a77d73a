//! How the engine reaches a cluster's API.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use magnum_core::ClusterId;
use magnum_heat::http::{HttpConfig, HttpError, HttpService, ReqwestService};
use secrecy::SecretString;
use url::Url;

use crate::bootstrap::Endpoint;
use crate::kubernetes::{KubernetesClient, client_config};

/// Gives the way to a cluster's API.
///
/// The engine needs it from the moment the first control plane node is up. TLS is always end to end: a connector
/// sees nothing of what is said, and the cluster's own authority is the only one that is trusted.
#[async_trait]
pub trait EndpointConnector: fmt::Debug + Send + Sync {
    /// An HTTP service for requests to `https://<endpoint>`.
    ///
    /// `config` holds trust, identity and time limits and must be kept; an implementation adds the way. Called
    /// often, so it must be cheap or keep what it made. It need not try the connection.
    ///
    /// # Errors
    /// [`HttpError`] when no way can be made.
    async fn connect(
        &self,
        cluster: ClusterId,
        endpoint: &Endpoint,
        config: HttpConfig,
    ) -> Result<Arc<dyn HttpService>, HttpError>;

    /// The `proxy-url` that a kubeconfig for this cluster needs, if its user comes the same way.
    fn kubeconfig_proxy(&self, cluster: ClusterId, endpoint: &Endpoint) -> Option<Url>;

    /// The way in a few words, for the reason of a failure: `directly`, `through http://10.0.0.1:3128`.
    fn describe(&self, cluster: ClusterId, endpoint: &Endpoint) -> String;
}

/// The endpoint's address is reached as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Direct;

#[async_trait]
impl EndpointConnector for Direct {
    async fn connect(
        &self,
        _: ClusterId,
        _: &Endpoint,
        mut config: HttpConfig,
    ) -> Result<Arc<dyn HttpService>, HttpError> {
        config.proxy = None;
        Ok(Arc::new(ReqwestService::new(config)?))
    }

    fn kubeconfig_proxy(&self, _: ClusterId, _: &Endpoint) -> Option<Url> {
        None
    }

    fn describe(&self, _: ClusterId, _: &Endpoint) -> String {
        "directly".to_owned()
    }
}

/// Through an HTTP proxy with `CONNECT`.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpConnect(Url);

impl HttpConnect {
    /// Through the proxy at `url`, `http://[user:password@]host:port`.
    #[must_use]
    pub const fn new(url: Url) -> Self {
        Self(url)
    }

    /// The address without user and password.
    fn shown(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port_or_known_default() {
            Some(port) => format!("{}://{host}:{port}", self.0.scheme()),
            None => format!("{}://{host}", self.0.scheme()),
        }
    }
}

impl fmt::Debug for HttpConnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpConnect").field(&self.shown()).finish()
    }
}

#[async_trait]
impl EndpointConnector for HttpConnect {
    async fn connect(
        &self,
        _: ClusterId,
        _: &Endpoint,
        config: HttpConfig,
    ) -> Result<Arc<dyn HttpService>, HttpError> {
        Ok(Arc::new(ReqwestService::new(
            config.with_proxy(self.0.clone()),
        )?))
    }

    fn kubeconfig_proxy(&self, _: ClusterId, _: &Endpoint) -> Option<Url> {
        Some(self.0.clone())
    }

    fn describe(&self, _: ClusterId, _: &Endpoint) -> String {
        format!("through {}", self.shown())
    }
}

/// Different ways for different endpoints: by host, then by cluster, else the default.
#[derive(Debug, Clone)]
pub struct ConnectorMap {
    default: Arc<dyn EndpointConnector>,
    hosts: BTreeMap<String, Arc<dyn EndpointConnector>>,
    clusters: BTreeMap<ClusterId, Arc<dyn EndpointConnector>>,
}

impl ConnectorMap {
    /// `default` for every endpoint.
    #[must_use]
    pub fn new(default: Arc<dyn EndpointConnector>) -> Self {
        Self {
            default,
            hosts: BTreeMap::new(),
            clusters: BTreeMap::new(),
        }
    }

    /// Another way for the endpoint on `host`.
    #[must_use]
    pub fn with_host(
        mut self,
        host: impl Into<String>,
        connector: Arc<dyn EndpointConnector>,
    ) -> Self {
        self.hosts.insert(host.into(), connector);
        self
    }

    /// Another way for one cluster.
    #[must_use]
    pub fn with_cluster(
        mut self,
        cluster: ClusterId,
        connector: Arc<dyn EndpointConnector>,
    ) -> Self {
        self.clusters.insert(cluster, connector);
        self
    }

    fn pick(&self, cluster: ClusterId, endpoint: &Endpoint) -> &dyn EndpointConnector {
        let found = self
            .hosts
            .get(endpoint.host())
            .or_else(|| self.clusters.get(&cluster));
        found.unwrap_or(&self.default).as_ref()
    }
}

#[async_trait]
impl EndpointConnector for ConnectorMap {
    async fn connect(
        &self,
        cluster: ClusterId,
        endpoint: &Endpoint,
        config: HttpConfig,
    ) -> Result<Arc<dyn HttpService>, HttpError> {
        self.pick(cluster, endpoint)
            .connect(cluster, endpoint, config)
            .await
    }

    fn kubeconfig_proxy(&self, cluster: ClusterId, endpoint: &Endpoint) -> Option<Url> {
        self.pick(cluster, endpoint)
            .kubeconfig_proxy(cluster, endpoint)
    }

    fn describe(&self, cluster: ClusterId, endpoint: &Endpoint) -> String {
        self.pick(cluster, endpoint).describe(cluster, endpoint)
    }
}

/// A client for a cluster's API by way of `connector`, presenting `certificate` and `key`, trusting `ca` only.
///
/// # Errors
/// [`HttpError`] when no way can be made or a PEM text cannot be used.
pub async fn connect_kubernetes(
    connector: &dyn EndpointConnector,
    cluster: ClusterId,
    endpoint: &Endpoint,
    ca: &str,
    certificate: &str,
    key: SecretString,
) -> Result<KubernetesClient, HttpError> {
    let http = connector
        .connect(cluster, endpoint, client_config(ca, certificate, key))
        .await?;
    Ok(KubernetesClient::new(http, endpoint.clone()))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn cluster(n: u128) -> ClusterId {
        ClusterId::from_uuid(Uuid::from_u128(n))
    }

    fn proxy(text: &str) -> HttpConnect {
        HttpConnect::new(text.parse().unwrap())
    }

    #[test]
    fn ms_04_a_proxy_password_is_in_the_kubeconfig_only() {
        let proxy = proxy("http://user:hunter2@10.0.0.1:3128");
        let endpoint = Endpoint::new("10.0.0.5", 6443);
        assert_eq!(
            proxy.describe(cluster(1), &endpoint),
            "through http://10.0.0.1:3128"
        );
        assert!(!format!("{proxy:?}").contains("hunter2"));
        assert_eq!(
            proxy
                .kubeconfig_proxy(cluster(1), &endpoint)
                .unwrap()
                .password(),
            Some("hunter2")
        );
    }

    #[test]
    fn the_map_picks_by_host_then_by_cluster() {
        let map = ConnectorMap::new(Arc::new(Direct))
            .with_host("10.0.0.5", Arc::new(proxy("http://a:1")))
            .with_cluster(cluster(2), Arc::new(proxy("http://b:2")));
        let describe = |n, host| map.describe(cluster(n), &Endpoint::new(host, 6443));
        assert_eq!(describe(1, "10.0.0.9"), "directly");
        assert_eq!(describe(2, "10.0.0.9"), "through http://b:2");
        assert_eq!(describe(2, "10.0.0.5"), "through http://a:1");
        assert_eq!(
            map.kubeconfig_proxy(cluster(1), &Endpoint::new("10.0.0.9", 6443)),
            None
        );
    }

    #[tokio::test]
    async fn unusable_trust_is_told_before_any_request() {
        let endpoint = Endpoint::new("10.0.0.5", 6443);
        let result = connect_kubernetes(
            &Direct,
            cluster(1),
            &endpoint,
            "no pem",
            "no pem",
            "no pem".to_owned().into(),
        )
        .await;
        assert!(result.is_err());
    }
}
