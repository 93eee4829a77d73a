//! Starts a cloud with all services.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use tokio::net::TcpListener;

use super::handle::Services;
use super::journal::{Journal, JournalError};
use super::ledger::Ledger;
use super::{Cloud, server};
use super::{barbican, cinder, glance, heat, ironic, keystone, neutron, nova, octavia, placement};
use crate::cloud::Options;

/// Why a cloud cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The journal is unusable.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The listener or a file of the journal's folder.
    #[error("the embedded cloud cannot start: {0}")]
    Io(#[from] std::io::Error),
}

impl Cloud {
    /// Starts all services on a port of 127.0.0.1. With a journal, the port of the last run is taken when it is free.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let mut services = Services::default();
        let keystone = services.add(keystone::Keystone::new());
        services.add(glance::Glance::new());
        services.add(neutron::Neutron::new());
        services.add(placement::Placement::new());
        services.add(ironic::Ironic::new());
        services.add(cinder::Cinder::new());
        services.add(nova::Nova::new());
        services.add(octavia::Octavia::new());
        services.add(barbican::Barbican::new());
        services.add(heat::Heat::new());
        let ledger = Ledger::default();
        let journal = options
            .journal
            .clone()
            .map(|folder| open(&folder, &services, &ledger))
            .transpose()?;
        let last_port = journal.as_ref().map_or(0, Journal::last_port);
        let listener = listen(options.port, last_port).await?;
        let port = listener.local_addr()?.port();
        let idle = options.idle;
        let cloud = Self::new(options, services, keystone, journal, ledger);
        cloud.set_base_url(format!("http://127.0.0.1:{port}"));
        server::assemble(&cloud);
        if let Some(journal) = &cloud.inner().journal {
            journal.announce(port).await?;
            cloud.flush().await;
        }
        tokio::spawn(server::serve(cloud.clone(), listener));
        if let Some(limit) = idle {
            let watched = cloud.clone();
            cloud.spawn(async move {
                while watched.idle() < limit {
                    tokio::time::sleep(
                        limit
                            .saturating_sub(watched.idle())
                            .max(std::time::Duration::from_millis(20)),
                    )
                    .await;
                }
                tracing::info!("no request for {limit:?}: the embedded cloud ends");
                watched.flush().await;
                watched.stop();
            });
        }
        Ok(cloud)
    }
}

fn open(folder: &Path, services: &Services, ledger: &Ledger) -> Result<Journal, JournalError> {
    let states = services.list.iter().map(|s| (s.kind().name(), s.state()));
    let states: Vec<_> = states.chain([("ledger", &ledger.entries as _)]).collect();
    Journal::open(folder, &states)
}

async fn listen(wanted: Option<u16>, last: u16) -> std::io::Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if let Some(port) = wanted {
        return TcpListener::bind(at(port)).await;
    }
    if last != 0
        && let Ok(listener) = TcpListener::bind(at(last)).await
    {
        return Ok(listener);
    }
    TcpListener::bind(at(0)).await
}
