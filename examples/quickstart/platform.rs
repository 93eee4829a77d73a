//! Puts the engine together: store, sealing key, cloud session, drivers.

use std::sync::Arc;
use std::time::Duration;

use magnum_certs::{Envelope, load_or_create_sealing_key};
use magnum_core::store::SqliteStore;
use magnum_core::{Engine, EngineConfig, RequestContext};
use magnum_driver_k8s_ironic::IronicDriver;
use magnum_driver_k8s_nova::NovaDriver;
use magnum_driver_kit::connector::{Direct, EndpointConnector, HttpConnect};
use magnum_driver_kit::{Access, BuiltinAddons, DriverConfig, PollIntervals};
use magnum_heat::{CloudConfig, Env, Session};
use url::Url;

use crate::Failure;
use crate::arguments::Arguments;
use crate::data::DataDirectory;
use crate::embedded::Embedded;

/// An engine on a cloud, and who uses it.
#[derive(Debug)]
pub(crate) struct Platform {
    pub(crate) engine: Engine,
    pub(crate) caller: RequestContext,
    /// A login of its own, beside the engine's: it looks at the cloud from outside.
    pub(crate) observer: Session,
    /// The proxy that kubeconfigs name.
    pub(crate) proxy: Option<Url>,
    /// The cloud and the project in it: a data directory belongs to one.
    pub(crate) place: String,
    embedded: Option<Embedded>,
}

impl Platform {
    /// Opens everything that the arguments name.
    pub(crate) async fn open(arguments: &Arguments, data: &DataDirectory) -> Result<Self, Failure> {
        data.check_key()?;
        let (cloud, proxy, embedded) = if let Some(name) = &arguments.cloud {
            let cloud = CloudConfig::load(Some(name), &Env::from_process())?;
            (cloud, arguments.proxy.clone(), None)
        } else {
            let embedded = if data.is_kept() {
                Embedded::beside(&data.cloud()).await?
            } else {
                Embedded::inside().await?
            };
            let addresses = embedded.addresses().clone();
            let cloud = CloudConfig::from_yaml(&addresses.clouds_yaml, "embedded")?;
            (cloud, Some(addresses.proxy_url), Some(embedded))
        };
        let session = Session::connect(cloud.clone()).await?;
        let observer = Session::connect(cloud).await?;
        let caller = RequestContext::new(session.project_id().await?, session.user_id().await?);

        let name = arguments.cloud.as_deref().unwrap_or("embedded");
        let place = format!("{name}, project {}", caller.project_id);

        let connector: Arc<dyn EndpointConnector> = match &proxy {
            Some(url) => Arc::new(HttpConnect::new(url.clone())),
            None => Arc::new(Direct),
        };
        let mut config = DriverConfig::new();
        config.access = Arc::new(Access::new(connector, Arc::new(BuiltinAddons)));
        if embedded.is_some() {
            config.polls = PollIntervals::fast();
        }
        let mut settings = EngineConfig::default();
        // Short, so that a quick start that was killed goes on at once when it is started again.
        settings.lease = Duration::from_secs(5);
        let sessions = Arc::new(session);
        let engine = Engine::builder()
            .store(Arc::new(SqliteStore::open(data.database()).await?))
            .sealer(Arc::new(Envelope::new(load_or_create_sealing_key(
                &data.key(),
            )?)))
            .driver(Arc::new(NovaDriver::new(sessions.clone(), config.clone())))
            .driver(Arc::new(IronicDriver::new(sessions, config)))
            .config(settings)
            .build()?;
        Ok(Self {
            engine,
            caller,
            observer,
            proxy,
            place,
            embedded,
        })
    }

    /// Where it runs, in a few words.
    pub(crate) fn describe(&self, arguments: &Arguments) -> String {
        match (&self.embedded, &arguments.cloud) {
            (Some(Embedded::Inside(..)), _) => "the embedded cloud".to_owned(),
            (Some(Embedded::Beside(addresses, _)), _) => {
                format!("the embedded cloud at {}", addresses.base_url)
            }
            (None, name) => format!("cloud {}", name.as_deref().unwrap_or_default()),
        }
    }

    /// How many stacks and servers the embedded cloud has created, each name once; none on a real cloud, which keeps no ledger.
    pub(crate) async fn created_once(&self) -> Result<Option<(usize, usize)>, Failure> {
        match &self.embedded {
            Some(embedded) => Ok(Some(embedded.created_once().await?)),
            None => Ok(None),
        }
    }

    /// Ends the embedded cloud, where there is one.
    pub(crate) async fn end(self) -> Result<(), Failure> {
        match self.embedded {
            Some(embedded) => embedded.end().await,
            None => Ok(()),
        }
    }
}
