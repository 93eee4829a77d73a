//! Creation of clusters.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::governance::governed;
use super::request::{DEFAULT_MASTER, DEFAULT_WORKER};
use super::{Accepted, Deed, Engine, RequestContext, rules, telemetry};
use crate::driver::{Change, ChangeKind, ClusterDriver, ClusterView};
use crate::error::Error;
use crate::event::EventKind;
use crate::id::{ClusterId, NodeGroupId};
use crate::model::{
    Cluster, ClusterFacts, Labels, NetworkPlan, NewCluster, NodeGroup, NodeGroupName,
    NodeGroupRole, NodeGroupSpec, Problems, TemplateSpec,
};
use crate::operation::{Draft, OnBusy, OnDone, Wanted, random_uuid};
use crate::state::{Health, Status};
use crate::store::{Guard, StoreError, Usage, Write};

/// A cluster that could be accepted.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) view: ClusterView,
    pub(super) driver: Arc<dyn ClusterDriver>,
    /// What the requester should know and that refuses nothing.
    pub(super) warnings: Vec<String>,
}

impl Engine {
    /// Accepts a new cluster: everything is checked that can be without a cloud, and one transaction makes the cluster, its two
    /// default groups, the operation and the events. Its Kubernetes version is that of the label `kube_tag`, else
    /// [`EngineConfig::default_kube_version`](super::EngineConfig::default_kube_version).
    ///
    /// A repeated request with the same idempotency key gets the first one's cluster. Cancel safe: accepted wholly or not at all.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all problems, [`Error::NotFound`] for the template, [`Error::NameTaken`], [`Error::QuotaReached`],
    /// [`Error::Forbidden`], [`Error::Store`].
    pub async fn create_cluster(
        &self,
        cx: &RequestContext,
        new: NewCluster,
    ) -> Result<Accepted, Error> {
        self.create(cx, new, Change::Create).await
    }

    /// Takes over a cluster that exists under a stack id of another tool.
    ///
    /// # Errors
    /// As [`create_cluster`](Self::create_cluster), and [`Error::Unsupported`].
    pub async fn adopt_cluster(
        &self,
        cx: &RequestContext,
        new: NewCluster,
        stack_id: impl Into<String> + Send,
    ) -> Result<Accepted, Error> {
        let stack_id = stack_id.into();
        self.create(cx, new, Change::Adopt { stack_id }).await
    }

    async fn create(
        &self,
        cx: &RequestContext,
        new: NewCluster,
        change: Change,
    ) -> Result<Accepted, Error> {
        self.demand(cx, Deed::Change(ChangeKind::Create), &cx.project_id)?;
        if let Some(key) = &new.idempotency_key
            && let Some(first) = self.0.store.idempotent(&cx.project_id, key).await?
        {
            return self.first_answer(first, &new).await;
        }
        let Prepared {
            view,
            driver,
            warnings,
        } = self.prepare_create(cx, &new, &change).await?;
        let timeout = new
            .create_timeout
            .or(self.0.config.create_timeout)
            .unwrap_or_else(|| driver.default_timeout(&view, &change));
        let more = demand_of(&view);
        let mut draft = Draft::birth(view, self.0.clock.now());
        draft.view.cluster.create_timeout = timeout;
        let operation = self.new_operation(
            cx,
            &draft,
            change,
            timeout,
            Wanted::default(),
            OnDone::default(),
        );
        let id = operation.id;
        let in_free_scope = draft.accept(operation, OnBusy::Refuse).is_ok();
        debug_assert!(in_free_scope, "a new cluster has no other operation");
        for text in warnings {
            draft.tell(Some(id), EventKind::Warning { text });
        }
        let quota = self.quota_of(&cx.project_id).await?;
        self.sizes_known(&draft.view, &quota)?;
        let cluster = &draft.view.cluster;
        let (cluster_id, name) = (cluster.id, cluster.name.to_string());
        if let Some(key) = new.idempotency_key.clone() {
            let project = cx.project_id.clone();
            draft.guard(Guard::KeyUnused {
                project: project.clone(),
                key: key.clone(),
            });
            draft.write(Write::Key {
                project,
                key,
                cluster: cluster_id,
            });
        }
        let project = cx.project_id.clone();
        draft.guard(Guard::NameFree {
            project: project.clone(),
            name,
        });
        draft.guard(Guard::WithinQuota {
            project,
            more,
            quota,
        });
        self.keep_token(cx, &mut draft, id).await?;
        let accepted = accepted(&draft, id)?;
        match self.0.store.commit(draft.into_commit()).await {
            Ok(_) => {
                telemetry::accepted(accepted.operation.change.kind());
                Ok(accepted)
            }
            Err(StoreError::KeyUsed { cluster }) => self.first_answer(cluster, &new).await,
            Err(error) => Err(error.into()),
        }
    }

    /// The cluster that an earlier request with the same key made, with its creation.
    async fn first_answer(&self, first: ClusterId, new: &NewCluster) -> Result<Accepted, Error> {
        let id = first.to_string();
        let missing = || Error::not_found("cluster", id.clone());
        let record = self.0.store.load(first).await?.ok_or_else(missing)?;
        let cluster = record.view.cluster;
        if cluster.name != new.name {
            let rule = format!("was used for cluster {}", cluster.name);
            let key = new.idempotency_key.as_deref().unwrap_or_default();
            return Err(Problems::one("idempotency_key", key, rule).into());
        }
        let filter = crate::store::OperationFilter {
            cluster: Some(first),
            ..Default::default()
        };
        let all = crate::store::Visibility::Everything;
        let operations = self.0.store.operations(&all, &filter).await?;
        let operation = operations.into_iter().next_back().ok_or_else(missing)?;
        Ok(Accepted { cluster, operation })
    }

    /// Lays a request over its template and checks the result, by the engine's rules and the driver's: all problems in one answer.
    pub(super) async fn prepare_create(
        &self,
        cx: &RequestContext,
        new: &NewCluster,
        change: &Change,
    ) -> Result<Prepared, Error> {
        let template = self.find_template(cx, &new.template).await?;
        let mut problems = Problems::new();
        let mut warnings = Vec::new();
        governed(&template, new, &mut problems, &mut warnings);
        let spec = overlay(&template.spec, new);
        let driver = Arc::clone(self.0.drivers.for_template(&spec)?);
        let labels = Labels::over(&template.spec.labels, new.labels.as_ref(), new.merge_labels);
        problems.absorb(spec.validate());
        rules::control_plane(new.master_count, &spec, &mut problems);
        rules::driver_can(&*driver, &spec, &mut problems);
        rules::allowed(&self.0.config, &*driver, &spec, &mut problems);
        warnings.extend(rules::labels(
            &self.0.config,
            &*driver,
            &spec.labels,
            &mut problems,
        ));
        let default = &self.0.config.default_kube_version;
        let kube_version = rules::kube_version(&spec.labels, default, &mut problems);
        warnings.extend(kube_version.support_warning(self.0.clock.now()));
        // With wrong ranges the rest is still checked, on the default ones.
        let reserved = &self.0.config.reserved_ranges;
        let network = NetworkPlan::avoiding(&spec.labels, reserved).unwrap_or_else(|others| {
            problems.absorb(Err(others));
            NetworkPlan::default()
        });
        let min = spec.labels.number("min_node_count", &mut problems);
        let max = spec.labels.number("max_node_count", &mut problems);
        rules::counts(new.node_count, min.unwrap_or(0), max, &mut problems);
        let most = self.0.config.max_nodes_per_cluster;
        if new.master_count.saturating_add(new.node_count) > most {
            let rule = format!("a cluster may have at most {most} nodes");
            problems.add("node_count", new.node_count, rule);
        }
        if new.create_timeout.is_some_and(|timeout| timeout.is_zero()) {
            problems.add("create_timeout", 0, "must be above zero");
        }
        let now = self.0.clock.now();
        let cluster = Cluster {
            id: ClusterId::from_uuid(random_uuid(&*self.0.clock)),
            name: new.name.clone(),
            project_id: cx.project_id.clone(),
            user_id: cx.user_id.clone(),
            template_id: template.id,
            labels,
            driver: driver.name().to_owned(),
            kube_version,
            network,
            create_timeout: new.create_timeout.unwrap_or_default(),
            status: Status::CREATE_IN_PROGRESS,
            status_reason: None,
            health: Health::Unknown,
            health_report: None,
            facts: ClusterFacts::default(),
            created_at: now,
            updated_at: now,
            spec,
        };
        let node_groups = self.default_groups(&cluster, new, min.unwrap_or(0), max);
        let view = ClusterView {
            cluster,
            node_groups,
        };
        self.claimed(&*driver, change, false)?;
        problems.absorb_new(driver.validate(&view, change));
        problems.into_result()?;
        Ok(Prepared {
            view,
            driver,
            warnings,
        })
    }

    fn default_groups(
        &self,
        cluster: &Cluster,
        new: &NewCluster,
        min: u32,
        max: Option<u32>,
    ) -> Vec<NodeGroup> {
        let spec = &cluster.spec;
        let master_flavor = spec.master_flavor.as_ref().unwrap_or(&spec.flavor);
        let group = |name: &str, role, node_count, min, max, flavor: &String| NodeGroup {
            id: NodeGroupId::from_uuid(random_uuid(&*self.0.clock)),
            cluster_id: cluster.id,
            name: NodeGroupName::new(name).expect("the names of default groups are valid"),
            role,
            is_default: true,
            node_count,
            min_node_count: min,
            max_node_count: max,
            spec: NodeGroupSpec {
                size: self.size_of(&cluster.project_id, flavor),
                flavor: flavor.clone(),
                image: spec.image.clone(),
                server_type: spec.server_type,
                labels: cluster.labels.effective.clone(),
                node_labels: BTreeMap::new(),
                taints: Vec::new(),
            },
            status: Status::CREATE_IN_PROGRESS,
            status_reason: None,
            members: Vec::new(),
            created_at: cluster.created_at,
            updated_at: cluster.created_at,
        };
        let master = NodeGroupRole::ControlPlane;
        vec![
            group(
                DEFAULT_MASTER,
                master,
                new.master_count,
                1,
                None,
                master_flavor,
            ),
            group(
                DEFAULT_WORKER,
                NodeGroupRole::Worker,
                new.node_count,
                min,
                max,
                &spec.flavor,
            ),
        ]
    }
}

/// What a new cluster adds to its project.
fn demand_of(view: &ClusterView) -> Usage {
    let none = Usage {
        clusters: 1,
        node_groups: view.node_groups.len() as u64,
        ..Usage::default()
    };
    view.node_groups.iter().fold(none, |sum, group| {
        sum.and(Usage::of_nodes(group.node_count.into(), group.spec.size))
    })
}

/// The template's values with the request's own choices.
fn overlay(template: &TemplateSpec, new: &NewCluster) -> TemplateSpec {
    let mut spec = template.clone();
    let choices = [
        (&mut spec.keypair, &new.keypair),
        (&mut spec.master_flavor, &new.master_flavor),
        (&mut spec.fixed_network, &new.fixed_network),
        (&mut spec.fixed_subnet, &new.fixed_subnet),
    ];
    for (value, choice) in choices {
        if choice.is_some() {
            value.clone_from(choice);
        }
    }
    if let Some(flavor) = &new.flavor {
        spec.flavor.clone_from(flavor);
    }
    spec.master_lb.enabled = new.master_lb_enabled.unwrap_or(spec.master_lb.enabled);
    spec.labels = Labels::over(&template.labels, new.labels.as_ref(), new.merge_labels).effective;
    spec
}

/// What the caller gets for an operation of a draft.
pub(super) fn accepted(draft: &Draft, id: crate::id::OperationId) -> Result<Accepted, Error> {
    let operation = draft
        .operation(id)
        .ok_or_else(|| Error::not_found("operation", id.to_string()))?;
    Ok(Accepted {
        cluster: draft.view.cluster.clone(),
        operation: operation.clone(),
    })
}
