//! The cloud that a test runs on.

use std::time::Duration;

use magnum_core::TemplateSpec;
use magnum_driver_kit::PollIntervals;
use magnum_embedded_cloud::node::{AdminLogin, Simulator, SimulatorConfig};
use magnum_embedded_cloud::{EmbeddedCloud, Options};
use magnum_heat::{CloudConfig, Env, Session};
use url::Url;

use crate::Failure;

/// A cloud with somebody who plays its nodes.
#[derive(Debug)]
pub struct TestCloud {
    /// An administrator.
    pub admin: Session,
    /// The way to the clusters.
    pub proxy: Url,
    /// How often a driver looks at it.
    pub polls: PollIntervals,
    /// External network.
    pub external_network: &'static str,
    /// The simulator's own door, for faults.
    pub nodes_admin: Url,
    kept: Kept,
}

/// What must live as long as the test.
#[derive(Debug)]
enum Kept {
    Embedded(EmbeddedCloud),
    Real(Simulator),
}

impl TestCloud {
    /// An embedded cloud of its own.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn embedded() -> Result<Self, Failure> {
        Self::embedded_with(Options::default()).await
    }

    /// An embedded cloud with options.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn embedded_with(options: Options) -> Result<Self, Failure> {
        let cloud = EmbeddedCloud::start(options).await?;
        Ok(Self {
            admin: Session::connect(CloudConfig::from_yaml(
                &cloud.clouds_yaml(),
                "embedded-admin",
            )?)
            .await?,
            proxy: cloud.proxy_url().parse()?,
            polls: PollIntervals::fast(),
            external_network: "public",
            nodes_admin: cloud
                .simulator()
                .ok_or("the simulator runs")?
                .admin_url()
                .parse()?,
            kept: Kept::Embedded(cloud),
        })
    }

    /// The real cloud of `tests/cloud`, found as `tests/cloud/env` says, with a node simulator of this test's own.
    ///
    /// # Errors
    /// Where it is not there.
    pub async fn real() -> Result<Self, Failure> {
        let env = Env::from_process();
        let name = env
            .var("MAGNUM_TEST_CLOUD_ADMIN")
            .ok_or("MAGNUM_TEST_CLOUD_ADMIN is not set: eval \"$(tests/cloud/env)\" first")?
            .to_owned();
        let config = CloudConfig::load(Some(&name), &env)?;
        let mut login = AdminLogin::new(config.auth_url.as_str(), "admin", "adminpw", "admin");
        login.region = config.region.clone();
        let mut simulation = SimulatorConfig::new(login);
        simulation.poll_interval = Duration::from_millis(500);
        let simulator = Simulator::start(simulation).await?;
        Ok(Self {
            admin: Session::connect(config).await?,
            proxy: simulator.proxy_url().parse()?,
            polls: PollIntervals {
                stack: Duration::from_secs(2),
                nodes: Duration::from_secs(1),
                signals: Duration::from_secs(5),
                drain: Duration::from_secs(1),
            },
            external_network: "public",
            nodes_admin: simulator.admin_url().parse()?,
            kept: Kept::Real(simulator),
        })
    }

    /// A template of virtual machines with this cloud's usual names.
    #[must_use]
    pub fn spec(&self) -> TemplateSpec {
        let mut spec = TemplateSpec::new("ubuntu-k8s-v1.36", "m1.small");
        spec.external_network = Some(self.external_network.to_owned());
        spec
    }

    /// Whether it is the real one.
    #[must_use]
    pub const fn is_real(&self) -> bool {
        matches!(self.kept, Kept::Real(_))
    }

    /// Ends what was started for it.
    pub async fn end(self) {
        match self.kept {
            Kept::Embedded(cloud) => cloud.shutdown().await,
            Kept::Real(simulator) => simulator.shutdown().await,
        }
    }
}
