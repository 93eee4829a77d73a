//! The memo of the whole cluster.

use chrono::{DateTime, Utc};
use magnum_core::OperationId;
use magnum_core::driver::Cause;
use serde::{Deserialize, Serialize};

use super::{CloudFacts, InfraOutputs, MEMO_VERSION, StackRecord};

/// The cluster's application credential. Its secret is in the secret store, never here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialRecord {
    /// Its name, written before it is made.
    pub name: String,
    /// Its id, once made.
    #[serde(default)]
    pub id: Option<String>,
    /// Counts up with every rotation.
    #[serde(default)]
    pub generation: u32,
}

/// Which add-ons were applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddonPhases {
    /// The pod network.
    #[serde(default)]
    pub network: bool,
    /// The cloud controller.
    #[serde(default)]
    pub cloud: bool,
    /// Everything that can wait until nodes are ready.
    #[serde(default)]
    pub workloads: bool,
}

/// How far a deletion is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeletionMemo {
    /// Whether everything that the cluster itself made (load balancers, volumes) is gone.
    #[serde(default)]
    pub workloads_gone: bool,
    /// Stacks that carry the mark and that no memo knows, by name and id.
    #[serde(default)]
    pub strays: Vec<StackRecord>,
    /// Whether strays were looked for.
    #[serde(default)]
    pub strays_listed: bool,
    /// Whether the stacks of groups and control plane are gone.
    #[serde(default)]
    pub groups_gone: bool,
    /// Whether volumes that the cluster made are gone.
    #[serde(default)]
    pub volumes_gone: bool,
    /// Whether the infrastructure is gone.
    #[serde(default)]
    pub infrastructure_gone: bool,
    /// Whether the cloud credential is gone.
    #[serde(default)]
    pub credential_gone: bool,
    /// Whether the cluster's secrets are gone.
    #[serde(default)]
    pub secrets_gone: bool,
}

/// What is remembered of the whole cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterMemo {
    /// The version of its form.
    pub version: u32,
    /// What was looked up.
    #[serde(default)]
    pub facts: Option<CloudFacts>,
    /// The cloud credential of the cluster.
    #[serde(default)]
    pub credential: Option<CredentialRecord>,
    /// The infrastructure stack.
    #[serde(default)]
    pub infrastructure: Option<StackRecord>,
    /// Why the infrastructure failed, and in which operation.
    #[serde(default)]
    pub infrastructure_failure: Option<(OperationId, Cause)>,
    /// What it gave.
    #[serde(default)]
    pub outputs: Option<InfraOutputs>,
    /// When the first control-plane node said that it is up.
    #[serde(default)]
    pub first_signal: Option<DateTime<Utc>>,
    /// Whether the API ever answered.
    #[serde(default)]
    pub api_reached: bool,
    /// Which add-ons were applied.
    #[serde(default)]
    pub addons: AddonPhases,
    /// Whether the cluster was complete once.
    #[serde(default)]
    pub created: bool,
    /// How far a deletion is.
    #[serde(default)]
    pub deletion: Option<DeletionMemo>,
}

impl ClusterMemo {
    /// An empty memo of the present form.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: MEMO_VERSION,
            ..Self::default()
        }
    }
}
