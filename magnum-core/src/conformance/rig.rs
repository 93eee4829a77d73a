//! What a driver's author lends the suite.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::driver::ClusterDriver;
use crate::model::{KubeVersion, TemplateSpec};

/// How a call to the cloud goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is refused, and nothing happens.
    Refused,
    /// It takes effect, and its answer is lost.
    AnswerLost,
}

/// A driver with a fresh cloud of its own behind it.
#[async_trait]
pub trait Rig: Debug + Send + Sync {
    /// The driver.
    fn driver(&self) -> Arc<dyn ClusterDriver>;

    /// The time at which the suite's clock begins; it goes on by itself and is put forward past every pause. A fixed moment unless
    /// something behind the driver reads a clock of its own, such as a service that checks certificates.
    fn begins(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000, 0).unwrap_or_default()
    }

    /// What the suite's clusters are made from. Where the driver claims to resize the control plane, three nodes of it must be possible.
    fn template(&self) -> TemplateSpec;

    /// The version and image to which the suite upgrades; needed where the driver claims upgrades.
    fn upgrade(&self) -> Option<(KubeVersion, String)> {
        None
    }

    /// Everything that is in the cloud now, each as `kind name`.
    async fn inventory(&self) -> Vec<String>;

    /// The names of everything that was ever made in the cloud and whose name must not be made twice, in order.
    async fn created(&self) -> Vec<String>;

    /// How many calls the driver has made so far.
    fn calls(&self) -> u64;

    /// Lets the call number `after` from now go wrong; 0 is the next.
    fn inject(&self, after: u64, fault: Fault);

    /// Lets the cloud go on with what it does by itself. Called between the engine's rounds; nothing where the cloud needs no time.
    async fn settle(&self) {}
}
