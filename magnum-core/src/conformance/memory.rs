//! The reference driver's rig.

use std::sync::Arc;

use async_trait::async_trait;

use super::rig::{Fault, Rig};
use crate::driver::ClusterDriver;
use crate::driver::memory::{CloudFault, LedgerEntry, MemoryCloud, MemoryDriver};
use crate::model::{KubeVersion, TemplateSpec};

/// The reference driver with a fresh cloud in memory.
#[derive(Debug, Default)]
pub struct MemoryRig {
    cloud: MemoryCloud,
}

impl MemoryRig {
    /// A fresh one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Rig for MemoryRig {
    fn driver(&self) -> Arc<dyn ClusterDriver> {
        Arc::new(MemoryDriver::new(self.cloud.clone()))
    }

    fn template(&self) -> TemplateSpec {
        let mut spec = TemplateSpec::new("ubuntu", "m1.small");
        spec.external_network = Some("public".to_owned());
        spec
    }

    fn upgrade(&self) -> Option<(KubeVersion, String)> {
        let version = "v1.37.0".parse().ok()?;
        Some((version, "ubuntu-1.37".to_owned()))
    }

    async fn inventory(&self) -> Vec<String> {
        let things = self.cloud.inventory();
        things
            .iter()
            .map(|(name, thing)| format!("{} {name}", thing.kind))
            .collect()
    }

    async fn created(&self) -> Vec<String> {
        let ledger = self.cloud.ledger().into_iter();
        ledger
            .filter_map(|entry| match entry {
                LedgerEntry::Created(name) => Some(name),
                LedgerEntry::Deleted(_) => None,
            })
            .collect()
    }

    fn calls(&self) -> u64 {
        self.cloud.calls()
    }

    fn inject(&self, after: u64, fault: Fault) {
        let fault = match fault {
            Fault::Refused => CloudFault::Refuse,
            Fault::AnswerLost => CloudFault::LoseAnswer,
        };
        self.cloud.inject(after, fault);
    }
}
