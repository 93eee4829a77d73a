//! The contract, kept.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use magnum_core::driver::{
    Advance, Capabilities, Capability, CauseKind, Change, ClusterDriver, ClusterView,
    DriverContext, DriverError, DriverSelector, Failure, Leftover, MemoKey, Plan, PlannedAction,
};
use magnum_core::{
    ClusterFacts, Health, Member, MemberId, MemberPhase, NodeGroup, NodeGroupId, Problems, Retry,
    ServerType,
};

use crate::machines::{Machine, MachineError, MachineService};
use crate::memo::{Memo, Planned};

/// The driver.
#[derive(Debug, Clone)]
pub struct TemplateDriver {
    machines: Arc<dyn MachineService>,
}

impl TemplateDriver {
    /// A driver on a service.
    #[must_use]
    pub fn new(machines: impl MachineService) -> Self {
        Self {
            machines: Arc::new(machines),
        }
    }

    /// One group to its size: decide, checkpoint, act, report.
    async fn converge(
        &self,
        cx: &DriverContext,
        group: &NodeGroup,
        count: u32,
        remove: &[MemberId],
    ) -> Result<(), DriverError> {
        let key = MemoKey::NodeGroup(group.id);
        let before: Memo = cx.load(&key).await?.unwrap_or_default();
        let mut memo = before.clone();
        let mut rng = cx.rng();
        memo.aim(count, remove, || {
            let id = MemberId::random(&mut rng);
            let name = format!("{}-{id}", group.name);
            Planned {
                id,
                name,
                leaving: false,
            }
        });
        if memo != before {
            // Names are stored before anything is made under them: after a crash they are found again.
            cx.checkpoint(&key, &memo).await?;
        }
        for planned in &memo.machines {
            if planned.leaving {
                self.machines.remove(&planned.name).await.map_err(away)?;
            } else {
                let machine = Machine {
                    name: planned.name.clone(),
                    mark: cx.cluster.to_string(),
                };
                self.machines.make(machine).await.map_err(away)?;
            }
        }
        if memo.machines.iter().any(|planned| planned.leaving) {
            memo.machines.retain(|planned| !planned.leaving);
            cx.checkpoint(&key, &memo).await?;
        }
        cx.report_members(group.id, &members(&memo)).await
    }
}

#[async_trait]
impl ClusterDriver for TemplateDriver {
    fn name(&self) -> &str {
        "template"
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        vec![DriverSelector::kubernetes(ServerType::Vm, "template")]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Resize])
    }

    fn default_timeout(&self, _: &ClusterView, _: &Change) -> Duration {
        Duration::from_secs(600)
    }

    fn validate(&self, _: &ClusterView, _: &Change) -> Result<(), Problems> {
        Ok(())
    }

    fn plan(&self, view: &ClusterView, change: &Change) -> Plan {
        let line = |g: &NodeGroup| format!("node group {}: {} machines", g.name, g.node_count);
        let groups = view.node_groups.iter();
        let concerned = groups.filter(|g| change.node_group().is_none_or(|id| id == g.id));
        Plan {
            actions: concerned.map(|g| PlannedAction::Change(line(g))).collect(),
            quota: Vec::new(),
        }
    }

    async fn preflight(&self, _: &ClusterView, _: &Change) -> Result<(), DriverError> {
        Ok(())
    }

    async fn advance(
        &self,
        cx: &DriverContext,
        view: &ClusterView,
        change: &Change,
    ) -> Result<Advance, DriverError> {
        if cx.cancelled && *change != Change::Delete {
            let failure = Failure::new(CauseKind::Cancelled, "cancelled by request");
            return Ok(Advance::Failed(failure));
        }
        match change {
            Change::Create => {
                for group in &view.node_groups {
                    self.converge(cx, group, group.node_count, &[]).await?;
                }
                cx.report_facts(&ClusterFacts {
                    api_address: Some(format!("https://{}.example:6443", cx.cluster)),
                    ..ClusterFacts::default()
                })
                .await?;
            }
            Change::Resize {
                node_group,
                node_count,
                remove,
            } => {
                let missing = || DriverError::internal("the group is not in the view");
                let group = view.node_group(*node_group).ok_or_else(missing)?;
                self.converge(cx, group, *node_count, remove).await?;
            }
            Change::Delete => {
                // By mark, not by memo: what was made and not remembered goes too.
                let mark = cx.cluster.to_string();
                for machine in self.machines.marked(&mark).await.map_err(away)? {
                    self.machines.remove(&machine.name).await.map_err(away)?;
                }
            }
            other => {
                return Err(DriverError::Unsupported {
                    driver: self.name().to_owned(),
                    what: other.kind().to_string(),
                });
            }
        }
        Ok(Advance::Done)
    }

    async fn members(
        &self,
        cx: &DriverContext,
        _: &ClusterView,
        node_group: NodeGroupId,
    ) -> Result<Vec<Member>, DriverError> {
        let memo = cx.load(&MemoKey::NodeGroup(node_group)).await?;
        Ok(members(&memo.unwrap_or_default()))
    }

    async fn probe_health(
        &self,
        _: &DriverContext,
        _: &ClusterView,
    ) -> Result<(Health, Option<String>), DriverError> {
        Ok((Health::Unknown, None))
    }

    async fn leftovers(&self, view: &ClusterView) -> Result<Vec<Leftover>, DriverError> {
        let mark = view.cluster.id.to_string();
        let marked = self.machines.marked(&mark).await.map_err(away)?;
        let left = marked.into_iter().map(|machine| Leftover {
            kind: "machine".to_owned(),
            id: machine.name.clone(),
            name: machine.name,
        });
        Ok(left.collect())
    }
}

fn members(memo: &Memo) -> Vec<Member> {
    let planned = memo.machines.iter();
    planned
        .map(|machine| Member {
            id: machine.id.clone(),
            name: machine.name.clone(),
            phase: MemberPhase::Ready,
            server_id: Some(machine.name.clone()),
            addresses: Vec::new(),
            kube_version: None,
            reason: None,
        })
        .collect()
}

fn away(error: MachineError) -> DriverError {
    DriverError::Unavailable {
        service: "machines".to_owned(),
        reason: error.to_string(),
        retry: Retry::Later,
        source: Some(Box::new(error)),
    }
}
