//! Rows to try a store with.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::driver::{Change, Progress};
use crate::event::EventKind;
use crate::id::{ClusterId, ClusterTemplateId, NodeGroupId, OperationId, ProjectId};
use crate::model::{
    Cluster, ClusterFacts, ClusterName, ClusterTemplate, LabelMerge, Labels, NetworkPlan,
    NodeGroup, NodeGroupName, NodeGroupRole, NodeGroupSpec, ServerType, TemplateName, TemplateSpec,
};
use crate::operation::{LockScope, OnDone, Operation, OperationState, Wanted};
use crate::state::{Health, Status};
use crate::store::NewEvent;

use super::Failure;

/// The time at which everything happens.
pub(super) fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000, 0).unwrap_or_default()
}

pub(super) fn cluster(id: u128, name: &str, project: &str) -> Result<Cluster, Failure> {
    Ok(Cluster {
        id: ClusterId::from_uuid(Uuid::from_u128(id)),
        name: ClusterName::new(name)?,
        project_id: ProjectId::new(project),
        user_id: "u".to_owned(),
        template_id: ClusterTemplateId::from_uuid(Uuid::from_u128(1)),
        spec: TemplateSpec::new("image", "flavor"),
        labels: LabelMerge::default(),
        driver: "memory".to_owned(),
        kube_version: "v1.36.1".parse()?,
        network: NetworkPlan::from_labels(&Labels::new())?,
        create_timeout: Duration::from_secs(3600),
        status: Status::CREATE_COMPLETE,
        status_reason: None,
        health: Health::Unknown,
        health_report: None,
        facts: ClusterFacts::default(),
        created_at: start(),
        updated_at: start(),
    })
}

pub(super) fn node_group(of: &Cluster, node_count: u32) -> Result<NodeGroup, Failure> {
    Ok(NodeGroup {
        id: NodeGroupId::from_uuid(Uuid::from_u128(of.id.as_uuid().as_u128() + 1_000_000)),
        cluster_id: of.id,
        name: NodeGroupName::new("default-worker")?,
        role: NodeGroupRole::Worker,
        is_default: true,
        node_count,
        min_node_count: 0,
        max_node_count: None,
        spec: NodeGroupSpec {
            flavor: "flavor".to_owned(),
            image: "image".to_owned(),
            size: None,
            server_type: ServerType::Vm,
            labels: Labels::new(),
            node_labels: std::collections::BTreeMap::new(),
            taints: Vec::new(),
        },
        status: Status::CREATE_COMPLETE,
        status_reason: None,
        members: Vec::new(),
        created_at: start(),
        updated_at: start(),
    })
}

pub(super) fn operation(id: u128, of: &Cluster, next_due: Option<DateTime<Utc>>) -> Operation {
    Operation {
        id: OperationId::from_uuid(Uuid::from_u128(id)),
        cluster: of.id,
        project_id: of.project_id.clone(),
        change: Change::ROTATE_CA,
        scope: LockScope::Exclusive,
        state: OperationState::Running,
        outcome: None,
        causes: Vec::new(),
        progress: Progress::default(),
        attempts: 0,
        errors: 0,
        last_error: None,
        automatic_retries: 0,
        preflight_passed: false,
        cancelled: false,
        superseded_by: None,
        deadline: start(),
        timeout_secs: 60,
        next_due,
        leftovers: Vec::new(),
        requested_by: "u".to_owned(),
        request_id: String::new(),
        created_at: start(),
        started_at: None,
        ended_at: None,
        updated_at: start(),
        lease: None,
        fence: 0,
        wanted: Wanted::default(),
        on_done: OnDone::default(),
    }
}

pub(super) fn template(id: u128, project: &str, public: bool) -> Result<ClusterTemplate, Failure> {
    Ok(ClusterTemplate {
        id: ClusterTemplateId::from_uuid(Uuid::from_u128(id)),
        name: TemplateName::new("small")?,
        project_id: ProjectId::new(project),
        user_id: "u".to_owned(),
        public,
        hidden: false,
        spec: TemplateSpec::new("image", "flavor"),
        first_version: None,
        version: 1,
        version_tag: None,
        deprecation: None,
        revision: 0,
        created_at: start(),
        updated_at: start(),
    })
}

pub(super) fn event(of: &Cluster, text: &str) -> NewEvent {
    NewEvent {
        at: start(),
        project_id: of.project_id.clone(),
        cluster: of.id,
        operation: None,
        kind: EventKind::Warning {
            text: text.to_owned(),
        },
    }
}
