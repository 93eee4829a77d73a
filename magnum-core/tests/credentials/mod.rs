//! Credentials of clusters, from acceptance to deletion, on a provider that counts.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use magnum_core::driver::Leftover;
use magnum_core::driver::memory::{MemoryCloud, MemoryDriver};
use magnum_core::store::{MemoryStore, Store};
use magnum_core::{
    Cluster, CredentialError, CredentialProvider, CredentialRef, CredentialRequest, Engine, Error,
    IssuedCredential, Outcome, RequestContext, Resize, Retry, Secret, SimulatedClock, Status,
    WorkCredential,
};

use crate::bench_engine::{Reversing, create, finished};

#[derive(Debug, Default)]
struct Inside {
    /// Those that exist, by name, with their ids.
    alive: BTreeMap<String, String>,
    /// Every name and id that was ever made.
    made: Vec<(String, String)>,
    removals: Vec<String>,
    tokens: Vec<Option<Vec<u8>>>,
    /// How many of the next answers are lost after their work was done.
    lost_answers: u32,
    /// How many of the next removals fail.
    failing_removals: u32,
}

/// An identity service that counts.
#[derive(Debug, Clone, Default)]
struct Identity {
    inside: Arc<Mutex<Inside>>,
    needs_token: bool,
}

impl Identity {
    fn with<T>(&self, look: impl FnOnce(&mut Inside) -> T) -> T {
        look(&mut self.inside.lock().unwrap())
    }

    fn alive(&self) -> Vec<String> {
        self.with(|i| i.alive.keys().cloned().collect())
    }
}

fn away() -> CredentialError {
    CredentialError::Unavailable {
        reason: "no answer".to_owned(),
        retry: Retry::Later,
        source: None,
    }
}

#[async_trait]
impl CredentialProvider for Identity {
    fn name(&self) -> &str {
        "counted credentials"
    }

    fn needs_token(&self) -> bool {
        self.needs_token
    }

    async fn issue(
        &self,
        request: &CredentialRequest<'_>,
    ) -> Result<IssuedCredential, CredentialError> {
        tokio::task::yield_now().await;
        let made = self.with(|i| {
            let id = format!("id-{}", i.made.len());
            i.made.push((request.name.clone(), id.clone()));
            i.alive.insert(request.name.clone(), id.clone());
            let token = request.token.as_ref();
            i.tokens.push(token.map(|token| token.expose().to_vec()));
            let lost = i.lost_answers > 0;
            i.lost_answers = i.lost_answers.saturating_sub(1);
            (!lost).then_some(id)
        });
        tokio::task::yield_now().await;
        let id = made.ok_or_else(away)?;
        let secret = Secret::new(format!("secret of {id}"));
        Ok(IssuedCredential { id, secret })
    }

    async fn remove(&self, _: &Cluster, credential: &CredentialRef) -> Result<(), CredentialError> {
        tokio::task::yield_now().await;
        self.with(|i| {
            if i.failing_removals > 0 {
                i.failing_removals -= 1;
                return Err(away());
            }
            i.alive.remove(&credential.name);
            i.removals.push(credential.name.clone());
            Ok(())
        })
    }

    async fn list(&self, cluster: &Cluster) -> Result<Vec<Leftover>, CredentialError> {
        let own = cluster.id.to_string();
        let all = self.alive().into_iter().filter(|name| name.contains(&own));
        Ok(all
            .map(|name| Leftover {
                kind: "credential".to_owned(),
                id: String::new(),
                name,
            })
            .collect())
    }
}

struct Bench {
    identity: Identity,
    cloud: MemoryCloud,
    store: Arc<dyn Store>,
    cx: RequestContext,
}

impl Bench {
    fn new(needs_token: bool) -> Self {
        Self {
            identity: Identity {
                needs_token,
                ..Identity::default()
            },
            cloud: MemoryCloud::new(),
            store: Arc::new(MemoryStore::new()),
            cx: RequestContext::new("demo", "alice"),
        }
    }

    /// An engine as a new process would have it, not running.
    fn engine(&self, seed: u64) -> Engine {
        let start = chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        Engine::builder()
            .store(Arc::clone(&self.store))
            .sealer(Arc::new(Reversing))
            .driver(Arc::new(MemoryDriver::new(self.cloud.clone())))
            .credentials(Arc::new(self.identity.clone()))
            .clock(Arc::new(SimulatedClock::new(start, seed)))
            .build()
            .unwrap()
    }

    fn running(&self) -> (Engine, tokio::task::JoinHandle<()>) {
        let engine = self.engine(7);
        let runner = engine.clone();
        let task = tokio::spawn(async move { runner.run(std::future::pending()).await });
        (engine, task)
    }
}

#[tokio::test(start_paused = true)]
async fn sm_01_the_credential_goes_once_when_everything_else_is_gone() {
    let bench = Bench::new(false);
    let (engine, _task) = bench.running();
    let created = create(&engine, &bench.cx, "prod", 1, 2).await;
    finished(&engine, &bench.cx, created.operation.id).await;
    let name = format!("magnum-work-{}-1", created.cluster.id);
    assert_eq!(bench.identity.alive(), std::slice::from_ref(&name));
    let stored = WorkCredential::load(&*engine.secret_store(), created.cluster.id).await;
    assert_eq!(stored.unwrap().unwrap().id, "id-0");
    let grown = engine
        .resize(&bench.cx, "prod", Resize::to(3))
        .await
        .unwrap();
    finished(&engine, &bench.cx, grown.operation.id).await;
    bench.identity.with(|i| {
        assert_eq!(i.made.len(), 1, "made once, whatever follows");
        i.failing_removals = 2;
    });
    let deleted = engine.delete_cluster(&bench.cx, "prod").await.unwrap();
    let ended = finished(&engine, &bench.cx, deleted.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded), "P-23: {ended:?}");
    assert!(ended.leftovers.is_empty(), "{ended:?}");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(bench.identity.with(|i| i.removals.clone()), [name]);
    let left = WorkCredential::load(&*engine.secret_store(), created.cluster.id).await;
    assert_eq!(left.unwrap(), None);
    assert!(
        engine
            .leftovers(&bench.cx, created.cluster.id)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_identity_service_leaves_one_credential() {
    let bench = Bench::new(false);
    bench.identity.with(|i| i.lost_answers = 2);
    let (engine, _task) = bench.running();
    let created = create(&engine, &bench.cx, "prod", 1, 1).await;
    let ended = finished(&engine, &bench.cx, created.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
    assert_eq!(bench.identity.alive().len(), 1);
    bench.identity.with(|i| {
        assert!(i.made.iter().all(|(name, _)| *name == i.made[0].0));
    });
}

#[tokio::test(start_paused = true)]
async fn p_25_a_creation_that_is_refused_at_once_leaves_no_credential() {
    let bench = Bench::new(false);
    let (engine, _task) = bench.running();
    bench.cloud.remove_image("ubuntu");
    let created = create(&engine, &bench.cx, "prod", 1, 1).await;
    let ended = finished(&engine, &bench.cx, created.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Failed));
    assert!(bench.identity.alive().is_empty());
    bench.identity.with(|i| assert_eq!(i.made.len(), 1));
}

/// The number of polls after which an engine dies; every await point of a creation and a rotation is one of them.
#[tokio::test(start_paused = true)]
async fn a_credential_survives_the_death_of_its_engine_at_every_await() {
    for polls in 1..80 {
        let bench = Bench::new(false);
        bench.cloud.set_polls_until_ready(0);
        let engine = bench.engine(polls);
        let created = create(&engine, &bench.cx, "prod", 1, 1).await;
        dies_after(polls, engine.run_due()).await;
        ends(&bench, polls, created.operation.id).await;
        let engine = bench.engine(1000 + polls);
        let rotation = engine.rotate_credential(&bench.cx, "prod").await.unwrap();
        dies_after(polls, engine.run_due()).await;
        ends(&bench, polls, rotation.operation.id).await;
        let name = format!("magnum-work-{}-2", created.cluster.id);
        assert_eq!(
            bench.identity.alive(),
            std::slice::from_ref(&name),
            "after {polls} polls"
        );
        let stored = WorkCredential::load(&*engine.secret_store(), created.cluster.id).await;
        let stored = stored.unwrap().unwrap();
        let alive = bench.identity.with(|i| i.alive[&name].clone());
        assert_eq!(
            (stored.name, stored.id),
            (name, alive),
            "after {polls} polls"
        );
    }
}

async fn dies_after<T>(polls: u64, life: impl Future<Output = T>) {
    let mut life = pin!(life);
    let mut left = polls;
    poll_fn(|cx| {
        left -= 1;
        match life.as_mut().poll(cx) {
            Poll::Pending if left > 0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    })
    .await;
}

async fn ends(bench: &Bench, seed: u64, id: magnum_core::OperationId) {
    let engine = bench.engine(5000 + seed);
    let end = async { engine.run(std::future::pending()).await };
    let ended = tokio::select! {
        () = end => unreachable!("it runs on"),
        ended = finished(&engine, &bench.cx, id) => ended,
    };
    assert_eq!(ended.outcome, Some(Outcome::Succeeded), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn the_requesters_token_is_demanded_sealed_used_and_forgotten() {
    let bench = Bench::new(true);
    let (engine, _task) = bench.running();
    crate::bench_engine::template(&engine, &bench.cx).await;
    let name = magnum_core::ClusterName::new("prod").unwrap();
    let new = magnum_core::NewCluster::new(name, "small");
    let refused = engine.create_cluster(&bench.cx, new.clone()).await;
    let Err(Error::Invalid(problems)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(problems.iter().next().unwrap().field, "token");
    let cx = bench.cx.clone().with_token("gAAAA-the-token".to_owned());
    assert!(!format!("{cx:?}").contains("the-token"), "MS-04");
    let created = engine.create_cluster(&cx, new).await.unwrap();
    let (cluster, key) = (
        created.cluster.id,
        format!("token/{}", created.operation.id),
    );
    let kept = bench.store.memo(cluster, &key).await.unwrap().unwrap();
    assert!(!kept.windows(9).any(|part| part == b"the-token"), "sealed");
    finished(&engine, &cx, created.operation.id).await;
    assert_eq!(bench.store.memo(cluster, &key).await.unwrap(), None);
    let tokens = bench.identity.with(|i| i.tokens.clone());
    assert_eq!(tokens, [Some(b"gAAAA-the-token".to_vec())]);
    // Changes that need no new credential need no token.
    let grown = engine
        .resize(&bench.cx, "prod", Resize::to(2))
        .await
        .unwrap();
    finished(&engine, &cx, grown.operation.id).await;
    assert!(engine.rotate_credential(&bench.cx, "prod").await.is_err());
    let other = RequestContext::new("demo", "bob").with_token("gAAAA-of-bob".to_owned());
    let rotated = engine.rotate_credential(&other, "prod").await.unwrap();
    let ended = finished(&engine, &cx, rotated.operation.id).await;
    assert_eq!(ended.outcome, Some(Outcome::Succeeded));
    assert_eq!(
        engine.cluster(&cx, "prod").await.unwrap().status,
        Status::UPDATE_COMPLETE
    );
    let tokens = bench.identity.with(|i| i.tokens.clone());
    assert_eq!(tokens[1].as_deref(), Some(&b"gAAAA-of-bob"[..]));
}
