//! The engine on one SQLite file dies at random moments and is started again on it.
#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    clippy::future_not_send,
    reason = "a test may panic, and runs on one thread"
)]

mod bench_engine;

use std::sync::Arc;
use std::time::Duration;

use bench_engine::{create, engine};
use magnum_core::driver::memory::MemoryCloud;
use magnum_core::store::{SqliteStore, Store};
use magnum_core::{EngineConfig, Outcome, RequestContext, Resize, Status};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_dies_again_and_again_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("magnum.db");
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    let cx = RequestContext::new("demo", "alice");
    let mut asked = None;
    let mut lives = 0;
    loop {
        let store = SqliteStore::open(&path).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let engine = engine(
            Arc::clone(&store),
            cloud.clone(),
            100 + lives,
            EngineConfig::default(),
        );
        let id = match asked {
            Some(id) => id,
            None => create(&engine, &cx, "prod", 3, 5).await.operation.id,
        };
        asked = Some(id);
        // Dropping the future is what a kill does to everything but the file; five more milliseconds of life each time.
        let life = Duration::from_millis(5 * (lives + 1));
        let step = async {
            loop {
                engine.run_due().await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(life, step).await;
        let operation = engine.operation(&cx, id).await.unwrap();
        lives += 1;
        drop(engine);
        drop(store);
        tokio::time::sleep(Duration::from_millis(20)).await;
        if operation.outcome.is_some() || lives > 60 {
            assert_eq!(operation.outcome, Some(Outcome::Succeeded), "{operation:?}");
            break;
        }
    }
    assert!(cloud.made_twice().is_empty());
    assert_eq!(cloud.inventory().len(), 9, "a network and eight nodes");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).await.unwrap());
    let engine = engine(store, cloud.clone(), 1, EngineConfig::default());
    let cluster = engine.cluster(&cx, "prod").await.unwrap();
    assert_eq!(cluster.status, Status::CREATE_COMPLETE);
    assert!(engine.resize(&cx, "prod", Resize::to(6)).await.is_ok());
}

#[tokio::test]
async fn ms_04_nothing_secret_is_in_the_file_or_its_log() {
    use magnum_core::Secret;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("magnum.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).await.unwrap());
    let cloud = MemoryCloud::new();
    cloud.set_polls_until_ready(0);
    let engine = engine(Arc::clone(&store), cloud, 1, EngineConfig::default());
    let cx = RequestContext::new("demo", "alice");
    let created = create(&engine, &cx, "prod", 1, 1).await;
    while engine.run_due().await.unwrap() > 0 {}
    let known = b"a-very-known-private-key";
    let secrets = engine.secret_store();
    let secret = Secret::new(known.to_vec());
    secrets
        .put(created.cluster.id, "pki.ca", secret)
        .await
        .unwrap();
    let read = secrets.get(created.cluster.id, "pki.ca").await.unwrap();
    assert_eq!(read.unwrap().expose(), known);
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let content = std::fs::read(entry.unwrap().path()).unwrap();
        bytes += content.len();
        // The driver's memo is a JSON text with this key in it; sealed, it is not.
        for plain in [&known[..], b"\"leaving\":"] {
            assert!(!content.windows(plain.len()).any(|part| part == plain));
        }
    }
    assert!(bytes > 10_000);
    let moved = store
        .memo(created.cluster.id, "cluster")
        .await
        .unwrap()
        .unwrap();
    assert!(!moved.is_empty());
}
