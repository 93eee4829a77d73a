//! A store in memory: for tests, and for embedders that need nothing durable.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    ClaimRequest, ClusterRecord, Commit, Committed, Guard, OperationFilter, Page, Quota, Store,
    StoreError, Usage, Visibility, Write,
};
use crate::driver::ClusterView;
use crate::event::Event;
use crate::id::{ClusterId, ClusterTemplateId, NodeGroupId, OperationId, ProjectId};
use crate::model::{Cluster, ClusterTemplate, NodeGroup, NodeGroupRole};
use crate::operation::{Lease, Operation};
use crate::state::Status;

#[derive(Debug)]
struct ClusterRow {
    cluster: Cluster,
    revision: u64,
    deleted: bool,
    next_look: DateTime<Utc>,
}

#[derive(Debug, Default)]
struct Rows {
    clusters: BTreeMap<ClusterId, ClusterRow>,
    groups: BTreeMap<NodeGroupId, NodeGroup>,
    operations: BTreeMap<OperationId, Operation>,
    templates: BTreeMap<ClusterTemplateId, ClusterTemplate>,
    events: VecDeque<Event>,
    last_event: u64,
    memos: HashMap<(ClusterId, String), Vec<u8>>,
    secrets: BTreeMap<(ClusterId, String), Vec<u8>>,
    keys: HashMap<(ProjectId, String), ClusterId>,
    quotas: HashMap<ProjectId, Quota>,
}

/// A store in memory. Clone the `Arc` around it to share it between engines.
#[derive(Debug)]
pub struct MemoryStore {
    fenced: bool,
    rows: Mutex<Rows>,
    changed: watch::Sender<u64>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fenced: true,
            rows: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// A store that lets anybody write who ever had a lease: a planted fault, by which simulations prove that they would notice.
    #[cfg(feature = "conformance")]
    #[doc(hidden)]
    #[must_use]
    pub fn without_fences() -> Self {
        Self {
            fenced: false,
            ..Self::new()
        }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("no holder of this lock panics")
    }
}

impl Rows {
    fn living<'a>(&'a self, visible: &'a Visibility) -> impl Iterator<Item = &'a Cluster> {
        self.clusters
            .values()
            .filter(|row| !row.deleted && visible.shows(&row.cluster.project_id))
            .map(|row| &row.cluster)
    }

    fn usage(&self, project: &ProjectId) -> Usage {
        let visible = Visibility::Project(project.clone());
        let living: Vec<_> = self.living(&visible).map(|cluster| cluster.id).collect();
        let groups = self.groups.values();
        let groups = groups.filter(|group| living.contains(&group.cluster_id));
        let none = Usage {
            clusters: living.len() as u64,
            ..Usage::default()
        };
        groups.fold(none, |sum, group| {
            let nodes = Usage::of_nodes(group.node_count.into(), group.spec.size);
            sum.and(nodes).and(Usage {
                node_groups: 1,
                ..Usage::default()
            })
        })
    }

    fn check(&self, guard: &Guard) -> Result<(), StoreError> {
        match guard {
            Guard::Revision { cluster, revision } => match self.clusters.get(cluster) {
                Some(row) if row.revision == *revision => Ok(()),
                _ => Err(StoreError::Stale { cluster: *cluster }),
            },
            Guard::Fence { operation, fence } => match self.operations.get(operation) {
                Some(row) if row.fence == *fence => Ok(()),
                _ => Err(StoreError::LeaseLost {
                    operation: *operation,
                }),
            },
            Guard::NameFree { project, name } => {
                let visible = Visibility::Project(project.clone());
                let taken = self.living(&visible).any(|c| c.name.as_str() == name);
                if taken {
                    return Err(StoreError::NameTaken { name: name.clone() });
                }
                Ok(())
            }
            Guard::WithinQuota {
                project,
                more,
                quota,
            } => self.usage(project).with(more, quota),
            Guard::TemplateRevision { template, revision } => match self.templates.get(template) {
                Some(row) if row.revision == *revision => Ok(()),
                _ => Err(StoreError::TemplateStale {
                    template: *template,
                }),
            },
            Guard::KeyUnused { project, key } => {
                match self.keys.get(&(project.clone(), key.clone())) {
                    Some(cluster) => Err(StoreError::KeyUsed { cluster: *cluster }),
                    None => Ok(()),
                }
            }
            Guard::TemplateUnused(template) => {
                let users = self.living(&Visibility::Everything);
                let clusters = users.filter(|c| c.template_id == *template).count() as u64;
                if clusters > 0 {
                    return Err(StoreError::TemplateInUse { clusters });
                }
                Ok(())
            }
        }
    }

    fn write(&mut self, write: Write) {
        match write {
            Write::Cluster(cluster) => {
                let row = self.clusters.entry(cluster.id).or_insert(ClusterRow {
                    cluster: (*cluster).clone(),
                    revision: 0,
                    deleted: false,
                    next_look: cluster.created_at,
                });
                row.deleted = cluster.status == Status::DELETE_COMPLETE;
                row.cluster = *cluster;
            }
            Write::NodeGroup(group) => drop(self.groups.insert(group.id, *group)),
            Write::RemoveNodeGroup(id) => drop(self.groups.remove(&id)),
            Write::Operation(mut operation) => {
                let old = self.operations.get(&operation.id);
                operation.lease = old.and_then(|old| old.lease);
                operation.fence = old.map_or(0, |old| old.fence);
                self.operations.insert(operation.id, *operation);
            }
            Write::Release(id) => {
                if let Some(operation) = self.operations.get_mut(&id) {
                    operation.lease = None;
                    operation.fence += 1;
                }
            }
            Write::Memo {
                cluster,
                key,
                sealed,
            } => drop(self.memos.insert((cluster, key), sealed)),
            Write::RemoveMemo { cluster, key } => drop(self.memos.remove(&(cluster, key))),
            Write::Purge(cluster) => {
                self.memos.retain(|(owner, _), _| *owner != cluster);
                self.secrets.retain(|(owner, _), _| *owner != cluster);
            }
            Write::Template(template) => drop(self.templates.insert(template.id, *template)),
            Write::RemoveTemplate(id) => drop(self.templates.remove(&id)),
            Write::Key {
                project,
                key,
                cluster,
            } => drop(self.keys.insert((project, key), cluster)),
            Write::Quota { project, quota } => match quota {
                Some(quota) => drop(self.quotas.insert(project, quota)),
                None => drop(self.quotas.remove(&project)),
            },
        }
    }
}

fn paged<T: Clone>(items: impl Iterator<Item = T>, page: &Page, id: impl Fn(&T) -> Uuid) -> Vec<T> {
    items
        .filter(|item| page.after.is_none_or(|after| id(item) > after))
        .take(page.limit as usize)
        .collect()
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let mut rows = self.rows();
        for guard in &commit.guards {
            if self.fenced || !matches!(guard, Guard::Fence { .. }) {
                rows.check(guard)?;
            }
        }
        for guard in &commit.guards {
            if let Guard::Revision { cluster, .. } = guard
                && let Some(row) = rows.clusters.get_mut(cluster)
            {
                row.revision += 1;
            }
            if let Guard::TemplateRevision { template, .. } = guard
                && let Some(row) = rows.templates.get_mut(template)
            {
                row.revision += 1;
            }
        }
        for write in commit.writes {
            rows.write(write);
        }
        let mut last_event = 0;
        for event in commit.events {
            rows.last_event += 1;
            last_event = rows.last_event;
            rows.events.push_back(Event {
                seq: last_event,
                at: event.at,
                project_id: event.project_id,
                cluster: event.cluster,
                operation: event.operation,
                kind: event.kind,
            });
        }
        drop(rows);
        self.changed.send_modify(|count| *count += 1);
        Ok(Committed { last_event })
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Operation>, StoreError> {
        let mut rows = self.rows();
        let mut due: Vec<_> = rows
            .operations
            .values()
            .filter(|operation| !operation.is_leased(request.now))
            .filter_map(|operation| Some((operation.next_due?, operation.id)))
            .filter(|(next_due, _)| *next_due <= request.now)
            .collect();
        due.sort_unstable();
        due.truncate(request.limit as usize);
        let mut claimed = Vec::with_capacity(due.len());
        for (_, id) in due {
            if let Some(operation) = rows.operations.get_mut(&id) {
                operation.fence += 1;
                operation.lease = Some(Lease {
                    operation: id,
                    owner: request.engine,
                    fence: operation.fence,
                    until: request.until,
                });
                claimed.push(operation.clone());
            }
        }
        Ok(claimed)
    }

    async fn renew(&self, lease: &Lease, until: DateTime<Utc>) -> Result<(), StoreError> {
        let mut rows = self.rows();
        match rows.operations.get_mut(&lease.operation) {
            Some(operation)
                if !self.fenced
                    || (operation.fence == lease.fence && operation.lease.is_some()) =>
            {
                operation.lease = Some(Lease { until, ..*lease });
                Ok(())
            }
            _ => Err(StoreError::LeaseLost {
                operation: lease.operation,
            }),
        }
    }

    async fn next_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let rows = self.rows();
        let due = rows.operations.values().filter_map(|operation| {
            let due = operation.next_due?;
            Some(operation.lease.map_or(due, |lease| lease.until.max(due)))
        });
        Ok(due.min())
    }

    async fn claim_looks(
        &self,
        now: DateTime<Utc>,
        again: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<ClusterId>, StoreError> {
        let mut rows = self.rows();
        let mut looks = Vec::new();
        for row in rows.clusters.values_mut() {
            if looks.len() == limit as usize {
                break;
            }
            if !row.deleted && !row.cluster.status.in_progress() && row.next_look <= now {
                row.next_look = again;
                looks.push(row.cluster.id);
            }
        }
        Ok(looks)
    }

    async fn load(&self, id: ClusterId) -> Result<Option<ClusterRecord>, StoreError> {
        let rows = self.rows();
        let Some(row) = rows.clusters.get(&id) else {
            return Ok(None);
        };
        let groups = rows.groups.values().filter(|group| group.cluster_id == id);
        let mut node_groups: Vec<_> = groups.cloned().collect();
        sort_groups(&mut node_groups);
        let operations = rows.operations.values();
        Ok(Some(ClusterRecord {
            view: ClusterView {
                cluster: row.cluster.clone(),
                node_groups,
            },
            operations: operations
                .filter(|operation| operation.cluster == id && !operation.is_ended())
                .cloned()
                .collect(),
            revision: row.revision,
            deleted: row.deleted,
        }))
    }

    async fn find_clusters(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<Cluster>, StoreError> {
        let rows = self.rows();
        if let Ok(id) = key.parse::<ClusterId>()
            && let Some(found) = rows.living(visible).find(|cluster| cluster.id == id)
        {
            return Ok(vec![found.clone()]);
        }
        let named = rows
            .living(visible)
            .filter(|cluster| cluster.name.as_str() == key);
        Ok(named.cloned().collect())
    }

    async fn clusters(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<Cluster>, StoreError> {
        Ok(paged(self.rows().living(visible).cloned(), page, |c| {
            c.id.as_uuid()
        }))
    }

    async fn find_templates(
        &self,
        visible: &Visibility,
        key: &str,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        let rows = self.rows();
        let mut all = rows
            .templates
            .values()
            .filter(|t| t.public || visible.shows(&t.project_id));
        if let Ok(id) = key.parse::<ClusterTemplateId>()
            && let Some(found) = rows.templates.get(&id)
            && all.clone().any(|template| template.id == id)
        {
            return Ok(vec![found.clone()]);
        }
        Ok(all
            .by_ref()
            .filter(|template| template.name.as_str() == key)
            .cloned()
            .collect())
    }

    async fn templates(
        &self,
        visible: &Visibility,
        page: &Page,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        let rows = self.rows();
        let all = rows
            .templates
            .values()
            .filter(|t| t.public || visible.shows(&t.project_id));
        Ok(paged(all.cloned(), page, |t| t.id.as_uuid()))
    }

    async fn template_versions(
        &self,
        visible: &Visibility,
        lineage: ClusterTemplateId,
    ) -> Result<Vec<ClusterTemplate>, StoreError> {
        let rows = self.rows();
        let own = rows.templates.values().filter(|t| t.lineage() == lineage);
        let seen = own.filter(|t| t.public || visible.shows(&t.project_id));
        let mut versions: Vec<_> = seen.cloned().collect();
        versions.sort_by_key(|template| template.version);
        Ok(versions)
    }

    async fn operation(
        &self,
        visible: &Visibility,
        id: OperationId,
    ) -> Result<Option<Operation>, StoreError> {
        let rows = self.rows();
        let found = rows.operations.get(&id);
        Ok(found
            .filter(|operation| visible.shows(&operation.project_id))
            .cloned())
    }

    async fn operations(
        &self,
        visible: &Visibility,
        filter: &OperationFilter,
    ) -> Result<Vec<Operation>, StoreError> {
        let rows = self.rows();
        Ok(rows
            .operations
            .values()
            .rev()
            .filter(|o| visible.shows(&o.project_id))
            .filter(|o| filter.cluster.is_none_or(|cluster| o.cluster == cluster))
            .filter(|o| !(filter.running && o.is_ended()))
            .take(filter.limit.unwrap_or(u32::MAX) as usize)
            .cloned()
            .collect())
    }

    async fn events(
        &self,
        visible: &Visibility,
        since: u64,
        limit: u32,
    ) -> Result<Vec<Event>, StoreError> {
        let rows = self.rows();
        let start = rows.events.partition_point(|event| event.seq <= since);
        Ok(rows
            .events
            .range(start..)
            .filter(|event| visible.shows(&event.project_id))
            .take(limit as usize)
            .cloned()
            .collect())
    }

    async fn prune_events(
        &self,
        before: DateTime<Utc>,
        up_to: u64,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let mut seen = 0;
        let had = rows.events.len();
        rows.events.retain(|event| {
            seen += 1;
            seen > limit || !(event.at < before || event.seq <= up_to)
        });
        Ok((had - rows.events.len()) as u64)
    }

    async fn last_event(&self) -> Result<u64, StoreError> {
        Ok(self.rows().last_event)
    }

    async fn memo(&self, cluster: ClusterId, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.rows().memos.get(&(cluster, key.to_owned())).cloned())
    }

    async fn secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.rows();
        Ok(rows.secrets.get(&(cluster, purpose.to_owned())).cloned())
    }

    async fn put_secret(
        &self,
        cluster: ClusterId,
        purpose: &str,
        sealed: Vec<u8>,
        replace: bool,
    ) -> Result<Vec<u8>, StoreError> {
        let mut rows = self.rows();
        let key = (cluster, purpose.to_owned());
        if replace {
            rows.secrets.insert(key, sealed.clone());
            return Ok(sealed);
        }
        Ok(rows.secrets.entry(key).or_insert(sealed).clone())
    }

    async fn delete_secret(&self, cluster: ClusterId, purpose: &str) -> Result<(), StoreError> {
        self.rows().secrets.remove(&(cluster, purpose.to_owned()));
        Ok(())
    }

    async fn secret_purposes(&self, cluster: ClusterId) -> Result<Vec<String>, StoreError> {
        let rows = self.rows();
        let own = rows.secrets.keys().filter(|(owner, _)| *owner == cluster);
        Ok(own.map(|(_, purpose)| purpose.clone()).collect())
    }

    async fn idempotent(
        &self,
        project: &ProjectId,
        key: &str,
    ) -> Result<Option<ClusterId>, StoreError> {
        let rows = self.rows();
        Ok(rows.keys.get(&(project.clone(), key.to_owned())).copied())
    }

    async fn quota(&self, project: &ProjectId) -> Result<Option<Quota>, StoreError> {
        Ok(self.rows().quotas.get(project).copied())
    }

    async fn usage(&self, project: &ProjectId) -> Result<Usage, StoreError> {
        Ok(self.rows().usage(project))
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

/// The control plane first, then by creation.
pub(super) fn sort_groups(groups: &mut [NodeGroup]) {
    groups.sort_by_key(|group| {
        (
            group.role != NodeGroupRole::ControlPlane,
            group.created_at,
            group.id,
        )
    });
}
