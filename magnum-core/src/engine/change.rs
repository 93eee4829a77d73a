//! Changes of living clusters: checked on one reading, accepted in one transaction.

use std::sync::Arc;
use std::time::Duration;

use super::create::accepted;
use super::understand::preview;
use super::{Accepted, ChangeRequest, ClusterKey, Deed, Engine, RequestContext, telemetry};
use crate::driver::{Change, ChangeKind, ClusterDriver, ClusterView};
use crate::error::Error;
use crate::event::EventKind;
use crate::id::OperationId;
use crate::model::{KubeVersion, NodeGroupRole, Problems};
use crate::operation::{
    Blocked, Draft, LockScope, OnBusy, OnDone, Operation, OperationState, Wanted, operation_id,
};
use crate::state::{Status, Verdict, verdict};
use crate::store::{ClusterRecord, Guard, Quota, StoreError, Usage};

/// How often a decision is made anew because the cluster changed under it.
const TRIES: u32 = 50;

/// What an upgrade leads to, looked up before the decision.
#[derive(Debug, Clone)]
pub(super) struct UpgradeTarget {
    pub(super) version: Option<KubeVersion>,
    pub(super) image: Option<String>,
    pub(super) template: Option<crate::id::ClusterTemplateId>,
}

impl Engine {
    /// Accepts any change of a living cluster. The convenience methods call this with [`OnBusy::Refuse`].
    ///
    /// Cancel safe: accepted wholly or not at all.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Conflict`] where its scope is busy, [`Error::WrongStatus`],
    /// [`Error::Unsupported`], [`Error::Invalid`] with all problems, [`Error::QuotaReached`], [`Error::Store`].
    pub async fn change(
        &self,
        cx: &RequestContext,
        cluster: impl Into<ClusterKey> + Send,
        request: ChangeRequest,
        on_busy: OnBusy,
    ) -> Result<Accepted, Error> {
        let key = cluster.into();
        let target = self.upgrade_target(cx, &request).await?;
        for _ in 0..TRIES {
            let record = self.record(cx, &key).await?;
            let quota = self.quota_of(&record.view.cluster.project_id).await?;
            let (mut draft, id) =
                match self.decide(cx, record, &request, &target, &quota, on_busy)? {
                    Decision::Accept(draft, id) => (*draft, id),
                    Decision::Joined(accepted) => return Ok(*accepted),
                };
            self.keep_token(cx, &mut draft, id).await?;
            let accepted = accepted(&draft, id)?;
            match self.0.store.commit(draft.into_commit()).await {
                Ok(_) => {
                    telemetry::accepted(accepted.operation.change.kind());
                    return Ok(accepted);
                }
                Err(StoreError::Stale { .. } | StoreError::LeaseLost { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Store(StoreError::Unavailable {
            reason: format!("cluster {} changes too fast", key.0),
            source: None,
        }))
    }

    /// The whole decision on one reading.
    fn decide(
        &self,
        cx: &RequestContext,
        record: ClusterRecord,
        request: &ChangeRequest,
        target: &UpgradeTarget,
        quota: &Quota,
        on_busy: OnBusy,
    ) -> Result<Decision, Error> {
        let cluster = &record.view.cluster;
        let kind = request.kind();
        self.demand(cx, Deed::Change(kind), &cluster.project_id)?;
        if kind == ChangeKind::Delete
            && let Some(running) = record
                .operations
                .iter()
                .find(|o| o.is_active() && o.change == Change::Delete)
        {
            let (cluster, operation) = (cluster.clone(), running.clone());
            return Ok(Decision::Joined(Box::new(Accepted { cluster, operation })));
        }
        let (project, name, status) = (
            cluster.project_id.clone(),
            cluster.name.to_string(),
            cluster.status,
        );
        let holder = record.operations.iter().find(|o| o.is_active()).cloned();
        let mut draft = Draft::of(record, self.0.clock.now());
        match verdict(status, kind, draft.is_usable()) {
            Verdict::Allowed => {}
            Verdict::Busy => match holder {
                Some(holder) if holder.change == Change::Delete || on_busy == OnBusy::Refuse => {
                    return Err(conflict(name, kind, &holder));
                }
                Some(_) => {}
                None => return Err(wrong_status(name, status, kind)),
            },
            Verdict::Refused => return Err(wrong_status(name, status, kind)),
        }
        let driver = self.driver_of(&draft.view)?;
        self.learn_sizes(&mut draft.view);
        let meant = self.understand(&draft, &*driver, request, target, quota)?;
        self.claimed(&*driver, &meant.change, meant.control_plane)?;
        let view = preview(&draft.view, &meant);
        if meant.change != Change::Delete {
            driver.validate(&view, &meant.change)?;
        }
        let timeout = self.timeout(&*driver, &view, &meant.change);
        if meant.more != Usage::default() {
            self.sizes_known(&view, quota)?;
            draft.guard(Guard::WithinQuota {
                project,
                more: meant.more,
                quota: *quota,
            });
        }
        let operation = self.new_operation(
            cx,
            &draft,
            meant.change,
            timeout,
            meant.wanted,
            meant.on_done,
        );
        let id = operation.id;
        for text in meant.notes {
            draft.tell(Some(id), EventKind::Warning { text });
        }
        match draft.accept(operation, on_busy) {
            Ok(()) => Ok(Decision::Accept(Box::new(draft), id)),
            Err(Blocked(holder)) => Err(conflict(name, kind, &holder)),
        }
    }

    /// The version and image that an upgrade names, looked up before the decision.
    pub(super) async fn upgrade_target(
        &self,
        cx: &RequestContext,
        request: &ChangeRequest,
    ) -> Result<UpgradeTarget, Error> {
        let mut target = UpgradeTarget {
            version: None,
            image: None,
            template: None,
        };
        let ChangeRequest::Upgrade(upgrade) = request else {
            return Ok(target);
        };
        if let Some(key) = &upgrade.template {
            let template = self.find_template(cx, key).await?;
            let mut problems = Problems::new();
            let rule = "must be a Kubernetes release such as v1.36.1";
            target.version = template.spec.labels.parse("kube_tag", rule, &mut problems);
            problems.into_result()?;
            target.image = Some(template.spec.image);
            target.template = Some(template.id);
        }
        target.version = upgrade.kube_version.clone().or(target.version);
        target.image = upgrade.image.clone().or(target.image);
        Ok(target)
    }

    /// A cluster that the caller can see, with everything on which decisions rest.
    pub(super) async fn record(
        &self,
        cx: &RequestContext,
        key: &ClusterKey,
    ) -> Result<ClusterRecord, Error> {
        let cluster = self.find(cx, &key.0).await?;
        match self.0.store.load(cluster.id).await? {
            Some(record) if !record.deleted => Ok(record),
            _ => Err(Error::not_found("cluster", &key.0)),
        }
    }

    pub(super) fn driver_of(&self, view: &ClusterView) -> Result<Arc<dyn ClusterDriver>, Error> {
        Ok(Arc::clone(self.0.drivers.by_name(&view.cluster.driver)?))
    }

    pub(super) fn claimed(
        &self,
        driver: &dyn ClusterDriver,
        change: &Change,
        control_plane: bool,
    ) -> Result<(), Error> {
        let capability = change.needs(control_plane);
        if *change == Change::RotateCredential && self.0.credentials.is_some() {
            return Ok(());
        }
        if driver.capabilities().has(capability) {
            return Ok(());
        }
        Err(Error::Unsupported {
            driver: driver.name().to_owned(),
            capability,
        })
    }

    fn timeout(&self, driver: &dyn ClusterDriver, view: &ClusterView, change: &Change) -> Duration {
        match change {
            Change::Create if !view.cluster.create_timeout.is_zero() => view.cluster.create_timeout,
            _ => driver.default_timeout(view, change),
        }
    }

    pub(super) fn new_operation(
        &self,
        cx: &RequestContext,
        draft: &Draft,
        change: Change,
        timeout: Duration,
        wanted: Wanted,
        on_done: OnDone,
    ) -> Operation {
        let control_plane = change
            .node_group()
            .and_then(|id| draft.view.node_group(id))
            .is_some_and(|group| group.role == NodeGroupRole::ControlPlane);
        Operation {
            id: operation_id(&*self.0.clock, &draft.operations),
            cluster: draft.view.cluster.id,
            project_id: draft.view.cluster.project_id.clone(),
            scope: LockScope::of(&change, control_plane),
            state: OperationState::Queued,
            outcome: None,
            causes: Vec::new(),
            progress: crate::driver::Progress::default(),
            attempts: 0,
            errors: 0,
            last_error: None,
            automatic_retries: 0,
            preflight_passed: change == Change::Delete,
            change,
            cancelled: false,
            superseded_by: None,
            deadline: draft.now + timeout,
            timeout_secs: timeout.as_secs().max(1),
            next_due: None,
            leftovers: Vec::new(),
            requested_by: cx.user_id.clone(),
            request_id: cx.request_id.clone(),
            created_at: draft.now,
            started_at: None,
            ended_at: None,
            updated_at: draft.now,
            lease: None,
            fence: 0,
            wanted,
            on_done,
        }
    }
}

#[derive(Debug)]
enum Decision {
    Accept(Box<Draft>, OperationId),
    /// The same is under way already.
    Joined(Box<Accepted>),
}

fn conflict(cluster: String, change: ChangeKind, holder: &Operation) -> Error {
    Error::Conflict {
        cluster,
        change,
        operation: holder.id,
        running: holder.change.kind(),
    }
}

const fn wrong_status(cluster: String, status: Status, change: ChangeKind) -> Error {
    Error::WrongStatus {
        cluster,
        status,
        change,
    }
}

impl ChangeRequest {
    /// The kind of change that it asks for.
    #[must_use]
    pub const fn kind(&self) -> ChangeKind {
        match self {
            Self::RetryCreate => ChangeKind::Create,
            Self::Resize(_) => ChangeKind::Resize,
            Self::ReplaceNode(_) => ChangeKind::ReplaceNode,
            Self::CreateNodeGroup(_) => ChangeKind::CreateNodeGroup,
            Self::UpdateNodeGroup { .. } => ChangeKind::UpdateSettings,
            Self::DeleteNodeGroup(_) => ChangeKind::DeleteNodeGroup,
            Self::Upgrade(_) => ChangeKind::Upgrade,
            Self::RotateCa => ChangeKind::RotateCa,
            Self::RotateCredential => ChangeKind::RotateCredential,
            Self::BackUpEtcd(_) => ChangeKind::BackUpEtcd,
            Self::RestoreEtcd(_) => ChangeKind::RestoreEtcd,
            Self::Delete => ChangeKind::Delete,
        }
    }
}
