//! How an engine is put together.

use std::sync::Arc;

use super::{Engine, EngineConfig, Inner, MagnumPolicy, Policy, Pulse};
use crate::clock::{Clock, SystemClock};
use crate::credential::CredentialProvider;
use crate::driver::{ClusterDriver, DriverRegistry};
use crate::engine::secrets::SealedSecrets;
use crate::error::Error;
use crate::id::EngineId;
use crate::model::{FlavorSizes, Problems};
use crate::operation::random_uuid;
use crate::sealer::Sealer;
use crate::secret_store::SecretStore;
use crate::store::Store;

/// Puts an engine together: a store, a sealer and at least one driver are needed, the rest has defaults.
#[derive(Debug)]
#[must_use]
pub struct EngineBuilder {
    store: Option<Arc<dyn Store>>,
    sealer: Option<Arc<dyn Sealer>>,
    secrets: Option<Arc<dyn SecretStore>>,
    credentials: Option<Arc<dyn CredentialProvider>>,
    flavors: Option<Arc<dyn FlavorSizes>>,
    clock: Arc<dyn Clock>,
    policy: Arc<dyn Policy>,
    config: EngineConfig,
    drivers: DriverRegistry,
    problems: Problems,
    id: Option<EngineId>,
}

impl EngineBuilder {
    pub(super) fn new() -> Self {
        Self {
            store: None,
            sealer: None,
            secrets: None,
            credentials: None,
            flavors: None,
            clock: Arc::new(SystemClock),
            policy: Arc::new(MagnumPolicy),
            config: EngineConfig::default(),
            drivers: DriverRegistry::new(),
            problems: Problems::new(),
            id: None,
        }
    }

    /// Where everything durable is kept.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// What seals secrets and memos before they are stored.
    pub fn sealer(mut self, sealer: Arc<dyn Sealer>) -> Self {
        self.sealer = Some(sealer);
        self
    }

    /// Where clusters' secrets are kept; in the engine's store, sealed, where absent.
    pub fn secret_store(mut self, secrets: Arc<dyn SecretStore>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// What makes a credential of its own for every cluster; where absent drivers work with the login that the embedder gave them.
    pub fn credentials(mut self, provider: Arc<dyn CredentialProvider>) -> Self {
        self.credentials = Some(provider);
        self
    }

    /// What says how large flavors are; needed where projects have limits of vCPUs or memory.
    pub fn flavors(mut self, flavors: Arc<dyn FlavorSizes>) -> Self {
        self.flavors = Some(flavors);
        self
    }

    /// Adds a driver.
    pub fn driver(mut self, driver: Arc<dyn ClusterDriver>) -> Self {
        let name = driver.name().to_owned();
        if let Err(error) = self.drivers.register(driver) {
            self.problems.add("driver", name, error.to_string());
        }
        self
    }

    /// The clock and source of randomness; the system's where absent.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Who may do what; [`MagnumPolicy`] where absent.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// The settings.
    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// The engine's identity in leases; random where absent.
    pub const fn id(mut self, id: EngineId) -> Self {
        self.id = Some(id);
        self
    }

    /// The engine, once the store answers and was written with the sealer's key: [`build`](Self::build) and
    /// [`Engine::check_sealing_key`] in one, for a start that fails early.
    ///
    /// # Errors
    /// Those of both.
    pub async fn open(self) -> Result<Engine, Error> {
        let engine = self.build()?;
        engine.check_sealing_key().await?;
        Ok(engine)
    }

    /// The engine. Neither store nor key is used yet; see [`open`](Self::open).
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is missing or wrong.
    pub fn build(mut self) -> Result<Engine, Error> {
        self.problems.absorb(self.config.validate());
        if self.drivers.names().next().is_none() {
            let rule = "at least one must be given";
            self.problems.add("driver", "", rule);
        }
        for name in &self.config.disabled_drivers {
            if self.drivers.by_name(name).is_err() {
                let known = self.drivers.names().collect::<Vec<_>>().join(", ");
                let rule = format!("there is no such driver; there are: {known}");
                self.problems.add("disabled_drivers", name, rule);
            }
        }
        let (Some(store), Some(sealer)) = (self.store.clone(), self.sealer.clone()) else {
            for (field, missing) in [
                ("store", self.store.is_none()),
                ("sealer", self.sealer.is_none()),
            ] {
                if missing {
                    self.problems.add(field, "", "must be given");
                }
            }
            return Err(Error::Invalid(self.problems));
        };
        self.problems.into_result()?;
        let secrets = self.secrets.unwrap_or_else(|| {
            Arc::new(SealedSecrets::new(Arc::clone(&store), Arc::clone(&sealer)))
        });
        let id = self
            .id
            .unwrap_or_else(|| EngineId::from_uuid(random_uuid(&*self.clock)));
        Ok(Engine(Arc::new(Inner {
            id,
            store,
            sealer,
            secrets,
            clock: self.clock,
            policy: self.policy,
            config: self.config,
            drivers: self.drivers,
            credentials: self.credentials,
            flavors: self.flavors,
            pulse: Pulse::default(),
        })))
    }
}
