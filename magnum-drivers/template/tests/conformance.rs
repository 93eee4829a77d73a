//! The proof that the driver keeps the contract. Copy it with the driver.

use std::sync::Arc;

use async_trait::async_trait;
use magnum_core::TemplateSpec;
use magnum_core::conformance::{self, Fault, Rig};
use magnum_core::driver::{Capability, ClusterDriver};
use magnum_driver_template::{Machines, TemplateDriver};

#[derive(Debug, Default)]
struct TemplateRig {
    machines: Machines,
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

#[tokio::test(start_paused = true)]
async fn the_template_driver_keeps_the_contract() {
    let factory = || async { Box::new(TemplateRig::default()) as Box<dyn Rig> };
    let report = conformance::run(factory).await;
    println!("{report}");
    report.assert_claims([Capability::CreateDelete, Capability::Resize]);
}
