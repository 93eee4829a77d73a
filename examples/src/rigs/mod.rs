//! Rigs for the conformance suite: the Kubernetes drivers, each with an embedded cloud of its own behind it.

mod calls;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use magnum_core::conformance::{Fault, Rig};
use magnum_core::driver::{ClusterDriver, DriverError};
use magnum_core::{LoadBalancerSettings, ProjectId, ServerType, TemplateSpec};
use magnum_driver_k8s_ironic::IronicDriver;
use magnum_driver_k8s_nova::NovaDriver;
use magnum_driver_kit::connector::HttpConnect;
use magnum_driver_kit::{Access, BuiltinAddons, DriverConfig, PollIntervals, SessionSource};
use magnum_embedded_cloud::node::{AdminLogin, Simulator, SimulatorConfig};
use magnum_embedded_cloud::openstack::seed::DEMO_PROJECT;
use magnum_embedded_cloud::{EmbeddedCloud, Options};
use magnum_heat::http::ReqwestService;
use magnum_heat::services::neutron::{self, ListItems, SecurityGroup};
use magnum_heat::{CloudConfig, RetryPolicy, Session};
use serde_json::Value;

use crate::GivenNetwork;
use calls::{Calls, Counted, CountedWay};

/// The real time that the cloud gets between two rounds of an engine.
const TURN: Duration = Duration::from_millis(10);

/// Whatever keeps a rig from being set up.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A Kubernetes driver with a fresh embedded cloud. The cloud builds without delay and ends with the rig.
#[derive(Debug)]
pub struct CloudRig {
    driver: Arc<dyn ClusterDriver>,
    template: TemplateSpec,
    calls: Calls,
    cloud: EmbeddedCloud,
    /// What the project had at first, by id.
    before: BTreeSet<String>,
    _nodes: Simulator,
}

impl CloudRig {
    /// The driver for virtual machines.
    ///
    /// # Errors
    /// Where the cloud does not start.
    pub async fn nova() -> Result<Self, Failure> {
        let fresh = Fresh::start().await?;
        let mut spec = TemplateSpec::new("ubuntu-k8s-v1.36", "m1.small");
        spec.external_network = Some("public".to_owned());
        Ok(fresh.rig(
            |sessions, config| Arc::new(NovaDriver::new(sessions, config)),
            spec,
        ))
    }

    /// The driver for machines, on a given network and without a load balancer.
    ///
    /// # Errors
    /// Where the cloud does not start or the network cannot be made.
    pub async fn ironic() -> Result<Self, Failure> {
        let fresh = Fresh::start().await?;
        let network = GivenNetwork::make(&fresh.session, TURN).await?;
        let mut spec = TemplateSpec::new("ubuntu-k8s-bm-v1.36", "baremetal");
        spec.server_type = ServerType::BareMetal;
        spec.fixed_network = Some(network.name().to_owned());
        spec.master_lb = LoadBalancerSettings {
            enabled: false,
            floating_ip: false,
        };
        Ok(fresh.rig(
            |sessions, config| Arc::new(IronicDriver::new(sessions, config)),
            spec,
        ))
    }
}

/// A cloud of which nothing is used yet.
struct Fresh {
    cloud: EmbeddedCloud,
    nodes: Simulator,
    session: Session,
    calls: Calls,
}

impl Fresh {
    async fn start() -> Result<Self, Failure> {
        let mut options = Options {
            simulator: false,
            ..Options::default()
        };
        options.latency = options.latency.scaled(0.0);
        options.latency.heat_poll = Duration::from_millis(3);
        let cloud = EmbeddedCloud::start(options).await?;

        let login = AdminLogin::new(cloud.auth_url(), "admin", "adminpw", "admin");
        let mut simulation = SimulatorConfig::new(login);
        simulation.poll_interval = TURN;
        simulation.tick = TURN;
        simulation.boot_delay = Duration::ZERO;
        simulation.kubeadm_time = Duration::ZERO;
        let nodes = Simulator::start(simulation).await?;

        let calls = Calls::default();
        let config = CloudConfig::from_yaml(&cloud.clouds_yaml(), "embedded")?;
        let http = Counted {
            http: ReqwestService::new(config.http_config())?,
            calls: calls.clone(),
        };
        // The driver itself has to bear what goes wrong, so nothing is tried again below it.
        let session = Session::builder(config)
            .http(Arc::new(http))
            .retry(RetryPolicy::none())
            .connect()
            .await?;
        // The first look at its networks gives a project its default security group.
        neutron::list(&session, ListItems::<SecurityGroup>::new()).await?;
        Ok(Self {
            cloud,
            nodes,
            session,
            calls,
        })
    }

    fn rig(
        self,
        driver: impl FnOnce(OneSession, DriverConfig) -> Arc<dyn ClusterDriver>,
        template: TemplateSpec,
    ) -> CloudRig {
        let way = CountedWay {
            way: HttpConnect::new(
                self.nodes
                    .proxy_url()
                    .parse()
                    .expect("the simulator gives an address"),
            ),
            calls: self.calls.clone(),
        };
        let mut config = DriverConfig::new();
        config.access = Arc::new(Access::new(Arc::new(way), Arc::new(BuiltinAddons)));
        config.polls = PollIntervals::fast();
        let driver = driver(OneSession(self.session), config);
        let before = things(&self.cloud);
        CloudRig {
            driver,
            template,
            calls: self.calls,
            before: before.into_iter().map(|thing| thing.id).collect(),
            cloud: self.cloud,
            _nodes: self.nodes,
        }
    }
}

/// One session for whatever project the suite pretends to be.
#[derive(Debug)]
struct OneSession(Session);

#[async_trait]
impl SessionSource for OneSession {
    async fn session(&self, _: &ProjectId) -> Result<Session, DriverError> {
        Ok(self.0.clone())
    }
}

#[async_trait]
impl Rig for CloudRig {
    fn driver(&self) -> Arc<dyn ClusterDriver> {
        Arc::clone(&self.driver)
    }

    /// Nodes check the certificates that they are given by the real time.
    fn begins(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn template(&self) -> TemplateSpec {
        self.template.clone()
    }

    async fn inventory(&self) -> Vec<String> {
        let all = things(&self.cloud).into_iter();
        all.filter(|thing| !self.before.contains(&thing.id))
            .map(|thing| format!("{} {}", thing.kind, thing.name))
            .collect()
    }

    /// Servers and stacks: by the cloud's own ledger, the names that drivers give themselves.
    async fn created(&self) -> Vec<String> {
        let ledger = self.cloud.openstack().ledger().entries().into_iter();
        ledger
            .filter(|entry| entry.action == "create" && entry.project_id == DEMO_PROJECT)
            .filter(|entry| matches!(entry.kind.as_str(), "server" | "stack"))
            .map(|entry| format!("{} {}", entry.kind, entry.name))
            .collect()
    }

    fn calls(&self) -> u64 {
        self.calls.made()
    }

    fn inject(&self, after: u64, fault: Fault) {
        self.calls.inject(after, fault);
    }

    async fn settle(&self) {
        tokio::time::sleep(TURN).await;
    }
}

/// Something in the cloud.
struct Thing {
    kind: String,
    id: String,
    name: String,
}

/// Everything that the project has, in every service, as the cloud itself knows it.
fn things(cloud: &EmbeddedCloud) -> Vec<Thing> {
    let mut things = Vec::new();
    let all = cloud.openstack().inventory(Some(DEMO_PROJECT));
    for (_, service) in all.as_object().into_iter().flatten() {
        for (kind, items) in service.as_object().into_iter().flatten() {
            let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
            let items = items.as_array().into_iter().flatten();
            things.extend(items.map(|item| Thing {
                kind: kind.clone(),
                id: text(item, "id"),
                name: text(item, "name"),
            }));
        }
    }
    things
}
