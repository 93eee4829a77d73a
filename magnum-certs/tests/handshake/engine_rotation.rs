//! A rotation that the engine leads the reference driver through, with what is really on the nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{TimeDelta, Utc};
use magnum_certs::{
    AuthorityKind, Certificates, ClusterPki, Credential, Envelope, NodeIdentity, Profile,
    ReferenceKeys, RotationPhase, SealingKey,
};
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver, NodeKeys};
use magnum_core::driver::{DriverContext, DriverError};
use magnum_core::store::{MemoryStore, Store};
use magnum_core::{
    ClusterName, Engine, EngineConfig, NewCluster, NewClusterTemplate, NewNodeGroup, NodeGroupName,
    OperationId, Outcome, RequestContext, Secret, SimulatedClock, TemplateName, TemplateSpec,
};

use super::tls::{client, server, shake};

const CLUSTER: &str = "c1";
/// How long an engine that died keeps its operation.
const LEASE: Duration = Duration::from_secs(5);

/// Reference keys that are proven by a handshake of the node with itself; some nodes can be made deaf.
#[derive(Debug, Default)]
struct Shaking {
    keys: ReferenceKeys,
    deaf: Mutex<Option<String>>,
}

#[async_trait]
impl NodeKeys for Shaking {
    async fn plan(&self, cx: &DriverContext) -> Result<String, DriverError> {
        self.keys.plan(cx).await
    }

    async fn enter(
        &self,
        cx: &DriverContext,
        plan: &str,
        phase: RotationPhase,
    ) -> Result<(), DriverError> {
        self.keys.enter(cx, plan, phase).await
    }

    async fn of_node(
        &self,
        cx: &DriverContext,
        node: &str,
        held: Option<&Secret>,
    ) -> Result<Secret, DriverError> {
        self.keys.of_node(cx, node, held).await
    }

    async fn is_proven(
        &self,
        _: &DriverContext,
        node: &str,
        held: &Secret,
    ) -> Result<bool, DriverError> {
        let deaf = self.deaf.lock().unwrap().clone();
        let identity = ReferenceKeys::read(held)?;
        let works = accepts(node, &identity, &identity.client, &identity.trust);
        Ok(works && deaf.is_none_or(|deaf| !node.contains(&deaf)))
    }
}

/// Whether a node and a client take each other.
fn accepts(node: &str, as_server: &NodeIdentity, certificate: &Credential, trust: &str) -> bool {
    let server = server(&as_server.serving, &as_server.trust);
    shake(&server, &client(certificate, trust), node).is_ok()
}

struct World {
    store: Arc<dyn Store>,
    key: SealingKey,
    cloud: MemoryCloud,
    keys: Arc<Shaking>,
    clock: Arc<SimulatedClock>,
    cx: RequestContext,
}

impl World {
    /// A cluster of one control-plane node, two workers and two further groups.
    async fn created() -> Self {
        // The handshakes go by the real time, and this clock is put forward by hours.
        let start = Utc::now() - TimeDelta::hours(8);
        let world = Self {
            store: Arc::new(MemoryStore::new()),
            key: SealingKey::generate().unwrap(),
            cloud: MemoryCloud::new(),
            keys: Arc::default(),
            clock: Arc::new(SimulatedClock::new(start, 7)),
            cx: RequestContext::new("p", "alice"),
        };
        let engine = world.engine();
        let mut spec = TemplateSpec::new("ubuntu", "m1.small");
        spec.external_network = Some("public".into());
        let template = NewClusterTemplate {
            name: TemplateName::new("t").unwrap(),
            spec,
            public: false,
            hidden: false,
        };
        engine
            .create_cluster_template(&world.cx, template)
            .await
            .unwrap();
        let mut new = NewCluster::new(ClusterName::new(CLUSTER).unwrap(), "t");
        new.node_count = 2;
        let created = engine.create_cluster(&world.cx, new).await.unwrap();
        world.finish(&engine, created.operation.id).await;
        for name in ["gpu", "big"] {
            let group = NewNodeGroup::new(NodeGroupName::new(name).unwrap());
            let made = engine.create_node_group(&world.cx, CLUSTER, group).await;
            world.finish(&engine, made.unwrap().operation.id).await;
        }
        assert_eq!(world.nodes().len(), 5);
        world
    }

    /// An engine as a new process would have it.
    fn engine(&self) -> Engine {
        let mut config = EngineConfig::default();
        config.lease = LEASE;
        Engine::builder()
            .store(Arc::clone(&self.store))
            .sealer(Arc::new(Envelope::new(self.key.clone())))
            .driver(Arc::new(
                MemoryDriver::new(self.cloud.clone()).with_keys(Arc::clone(&self.keys) as _),
            ))
            .clock(Arc::clone(&self.clock) as _)
            .config(config)
            .build()
            .unwrap()
    }

    fn door(&self, engine: &Engine) -> Certificates {
        Certificates::new(engine).with_clock(Arc::clone(&self.clock) as _)
    }

    async fn outcome(&self, engine: &Engine, id: OperationId) -> Option<Outcome> {
        engine.operation(&self.cx, id).await.unwrap().outcome
    }

    async fn finish(&self, engine: &Engine, id: OperationId) {
        for _ in 0..500 {
            if let Some(outcome) = self.outcome(engine, id).await {
                assert_eq!(outcome, Outcome::Succeeded);
                return;
            }
            engine.run_due().await.unwrap();
            tokio::time::advance(Duration::from_secs(5)).await;
        }
        panic!("it does not end");
    }

    async fn pki(&self, engine: &Engine) -> ClusterPki {
        let id = engine.cluster(&self.cx, CLUSTER).await.unwrap().id;
        let pki = ClusterPki::load(&*engine.secret_store(), id).await;
        pki.unwrap().unwrap()
    }

    /// What is on the nodes, by their names.
    fn nodes(&self) -> BTreeMap<String, NodeIdentity> {
        let things = self.cloud.inventory().into_iter();
        let nodes = things.filter(|(_, thing)| thing.kind == "node");
        nodes
            .map(|(name, thing)| (name, ReferenceKeys::read(&thing.keys.unwrap()).unwrap()))
            .collect()
    }
}

/// Every node as a client of every node.
fn all_nodes_take_each_other(nodes: &BTreeMap<String, NodeIdentity>) {
    for (name, node) in nodes {
        for (other, peer) in nodes {
            let taken = accepts(name, node, &peer.client, &peer.trust);
            assert!(taken, "{name} and {other}");
        }
    }
}

/// A kubeconfig as it was fetched.
struct Fetched {
    during: Option<RotationPhase>,
    trust: String,
    credential: Credential,
}

async fn fetch(world: &World, engine: &Engine, during: Option<RotationPhase>) -> Fetched {
    let profile = Profile::Admin {
        user: "alice".into(),
    };
    let config = world
        .door(engine)
        .kubeconfig(&world.cx, CLUSTER, &profile, None)
        .await
        .unwrap();
    let (cluster, user) = config.current().unwrap();
    Fetched {
        during,
        trust: cluster
            .trust()
            .unwrap()
            .unwrap_or_default()
            .iter()
            .map(|authority| authority.to_pem())
            .collect(),
        credential: user.credential().unwrap().unwrap(),
    }
}

/// While the engine goes through the phases, one node at a time: every node takes every other, the old certificate is taken until
/// the last phase, a kubeconfig works throughout the phase in which it was fetched and the next, and each service-account key is known
/// to all nodes before it signs and until the last phase.
#[tokio::test(start_paused = true)]
async fn ck_09_p_01_p_03_nobody_is_locked_out_at_any_step() {
    let world = World::created().await;
    let engine = world.engine();
    let before = world.pki(&engine).await;
    let old = fetch(&world, &engine, None).await;
    let old_key = before
        .service_account()
        .signing()
        .value
        .public_key()
        .to_pem();
    all_nodes_take_each_other(&world.nodes());

    let door = world.door(&engine);
    let rotation = door.rotate(&world.cx, CLUSTER).await.unwrap().operation.id;
    let mut seen = Vec::new();
    let mut fetched: Vec<Fetched> = Vec::new();
    let mut ledger = None;
    while world.outcome(&engine, rotation).await.is_none() {
        engine.run_due().await.unwrap();
        tokio::time::advance(Duration::from_secs(5)).await;
        let pki = world.pki(&engine).await;
        let phase = door.rotation(&world.cx, CLUSTER).await.unwrap();
        let things = world.cloud.inventory();
        if ledger.as_ref() == Some(&things) {
            continue;
        }
        ledger = Some(things);
        if seen.last() != Some(&phase) {
            seen.push(phase);
        }
        let nodes = world.nodes();
        all_nodes_take_each_other(&nodes);
        fetched.push(fetch(&world, &engine, phase).await);
        let signing = pki.service_account().signing().value.public_key().to_pem();
        for (name, node) in &nodes {
            assert!(node.service_account_keys.contains(&signing), "{name}");
            if phase.is_some() {
                let trust = pki.trust_bundle(AuthorityKind::Kubernetes);
                assert!(
                    accepts(name, node, &old.credential, &trust),
                    "{phase:?} {name}"
                );
                assert!(node.service_account_keys.contains(&old_key), "{name}");
            }
            for config in fetched.iter().filter(|c| c.during == phase) {
                let works = accepts(name, node, &config.credential, &config.trust);
                assert!(works, "{phase:?} {name}");
            }
            let reissued = |c: &&Fetched| c.during == Some(RotationPhase::Reissue);
            for config in fetched.iter().filter(reissued) {
                assert!(accepts(name, node, &config.credential, &config.trust));
            }
        }
    }
    let outcome = world.outcome(&engine, rotation).await;
    assert_eq!(outcome, Some(Outcome::Succeeded));
    let phases = [RotationPhase::TrustBoth, RotationPhase::Reissue];
    assert_eq!(seen, [Some(phases[0]), Some(phases[1]), None]);

    let after = world.pki(&engine).await;
    for kind in AuthorityKind::ALL {
        assert_eq!(after.generations(kind).signing().number, 2);
    }
    let trust = after.trust_bundle(AuthorityKind::Kubernetes);
    for (name, node) in &world.nodes() {
        assert_eq!(node.trust, trust);
        assert!(!accepts(name, node, &old.credential, &trust), "{name}");
        assert!(!node.service_account_keys.contains(&old_key), "{name}");
    }
    // What the engine said of it, in its own words.
    let events = engine.events(&world.cx, 0, 10_000).await.unwrap();
    for phase in RotationPhase::ALL {
        let told = events
            .iter()
            .any(|event| format!("{:?}", event.kind).contains(phase.task()));
        assert!(told, "{phase:?}");
    }
}

/// One node of an extra group does not come along: the rotation does not end, the old authority stays trusted everywhere, and the next
/// rotation goes on where this one stopped.
#[tokio::test(start_paused = true)]
async fn p_01_p_03_one_deaf_node_stops_the_rotation_and_nothing_breaks() {
    for phase in [RotationPhase::TrustBoth, RotationPhase::Reissue] {
        let world = World::created().await;
        let engine = world.engine();
        let old = fetch(&world, &engine, None).await;
        let door = world.door(&engine);
        if phase == RotationPhase::TrustBoth {
            *world.keys.deaf.lock().unwrap() = Some("gpu".to_owned());
        }
        let rotation = door.rotate(&world.cx, CLUSTER).await.unwrap().operation;
        while world.outcome(&engine, rotation.id).await.is_none() {
            engine.run_due().await.unwrap();
            let now = door.rotation(&world.cx, CLUSTER).await.unwrap();
            if now == Some(phase) {
                *world.keys.deaf.lock().unwrap() = Some("gpu".to_owned());
            }
            tokio::time::advance(Duration::from_secs(30)).await;
        }
        let outcome = world.outcome(&engine, rotation.id).await;
        assert_eq!(outcome, Some(Outcome::TimedOut), "{phase:?}");
        let cluster = engine.cluster(&world.cx, CLUSTER).await.unwrap();
        assert_eq!(cluster.status.to_string(), "UPDATE_FAILED");
        let now = door.rotation(&world.cx, CLUSTER).await.unwrap();
        assert_eq!(now, Some(phase));
        let trust = door
            .ca(&world.cx, CLUSTER, AuthorityKind::Kubernetes)
            .await
            .unwrap();
        let nodes = world.nodes();
        all_nodes_take_each_other(&nodes);
        for (name, node) in &nodes {
            assert!(accepts(name, node, &old.credential, &trust), "{name}");
        }
        *world.keys.deaf.lock().unwrap() = None;
        let again = door.rotate(&world.cx, CLUSTER).await.unwrap().operation.id;
        world.finish(&engine, again).await;
        let after = world.pki(&engine).await;
        let number = after.generations(AuthorityKind::Etcd).signing().number;
        assert_eq!((number, after.phase()), (2, None), "gone on with");
        all_nodes_take_each_other(&world.nodes());
    }
}

/// The engine dies in every step of the rotation at every await, one after the other, and another goes on: at no time are two nodes at
/// odds, and the keys are rotated once.
#[tokio::test(start_paused = true)]
async fn ck_09_an_engine_that_dies_at_every_await_locks_nobody_out() {
    let world = World::created().await;
    let asking = world.engine();
    let rotation = world.door(&asking).rotate(&world.cx, CLUSTER).await;
    let rotation = rotation.unwrap().operation.id;
    let (mut deaths, mut lives) = (0, 0);
    let mut seen = None;
    while world.outcome(&asking, rotation).await.is_none() {
        lives += 1;
        let engine = world.engine();
        let mut step = Box::pin(engine.run_due());
        let mut left = lives;
        let ended = std::future::poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(false);
            }
            left -= 1;
            cx.waker().wake_by_ref();
            step.as_mut().poll(cx).map(|_| true)
        })
        .await;
        drop(step);
        if ended {
            lives = 0;
        } else {
            deaths += 1;
        }
        let things = world.cloud.inventory();
        if seen.as_ref() != Some(&things) {
            all_nodes_take_each_other(&world.nodes());
            seen = Some(things);
        }
        tokio::time::advance(LEASE + Duration::from_secs(1)).await;
    }
    let outcome = world.outcome(&asking, rotation).await;
    assert_eq!(outcome, Some(Outcome::Succeeded));
    let after = world.pki(&asking).await;
    for kind in AuthorityKind::ALL {
        assert_eq!(after.generations(kind).signing().number, 2);
    }
    assert_eq!(after.phase(), None);
    assert!(deaths > 25, "only {deaths} deaths");
}
