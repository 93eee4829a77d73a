//! What the conformance suite is lent: the driver, and a fresh service behind it.

use std::sync::Arc;

use async_trait::async_trait;
use magnum_core::TemplateSpec;
use magnum_core::conformance::{Fault, Rig};
use magnum_core::driver::ClusterDriver;

use crate::{Machines, TemplateDriver};

/// The driver on a pretended service of its own.
#[derive(Debug, Default)]
pub struct TemplateRig {
    machines: Machines,
}

impl TemplateRig {
    /// A rig with a service without machines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Rig for TemplateRig {
    fn driver(&self) -> Arc<dyn ClusterDriver> {
        Arc::new(TemplateDriver::new(self.machines.clone()))
    }

    fn template(&self) -> TemplateSpec {
        let mut spec = TemplateSpec::new("image", "flavor");
        spec.external_network = Some("public".to_owned());
        spec
    }

    async fn inventory(&self) -> Vec<String> {
        let all = self.machines.all();
        all.iter().map(|m| format!("machine {}", m.name)).collect()
    }

    async fn created(&self) -> Vec<String> {
        self.machines.made()
    }

    fn calls(&self) -> u64 {
        self.machines.calls()
    }

    fn inject(&self, after: u64, fault: Fault) {
        self.machines.fail(after, fault == Fault::AnswerLost);
    }
}
