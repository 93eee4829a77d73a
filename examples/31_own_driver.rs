//! A driver of one's own in one file: "clusters" of sandboxes in a lab. It is proved by the conformance suite, then used.
//!
//! `cargo run -p magnum-examples --example own_driver`

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use magnum_certs::{Envelope, SealingKey};
use magnum_core::conformance::{self, Fault, Rig};
use magnum_core::driver::{
    Advance, Capabilities, Capability, CauseKind, Change, ClusterDriver, ClusterView,
    DriverContext, DriverError, DriverSelector, Failure, Leftover, MemoKey, Plan, PlannedAction,
};
use magnum_core::store::MemoryStore;
use magnum_core::{
    ClusterName, Engine, Health, Member, MemberId, MemberPhase, NewCluster, NewClusterTemplate,
    NodeGroup, NodeGroupId, OperationId, Outcome, Problems, RequestContext, Resize, Retry,
    ServerType, TemplateName, TemplateSpec,
};
use serde::{Deserialize, Serialize};

/// The service on which the driver builds: sandboxes by name, with the mark that says whose they are. Yours is behind a network.
#[derive(Debug, Clone, Default)]
struct Lab(Arc<Mutex<LabState>>);

#[derive(Debug, Default)]
struct LabState {
    sandboxes: BTreeMap<String, String>,
    opened: Vec<String>,
    calls: u64,
    faults: Vec<(u64, Fault)>,
}

impl Lab {
    fn state(&self) -> MutexGuard<'_, LabState> {
        self.0.lock().expect("no holder of this lock panics")
    }

    async fn call<T: Send>(
        &self,
        effect: impl FnOnce(&mut LabState) -> T + Send,
    ) -> Result<T, DriverError> {
        let away = || DriverError::Unavailable {
            service: "lab".to_owned(),
            reason: "it does not answer".to_owned(),
            retry: Retry::Later,
            source: None,
        };
        let mut lab = self.state();
        let number = lab.calls;
        lab.calls += 1;
        let fault = lab.faults.iter().find(|(at, _)| *at == number);
        match fault.map(|(_, fault)| *fault) {
            Some(Fault::Refused) => Err(away()),
            Some(Fault::AnswerLost) => {
                effect(&mut lab);
                Err(away())
            }
            None => Ok(effect(&mut lab)),
        }
    }

    async fn open(&self, name: &str, mark: &str) -> Result<(), DriverError> {
        self.call(|lab| {
            if !lab.sandboxes.contains_key(name) {
                lab.sandboxes.insert(name.to_owned(), mark.to_owned());
                lab.opened.push(name.to_owned());
            }
        })
        .await
    }

    async fn close(&self, name: &str) -> Result<(), DriverError> {
        self.call(|lab| drop(lab.sandboxes.remove(name))).await
    }

    async fn marked(&self, mark: &str) -> Result<Vec<String>, DriverError> {
        self.call(|lab| {
            let all = lab.sandboxes.iter().filter(|(_, own)| *own == mark);
            all.map(|(name, _)| name.clone()).collect()
        })
        .await
    }
}

/// What is remembered of a node group: its sandboxes, by member, and those that are to be closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Memo {
    sandboxes: Vec<(MemberId, String)>,
    closing: Vec<String>,
}

#[derive(Debug, Clone)]
struct LabDriver {
    lab: Lab,
}

impl LabDriver {
    /// Brings a group to its size: decide, checkpoint, act, report.
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

        // Decide. The same again changes nothing.
        let (leaving, mut staying): (Vec<_>, Vec<_>) = memo
            .sandboxes
            .drain(..)
            .partition(|(id, _)| remove.contains(id));
        let surplus = staying.split_off(staying.len().min(count as usize));
        memo.closing
            .extend(leaving.into_iter().chain(surplus).map(|(_, name)| name));
        while staying.len() < count as usize {
            let id = MemberId::random(&mut cx.rng());
            staying.push((id.clone(), format!("{}-{id}", group.name)));
        }
        memo.sandboxes = staying;

        // Checkpoint: names are stored before anything is opened under them. After a crash they are found again.
        if memo != before {
            cx.checkpoint(&key, &memo).await?;
        }

        // Act. Each of these can be repeated.
        for (_, name) in &memo.sandboxes {
            self.lab.open(name, &cx.cluster.to_string()).await?;
        }
        for name in &memo.closing {
            self.lab.close(name).await?;
        }
        if !memo.closing.is_empty() {
            memo.closing.clear();
            cx.checkpoint(&key, &memo).await?;
        }
        cx.report_members(group.id, &members(&memo)).await
    }
}

fn members(memo: &Memo) -> Vec<Member> {
    let sandboxes = memo.sandboxes.iter();
    sandboxes
        .map(|(id, name)| Member {
            id: id.clone(),
            name: name.clone(),
            phase: MemberPhase::Ready,
            server_id: Some(name.clone()),
            addresses: Vec::new(),
            kube_version: None,
            reason: None,
        })
        .collect()
}

#[async_trait]
impl ClusterDriver for LabDriver {
    fn name(&self) -> &str {
        "lab"
    }

    fn selectors(&self) -> Vec<DriverSelector> {
        vec![DriverSelector::kubernetes(ServerType::Vm, "lab")]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Resize])
    }

    fn default_timeout(&self, _: &ClusterView, _: &Change) -> Duration {
        Duration::from_secs(60)
    }

    fn validate(&self, _: &ClusterView, _: &Change) -> Result<(), Problems> {
        Ok(())
    }

    fn plan(&self, view: &ClusterView, change: &Change) -> Plan {
        let groups = view.node_groups.iter();
        let concerned = groups.filter(|group| change.node_group().is_none_or(|id| id == group.id));
        let line = |group: &NodeGroup| {
            format!("node group {}: {} sandboxes", group.name, group.node_count)
        };
        Plan {
            actions: concerned
                .map(|group| PlannedAction::Change(line(group)))
                .collect(),
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
            return Ok(Advance::Failed(Failure::new(
                CauseKind::Cancelled,
                "cancelled by request",
            )));
        }
        match change {
            Change::Create => {
                for group in &view.node_groups {
                    self.converge(cx, group, group.node_count, &[]).await?;
                }
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
            // By mark, not by memo: what was opened and not remembered goes too.
            Change::Delete => {
                for name in self.lab.marked(&cx.cluster.to_string()).await? {
                    self.lab.close(&name).await?;
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
        let marked = self.lab.marked(&view.cluster.id.to_string()).await?;
        let leftover = |name: String| Leftover {
            kind: "sandbox".to_owned(),
            id: name.clone(),
            name,
        };
        Ok(marked.into_iter().map(leftover).collect())
    }
}

/// What the conformance suite is lent: the driver with a fresh lab, a look into it, and a way to let its calls go wrong.
#[derive(Debug, Default)]
struct LabRig {
    lab: Lab,
}

#[async_trait]
impl Rig for LabRig {
    fn driver(&self) -> Arc<dyn ClusterDriver> {
        Arc::new(LabDriver {
            lab: self.lab.clone(),
        })
    }

    fn template(&self) -> TemplateSpec {
        spec()
    }

    async fn inventory(&self) -> Vec<String> {
        let lab = self.lab.state();
        lab.sandboxes
            .keys()
            .map(|name| format!("sandbox {name}"))
            .collect()
    }

    async fn created(&self) -> Vec<String> {
        self.lab.state().opened.clone()
    }

    fn calls(&self) -> u64 {
        self.lab.state().calls
    }

    fn inject(&self, after: u64, fault: Fault) {
        let mut lab = self.lab.state();
        let at = lab.calls + after;
        lab.faults.push((at, fault));
    }
}

fn spec() -> TemplateSpec {
    let mut spec = TemplateSpec::new("image", "flavor");
    spec.distro = "lab".to_owned();
    spec.external_network = Some("none".to_owned());
    spec
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    // The proof: every operation, with every call failing and the engine dying at every write. Its pauses are not waited for.
    let report = conformance::run(|| async { Box::new(LabRig::default()) as Box<dyn Rig> }).await;
    println!("{report}");
    report.assert_claims([Capability::CreateDelete, Capability::Resize]);

    // The use.
    let lab = Lab::default();
    let engine = Engine::builder()
        .store(Arc::new(MemoryStore::new()))
        .sealer(Arc::new(Envelope::new(SealingKey::generate()?)))
        .driver(Arc::new(LabDriver { lab: lab.clone() }))
        .build()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(async { drop(stopped.await) }).await }
    });
    let caller = RequestContext::new("project", "user");
    let template = NewClusterTemplate {
        name: TemplateName::new("lab")?,
        spec: spec(),
        public: false,
        hidden: false,
    };
    engine.create_cluster_template(&caller, template).await?;
    let mut new = NewCluster::new(ClusterName::new("mine")?, "lab");
    new.node_count = 2;
    let created = engine.create_cluster(&caller, new).await?;
    succeed(&engine, &caller, created.operation.id).await?;
    let resized = engine.resize(&caller, "mine", Resize::to(4)).await?;
    succeed(&engine, &caller, resized.operation.id).await?;
    println!("sandboxes: {}", lab.state().sandboxes.len());
    let deleted = engine.delete_cluster(&caller, "mine").await?;
    succeed(&engine, &caller, deleted.operation.id).await?;
    println!("own_driver: {} sandboxes left", lab.state().sandboxes.len());
    drop(stop);
    worker.await?;
    Ok(())
}

async fn succeed(engine: &Engine, caller: &RequestContext, id: OperationId) -> Result<(), Failed> {
    loop {
        let operation = engine.operation(caller, id).await?;
        match operation.outcome {
            Some(Outcome::Succeeded) => return Ok(()),
            Some(_) => return Err(format!("{:?}", operation.causes).into()),
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
