//! Domain, typed state machine, durable engine and driver contract for Kubernetes clusters on OpenStack.
//!
//! Callers use the names at this crate's root. Authors of drivers use [`driver`]; a caller never needs it.

mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod credential;
pub mod driver;
mod engine;
mod error;
mod event;
mod id;
mod model;
mod operation;
mod retry;
mod sealer;
mod secret;
mod secret_store;
pub mod state;
pub mod store;

pub use clock::{Clock, ManualClock, SimulatedClock, SystemClock};
pub use credential::{
    CredentialError, CredentialProvider, CredentialRef, CredentialRequest, IssuedCredential,
    WORK_CREDENTIAL, WorkCredential,
};
pub use engine::{
    Accepted, ChangeRequest, ClusterKey, ClusterTemplatePatch, Deed, Engine, EngineBuilder,
    EngineConfig, EngineHealth, MagnumPolicy, NodeGroupPatch, NodeGroupUpdate, Policy,
    RequestContext, Resize, SealedSecrets, Upgrade,
};
pub use error::Error;
pub use event::{Event, EventKind};
pub use id::{
    ClusterId, ClusterTemplateId, EngineId, MemberId, NodeGroupId, OperationId, ProjectId,
};
pub use model::{
    Cluster, ClusterFacts, ClusterName, ClusterTemplate, Deprecation, FlavorSize, FlavorSizes,
    HealthReport, KubeSupport, KubeVersion, LabelKind, LabelMerge, LabelSchema, Labels,
    LoadBalancerSettings, Member, MemberPhase, MemberRef, NetworkPlan, NewCluster,
    NewClusterTemplate, NewNodeGroup, NewTemplateVersion, NodeGroup, NodeGroupName, NodeGroupRole,
    NodeGroupSpec, OverrideRule, Overrides, Problem, Problems, ServerType, Taint, TaintEffect,
    TemplateName, TemplateSpec, parse_nameservers,
};
pub use operation::{Lease, LockScope, OnBusy, Operation, OperationState, Outcome};
pub use retry::Retry;
pub use sealer::{SealContext, SealError, Sealer};
pub use secret::Secret;
pub use secret_store::{MemorySecretStore, SecretStore, SecretStoreError};
pub use state::{Action, Health, Phase, Status};
