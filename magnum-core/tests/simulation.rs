//! Random requests, faults of the cloud, crashes at any await and engines that come back from the dead, over fifty clusters, repeatable
//! by their seed. `MAGNUM_SIM_SEED` and `MAGNUM_SIM_STEPS` run another or a longer one.
#![cfg(feature = "conformance")]
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

mod bench_engine;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use bench_engine::{Reversing, template};
use chrono::{DateTime, Utc};
use magnum_core::driver::memory::{CloudFault, MemoryCloud, MemoryDriver};
use magnum_core::state::TRANSITIONS;
use magnum_core::store::{MemoryStore, OperationFilter, Store};
use magnum_core::{
    ChangeRequest, Clock, ClusterName, Engine, EngineConfig, Error, EventKind, MemberRef,
    NewCluster, NewNodeGroup, NodeGroupName, OnBusy, OperationState, RequestContext, Resize,
    Status,
};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

/// Time that only the simulation moves; sleepers never wake, so nothing happens that the seed does not say.
#[derive(Debug)]
struct SimClock(Mutex<(DateTime<Utc>, SmallRng)>);

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> DateTime<Utc> {
        self.0.lock().unwrap().0
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending::<()>().await;
    }

    fn random(&self) -> u64 {
        self.0.lock().unwrap().1.next_u64()
    }
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

struct World {
    store: Arc<dyn Store>,
    cloud: MemoryCloud,
    clock: Arc<SimClock>,
    cx: RequestContext,
    rng: SmallRng,
    engines: Vec<Engine>,
    stalled: Vec<Work>,
    crashes: usize,
    accepted: usize,
}

/// Polls work at most `polls` times; `None` where it is not done then.
fn poll(work: &mut Work, polls: u32) -> Option<()> {
    let mut cx = Context::from_waker(Waker::noop());
    (0..polls).find_map(|_| match work.as_mut().poll(&mut cx) {
        Poll::Ready(()) => Some(()),
        Poll::Pending => None,
    })
}

impl World {
    fn new(seed: u64, store: MemoryStore, cloud: MemoryCloud) -> Self {
        let start = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        let clock = SimClock(Mutex::new((start, SmallRng::seed_from_u64(seed))));
        let mut world = Self {
            store: Arc::new(store),
            cloud,
            clock: Arc::new(clock),
            cx: RequestContext::new("demo", "alice"),
            rng: SmallRng::seed_from_u64(seed ^ 1),
            engines: Vec::new(),
            stalled: Vec::new(),
            crashes: 0,
            accepted: 0,
        };
        world.engines = vec![world.engine(), world.engine()];
        world
    }

    fn engine(&self) -> Engine {
        let mut config = EngineConfig::default();
        config.max_clusters_per_project = 1000;
        config.workers = 4;
        Engine::builder()
            .store(Arc::clone(&self.store))
            .sealer(Arc::new(Reversing))
            .driver(Arc::new(MemoryDriver::new(self.cloud.clone())))
            .clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
            .config(config)
            .build()
            .unwrap()
    }

    fn pass(&self, seconds: i64) {
        self.clock.0.lock().unwrap().0 += chrono::Duration::seconds(seconds);
    }

    /// Lets one engine work for a while; it may then be done, die, or freeze.
    fn slice(&mut self) {
        let index = self.rng.random_range(0..self.engines.len());
        let engine = self.engines[index].clone();
        let mut work: Work = Box::pin(tokio::task::unconstrained(async move {
            engine.run_due().await.unwrap();
        }));
        let polls = if self.rng.random_bool(0.3) {
            5000
        } else {
            self.rng.random_range(1..60)
        };
        if poll(&mut work, polls).is_some() {
            return;
        }
        if self.rng.random_bool(0.5) && self.stalled.len() < 24 {
            self.stalled.push(work);
        } else {
            self.crashes += 1;
            drop(work);
            self.engines[index] = self.engine();
        }
    }

    /// Lets a frozen engine go on as if nothing had been.
    fn thaw(&mut self) {
        if self.stalled.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.stalled.len());
        let mut work = self.stalled.swap_remove(index);
        let polls = self.rng.random_range(1..5000);
        let _ = poll(&mut work, polls);
    }

    fn fault(&mut self) {
        let fault = match self.rng.random_range(0..4) {
            0 => CloudFault::Refuse,
            1 => CloudFault::LoseAnswer,
            2 => CloudFault::Panic,
            _ => CloudFault::Break,
        };
        self.cloud.inject(self.rng.random_range(0..20), fault);
    }

    async fn request(&mut self) -> Result<(), String> {
        let engine = self.engines[0].clone();
        let cx = self.cx.clone();
        let name = format!("c{}", self.rng.random_range(0..50));
        let Ok(groups) = engine.node_groups(&cx, &name).await else {
            let mut new = NewCluster::new(ClusterName::new(&name).unwrap(), "small");
            new.master_count = if self.rng.random_bool(0.3) { 3 } else { 1 };
            new.node_count = self.rng.random_range(0..4);
            engine
                .create_cluster(&cx, new)
                .await
                .map_err(|e| e.to_string())?;
            self.accepted += 1;
            return Ok(());
        };
        let group = groups[self.rng.random_range(0..groups.len())].clone();
        let request = match self.rng.random_range(0..100) {
            0..35 => {
                let mut resize =
                    Resize::to(self.rng.random_range(0..6)).of_group(group.name.as_str());
                if let Some(first) = group.members.first()
                    && self.rng.random_bool(0.3)
                {
                    resize = resize.removing([first.name.as_str()]);
                }
                ChangeRequest::Resize(resize)
            }
            35..50 => match group.members.last() {
                Some(member) => ChangeRequest::ReplaceNode(MemberRef::new(member.name.as_str())),
                None => return Ok(()),
            },
            50..65 => {
                let name = format!("g{}", self.rng.random_range(0..3));
                ChangeRequest::CreateNodeGroup(NewNodeGroup::new(NodeGroupName::new(name).unwrap()))
            }
            65..75 => ChangeRequest::DeleteNodeGroup(group.name.to_string()),
            75..80 => ChangeRequest::RotateCa,
            80..85 => ChangeRequest::RetryCreate,
            85..92 => {
                let running = OperationFilter {
                    running: true,
                    ..OperationFilter::default()
                };
                let all = engine.operations(&cx, &running).await.unwrap();
                if let Some(one) = all.first() {
                    let _ = engine.cancel(&cx, one.id).await;
                }
                return Ok(());
            }
            _ => ChangeRequest::Delete,
        };
        let on_busy = if self.rng.random_bool(0.5) {
            OnBusy::Queue
        } else {
            OnBusy::Refuse
        };
        match engine.change(&cx, &name, request, on_busy).await {
            Ok(_) => self.accepted += 1,
            Err(Error::Store(error)) => return Err(error.to_string()),
            Err(_) => {}
        }
        Ok(())
    }

    /// One operation per lock scope.
    async fn check_scopes(&self) -> Result<(), String> {
        let running = OperationFilter {
            running: true,
            ..OperationFilter::default()
        };
        let all = self.engines[0]
            .operations(&self.cx, &running)
            .await
            .unwrap();
        let mut held: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for operation in all.iter().filter(|o| o.state == OperationState::Running) {
            let scopes = held.entry(operation.cluster).or_default();
            if scopes
                .iter()
                .any(|other| operation.scope.conflicts_with(*other))
            {
                return Err(format!(
                    "two operations hold one scope of {}",
                    operation.cluster
                ));
            }
            scopes.push(operation.scope);
        }
        Ok(())
    }

    /// Lets everything come to its end, without faults.
    async fn quiesce(&mut self) -> Result<(), String> {
        self.cloud.clear_faults();
        self.stalled.clear();
        for _ in 0..20_000 {
            let engine = self.engines[0].clone();
            let mut work: Work = Box::pin(tokio::task::unconstrained(async move {
                engine.run_due().await.unwrap();
            }));
            poll(&mut work, 1_000_000).ok_or("a step without faults does not end")?;
            match self.store.next_due().await.unwrap() {
                None => return Ok(()),
                Some(due) => {
                    let wait = (due - self.clock.now()).num_seconds().max(0) + 1;
                    self.pass(wait);
                }
            }
        }
        Err("operations do not end".to_owned())
    }

    /// What was begun is brought to its end by asking for what is wanted once more; then cloud and records must agree, node by node.
    async fn check_nodes(&mut self) -> Result<(), String> {
        let engine = self.engines[0].clone();
        let cx = self.cx.clone();
        for cluster in engine.clusters(&cx).await.unwrap() {
            if cluster.status == Status::DELETE_FAILED {
                continue;
            }
            if cluster.status == Status::CREATE_FAILED {
                engine
                    .retry_create(&cx, &cluster)
                    .await
                    .map_err(|e| e.to_string())?;
                self.quiesce().await?;
            }
            for group in engine.node_groups(&cx, &cluster).await.unwrap() {
                let resize = Resize::to(group.node_count).of_group(group.name.as_str());
                engine
                    .resize(&cx, &cluster, resize)
                    .await
                    .map_err(|e| e.to_string())?;
                self.quiesce().await?;
            }
            for group in engine.node_groups(&cx, &cluster).await.unwrap() {
                let known: BTreeSet<_> = group.members.iter().map(|m| m.name.clone()).collect();
                let things = self.cloud.inventory();
                let own = things.iter().filter(|(_, t)| t.group == Some(group.id));
                let there: BTreeSet<_> = own.map(|(name, _)| name.clone()).collect();
                if known != there || known.len() != group.node_count as usize {
                    let wanted = group.node_count;
                    return Err(format!("wanted {wanted}, known {known:?}, there {there:?}"));
                }
            }
        }
        Ok(())
    }

    /// Everything that was told makes one story.
    async fn check_events(&self) -> Result<(), String> {
        let events = self.engines[0].events(&self.cx, 0, u32::MAX).await.unwrap();
        let mut status = BTreeMap::new();
        let mut told: BTreeMap<_, (u32, u32, u32)> = BTreeMap::new();
        for (index, event) in events.iter().enumerate() {
            if event.seq != index as u64 + 1 {
                return Err(format!("event {} at place {index}", event.seq));
            }
            match &event.kind {
                EventKind::ClusterStatus { from, to, .. } => {
                    let before = status.insert(event.cluster, *to);
                    let legal = from.is_none_or(|from| {
                        TRANSITIONS.iter().any(|(f, _, t)| *f == from && t == to)
                    });
                    if before != *from || !legal {
                        return Err(format!("{before:?}: {from:?} to {to} is not in the table"));
                    }
                }
                EventKind::OperationAccepted { .. } => {
                    told.entry(event.operation).or_default().0 += 1;
                }
                EventKind::OperationStarted { .. } => {
                    let entry = told.entry(event.operation).or_default();
                    entry.1 += 1;
                    if entry.0 != 1 || entry.2 != 0 {
                        return Err("an operation started out of order".to_owned());
                    }
                }
                EventKind::OperationEnded { .. } => told.entry(event.operation).or_default().2 += 1,
                _ => {}
            }
        }
        match told.values().find(|(a, s, e)| *a != 1 || *s > 1 || *e != 1) {
            Some(odd) => Err(format!(
                "an operation was accepted, started, ended {odd:?} times"
            )),
            None => Ok(()),
        }
    }
}

async fn simulate(
    seed: u64,
    steps: u32,
    store: MemoryStore,
    cloud: MemoryCloud,
) -> Result<String, String> {
    let mut world = World::new(seed, store, cloud);
    template(&world.engines[0], &world.cx).await;
    for step in 0..steps {
        match world.rng.random_range(0..100) {
            0..40 => world.slice(),
            40..50 => world.thaw(),
            50..70 => {
                let far = world.rng.random_bool(0.03);
                let seconds = world.rng.random_range(1..20) * if far { 100 } else { 1 };
                world.pass(seconds);
            }
            70..95 => world.request().await?,
            _ => world.fault(),
        }
        if step % 20 == 0 {
            world.check_scopes().await?;
        }
    }
    world.quiesce().await?;
    world.check_nodes().await?;
    let engine = world.engines[0].clone();
    for cluster in engine.clusters(&world.cx).await.unwrap() {
        engine
            .delete_cluster(&world.cx, &cluster)
            .await
            .map_err(|e| e.to_string())?;
    }
    world.quiesce().await?;
    world.check_events().await?;
    let left = world.cloud.inventory();
    if !left.is_empty() {
        return Err(format!("left over: {:?}", left.keys()));
    }
    let twice = world.cloud.made_twice();
    if !twice.is_empty() {
        return Err(format!("made twice: {twice:?}"));
    }
    let (accepted, crashes) = (world.accepted, world.crashes);
    Ok(format!(
        "seed {seed}: {steps} steps, {accepted} accepted, {crashes} crashes"
    ))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[tokio::test]
async fn ten_thousand_steps_lose_and_double_nothing() {
    let seed = number("MAGNUM_SIM_SEED", 20_261_201);
    let steps = u32::try_from(number("MAGNUM_SIM_STEPS", 10_000)).unwrap();
    println!("seed {seed}");
    let done = simulate(seed, steps, MemoryStore::new(), MemoryCloud::new()).await;
    println!("{}", done.unwrap());
}

#[tokio::test]
async fn a_planted_unpersisted_name_is_noticed() {
    let mut noticed = false;
    for seed in 0..8 {
        let cloud = MemoryCloud::new();
        cloud.set_forgetful();
        let done = simulate(seed, 2000, MemoryStore::new(), cloud).await;
        println!("{done:?}");
        noticed |= done.is_err();
    }
    assert!(noticed);
}

#[tokio::test]
async fn a_planted_lease_without_fence_is_noticed() {
    let mut noticed = false;
    for seed in 0..60 {
        let store = MemoryStore::without_fences();
        let done = simulate(seed, 6000, store, MemoryCloud::new()).await;
        println!("{done:?}");
        noticed = done.is_err();
        if noticed {
            break;
        }
    }
    assert!(noticed);
}
