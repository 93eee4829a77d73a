//! The contract, kept by the reference driver.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::cloud::{MemoryCloud, Thing};
use super::memo::{ClusterMemo, GroupMemo};
use super::nodes::{self, PAUSE, converge, ensure, remove};
use super::rotation::{self, NodeKeys, NumberedKeys};
use crate::driver::{
    Advance, Capabilities, Capability, CauseKind, Change, ClusterDriver, ClusterView,
    DriverContext, DriverError, DriverSelector, Failure, Leftover, MemoKey, Plan, PlannedAction,
    QuotaNeed,
};
use crate::id::{MemberId, NodeGroupId};
use crate::model::{ClusterFacts, Member, MemberPhase, NodeGroup, Problems, ServerType};
use crate::secret::Secret;
use crate::state::Health;

/// The reference driver.
#[derive(Debug, Clone, Default)]
pub struct MemoryDriver {
    cloud: MemoryCloud,
    keys: Option<Arc<dyn NodeKeys>>,
}

impl MemoryDriver {
    /// A driver of this cloud.
    #[must_use]
    pub const fn new(cloud: MemoryCloud) -> Self {
        Self { cloud, keys: None }
    }

    /// Puts these keys and certificates on the nodes from their creation on, instead of mere numbers at a rotation.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<dyn NodeKeys>) -> Self {
        self.keys = Some(keys);
        self
    }

    fn thing(&self, kind: &'static str, cx: &DriverContext) -> Thing {
        Thing {
            kind,
            cluster: cx.cluster,
            group: None,
            version: String::new(),
            broken: None,
            waits: 0,
            keys: None,
        }
    }

    async fn network(&self, cx: &DriverContext, view: &ClusterView) -> Result<(), DriverError> {
        let mut memo: ClusterMemo = cx.load(&MemoKey::Cluster).await?.unwrap_or_default();
        let name = match memo.network.clone() {
            Some(name) => name,
            None => {
                let id = MemberId::random(&mut cx.rng());
                let name = format!("{}-network-{id}", view.cluster.name.to_dns_label(20));
                memo.network = Some(name.clone());
                cx.checkpoint(&MemoKey::Cluster, &memo).await?;
                name
            }
        };
        ensure(&self.cloud, &name, self.thing("network", cx)).await
    }

    async fn create(&self, cx: &DriverContext, view: &ClusterView) -> Result<Advance, DriverError> {
        self.network(cx, view).await?;
        for group in &view.node_groups {
            let step = converge(&self.cloud, cx, view, group, group.node_count, &[]).await?;
            if step != Advance::Done {
                return Ok(step);
            }
            cx.report_facts(&ClusterFacts {
                api_address: Some(format!("https://{}.example:6443", view.cluster.id)),
                internal_api_address: None,
                coe_version: Some(view.cluster.kube_version.to_string()),
                stack_id: None,
            })
            .await?;
        }
        Ok(Advance::Done)
    }

    async fn upgrade(
        &self,
        cx: &DriverContext,
        groups: impl Iterator<Item = &NodeGroup> + Send,
        to: &str,
        batch: u32,
    ) -> Result<Advance, DriverError> {
        for group in groups {
            let key = MemoKey::NodeGroup(group.id);
            let memo: GroupMemo = cx.load(&key).await?.unwrap_or_default();
            let names: Vec<_> = memo.nodes.iter().map(|node| node.name.clone()).collect();
            let left = self
                .cloud
                .call(|things, _, _| {
                    let old = |name: &&String| things.get(*name).is_some_and(|t| t.version != to);
                    let old: Vec<_> = names.iter().filter(old).cloned().collect();
                    for name in old.iter().take(batch as usize) {
                        if let Some(thing) = things.get_mut(name) {
                            to.clone_into(&mut thing.version);
                        }
                    }
                    old.len()
                })
                .await?;
            let members = nodes::members(&self.cloud, &memo).await?;
            cx.report_members(group.id, &members).await?;
            if left > 0 {
                let (left, total) = (u32::try_from(left), u32::try_from(names.len()));
                let (left, total) = (left.unwrap_or(u32::MAX), total.unwrap_or(u32::MAX));
                let step = format!("upgrading {}", group.name);
                return Ok(Advance::again(PAUSE, step, total - left, total));
            }
        }
        Ok(Advance::Done)
    }

    /// Puts a fresh credential in place, once per operation.
    async fn renew_credential(&self, cx: &DriverContext) -> Result<Advance, DriverError> {
        let mut memo: ClusterMemo = cx.load(&MemoKey::Cluster).await?.unwrap_or_default();
        if memo.credential_replaced_by != Some(cx.operation) {
            let secret = Secret::new(format!("credential of {}", cx.operation));
            cx.secrets()
                .put(cx.cluster, "cloud.credential", secret)
                .await?;
            memo.credential_replaced_by = Some(cx.operation);
            cx.checkpoint(&MemoKey::Cluster, &memo).await?;
        }
        Ok(Advance::Done)
    }

    /// Removes everything that carries the mark, of one group or of all.
    async fn sweep(
        &self,
        cx: &DriverContext,
        group: Option<NodeGroupId>,
    ) -> Result<Advance, DriverError> {
        let cluster = cx.cluster;
        if let Some(group) = group {
            // Written down first, so that nobody makes these nodes again under their names where the removal ends early.
            let key = MemoKey::NodeGroup(group);
            let mut memo: GroupMemo = cx.load(&key).await?.unwrap_or_default();
            if memo.nodes.iter().any(|node| !node.leaving) {
                memo.nodes.iter_mut().for_each(|node| node.leaving = true);
                cx.checkpoint(&key, &memo).await?;
            }
        }
        let marked: Vec<String> = self
            .cloud
            .call(|things, _, _| {
                let own = things.iter().filter(|(_, t)| t.cluster == cluster);
                let own = own.filter(|(_, t)| group.is_none() || t.group == group);
                own.map(|(name, _)| name.clone()).collect()
            })
            .await?;
        for name in &marked {
            remove(&self.cloud, name).await?;
        }
        Ok(Advance::Done)
    }
}

fn group(view: &ClusterView, id: NodeGroupId) -> Result<&NodeGroup, DriverError> {
    let missing = || DriverError::internal(format!("node group {id} is not in the view"));
    view.node_group(id).ok_or_else(missing)
}

#[async_trait]
impl ClusterDriver for MemoryDriver {
    fn name(&self) -> &str {
        "memory"
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        vec![DriverSelector::kubernetes(ServerType::Vm, "ubuntu")]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([
            Capability::Resize,
            Capability::ResizeControlPlane,
            Capability::NodeGroups,
            Capability::ReplaceNode,
            Capability::ReplaceControlPlaneNode,
            Capability::Upgrade,
            Capability::UpdateSettings,
            Capability::RotateCa,
            Capability::RotateCredential,
            Capability::BackUpEtcd,
            Capability::RestoreEtcd,
            Capability::ProbeHealth,
        ])
    }

    fn default_timeout(&self, _: &ClusterView, _: &Change) -> Duration {
        Duration::from_secs(3600)
    }

    fn validate(&self, _: &ClusterView, _: &Change) -> Result<(), Problems> {
        Ok(())
    }

    fn plan(&self, view: &ClusterView, change: &Change) -> Plan {
        let groups = view.node_groups.iter();
        let line = |g: &NodeGroup| format!("node group {}: {} nodes", g.name, g.node_count);
        let concerned = groups.filter(|g| change.node_group().is_none_or(|id| id == g.id));
        let actions = concerned.clone().map(|g| match change {
            Change::Delete | Change::DeleteNodeGroup { .. } => PlannedAction::Delete(line(g)),
            Change::Create | Change::CreateNodeGroup { .. } => PlannedAction::Create(line(g)),
            _ => PlannedAction::Change(line(g)),
        });
        let have = |g: &NodeGroup| u64::from(g.node_count).saturating_sub(g.members.len() as u64);
        Plan {
            actions: actions.collect(),
            quota: vec![QuotaNeed {
                service: "compute".to_owned(),
                resource: "instances".to_owned(),
                amount: concerned.map(have).sum(),
            }],
        }
    }

    async fn preflight(&self, view: &ClusterView, _: &Change) -> Result<(), DriverError> {
        let mut problems = Problems::new();
        for group in &view.node_groups {
            if self.cloud.is_image_missing(&group.spec.image) {
                problems.add("image", &group.spec.image, "there is no such image");
            }
        }
        Ok(problems.into_result()?)
    }

    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        if cx.cancelled && *change != Change::Delete {
            return Ok(Advance::Failed(Failure::new(
                CauseKind::Cancelled,
                "cancelled by request",
            )));
        }
        let done = self.bring_about(cx, view, change).await?;
        let equips = !matches!(
            change,
            Change::RotateCa { .. } | Change::Delete | Change::DeleteNodeGroup { .. }
        );
        match &self.keys {
            Some(keys) if done == Advance::Done && equips => {
                rotation::equip(&self.cloud, &**keys, cx, view).await
            }
            _ => Ok(done),
        }
    }

    async fn members(
        &self,
        cx: &DriverContext,
        _: &ClusterView,
        node_group: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        let key = MemoKey::NodeGroup(node_group);
        let memo: GroupMemo = cx.load(&key).await?.unwrap_or_default();
        nodes::members(&self.cloud, &memo).await
    }

    async fn probe_health(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        for group in &view.node_groups {
            for member in self.members(cx, view, group.id).await? {
                if member.phase != MemberPhase::Ready {
                    let reason = format!("{} is {}", member.name, member.phase.as_str());
                    return Ok((Health::Unhealthy, Some(reason)));
                }
            }
        }
        Ok((Health::Healthy, None))
    }

    async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        Ok(self.cloud.leftovers(view.cluster.id))
    }
}

impl MemoryDriver {
    async fn bring_about(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        let cloud = &self.cloud;
        match change {
            Change::Create => self.create(cx, view).await,
            Change::Resize {
                node_group,
                node_count,
                remove,
            } => {
                converge(
                    cloud,
                    cx,
                    view,
                    group(view, *node_group)?,
                    *node_count,
                    remove,
                )
                .await
            }
            Change::ReplaceNode { node_group, member } => {
                let group = group(view, *node_group)?;
                let without = std::slice::from_ref(member);
                converge(cloud, cx, view, group, group.node_count, without).await
            }
            Change::CreateNodeGroup { node_group } => {
                let group = group(view, *node_group)?;
                converge(cloud, cx, view, group, group.node_count, &[]).await
            }
            Change::DeleteNodeGroup { node_group } => self.sweep(cx, Some(*node_group)).await,
            Change::Delete => self.sweep(cx, None).await,
            Change::UpdateSettings { .. } => Ok(Advance::Done),
            Change::Upgrade {
                to,
                node_group,
                max_batch_size,
                ..
            } => {
                let groups = view.node_groups.iter();
                let concerned = groups.filter(|g| node_group.is_none_or(|id| id == g.id));
                self.upgrade(cx, concerned, &to.to_string(), *max_batch_size)
                    .await
            }
            Change::RotateCa { phase } => {
                let keys = self.keys.as_deref().unwrap_or(&NumberedKeys);
                rotation::rotate(cloud, keys, cx, view, *phase).await
            }
            Change::RotateCredential => self.renew_credential(cx).await,
            Change::BackUpEtcd { name } => {
                let name = format!("{}-{name}", cx.cluster);
                ensure(cloud, &name, self.thing("backup", cx)).await?;
                Ok(Advance::Done)
            }
            Change::RestoreEtcd { name } => {
                let full = format!("{}-{name}", cx.cluster);
                let there = cloud
                    .call(|things, _, _| things.contains_key(&full))
                    .await?;
                let sentence = format!("there is no backup named {name}");
                Ok(if there {
                    Advance::Done
                } else {
                    Advance::Failed(Failure::new(CauseKind::InvalidInput, sentence))
                })
            }
            other => Err(DriverError::Unsupported {
                driver: self.name().to_owned(),
                what: other.kind().to_string(),
            }),
        }
    }
}
