//! Against the embedded cloud, with faults in every call.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use chrono::Utc;
use magnum_certs::{ClusterPki, Inventory, IssuedRecord, KeyAlgorithm, PkiOptions, Profile};
use magnum_core::{
    ClusterId, ManualClock, MemorySecretStore, Secret, SecretStore, SecretStoreError,
};
use magnum_embedded_cloud::{EmbeddedCloud, Options};
use magnum_heat::auth::{Auth, Scope, UserRef};
use magnum_heat::services::keystone;

use magnum_heat::{CloudConfig, RetryPolicy, Session, barbican};
use serde_json::{Value, json};
use uuid::Uuid;

use super::BarbicanSecrets;

fn cluster() -> ClusterId {
    ClusterId::from_uuid(Uuid::from_u128(7))
}

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes())
}

struct World {
    cloud: EmbeddedCloud,
    yaml: String,
    session: Session,
    index: Arc<MemorySecretStore>,
    clock: Arc<ManualClock>,
}

impl World {
    async fn start() -> Self {
        let options = Options {
            simulator: false,
            ..Options::default()
        };
        let cloud = EmbeddedCloud::start(options).await.unwrap();
        let yaml = cloud.clouds_yaml();
        let config = CloudConfig::from_yaml(&yaml, "embedded").unwrap();
        let session = Session::builder(config).retry(RetryPolicy::none());
        Self {
            session: session.build().unwrap(),
            yaml,
            cloud,
            index: Arc::default(),
            clock: Arc::new(ManualClock::new(Utc::now(), 7)),
        }
    }

    fn store(&self) -> BarbicanSecrets {
        self.store_with(Arc::clone(&self.index) as _)
    }

    fn store_with(&self, index: Arc<dyn SecretStore>) -> BarbicanSecrets {
        BarbicanSecrets::new(self.session.clone(), index).with_clock(Arc::clone(&self.clock) as _)
    }

    /// How many secrets and containers Barbican holds.
    fn held(&self) -> (usize, usize) {
        let all = self.cloud.openstack().inventory(None);
        let count = |kind: &str| all["barbican"][kind].as_array().map_or(0, Vec::len);
        (count("secrets"), count("containers"))
    }

    fn fault(&self, fault: Value) {
        let mut fault = fault;
        fault["service"] = json!("barbican");
        let fault = serde_json::from_value(fault).unwrap();
        self.cloud.openstack().faults().add(fault).unwrap();
    }

    fn heal(&self) {
        self.cloud.openstack().faults().clear(None);
    }

    /// Another user of the same project with the role `creator`.
    async fn neighbour(&self) -> (String, Session) {
        let config = CloudConfig::from_yaml(&self.yaml, "embedded-admin").unwrap();
        let admin = Session::connect(config).await.unwrap();
        let project = self.session.project_id().await.unwrap();
        let domain = keystone::find_domain(&admin, "Default").await.unwrap().id;
        let password = secrecy::SecretString::from("neighbour's password");
        let user = keystone::CreateUser {
            name: "neighbour".to_owned(),
            domain,
            password: password.clone(),
            default_project: None,
            description: String::new(),
        };
        let user = admin.send(user).await.unwrap().id;
        let role = keystone::find_role(&admin, "creator").await.unwrap().id;
        let assign = keystone::AssignRole {
            project: project.clone(),
            user: user.clone(),
            role,
        };
        admin.send(assign).await.unwrap();
        let auth = Auth::Password {
            user: UserRef::Id(user.clone()),
            password,
        };
        let config = admin
            .cloud()
            .clone()
            .with_auth(auth, Scope::project(&project));
        (user, Session::connect(config).await.unwrap())
    }
}

#[tokio::test]
async fn p_05_made_rotated_twice_and_deleted_leaves_nothing() {
    let world = World::start().await;
    let (store, now) = (world.store(), Utc::now());
    let options = PkiOptions::default();
    let mut pki = ClusterPki::load_or_create(&store, cluster(), options, now)
        .await
        .unwrap();
    assert_eq!(world.held(), (4, 1));
    for _ in 0..2 {
        for step in [
            |pki: ClusterPki| pki.begin_rotation(PkiOptions::default(), Utc::now()),
            |pki: ClusterPki| Ok(pki.switch_rotation()),
            |pki: ClusterPki| Ok(pki.finish_rotation()),
        ] {
            pki = step(pki).unwrap();
            pki.save(&store, cluster()).await.unwrap();
            assert_eq!(world.held(), (4, 1), "superseded generations are gone");
        }
    }
    let read = ClusterPki::load(&store, cluster()).await.unwrap().unwrap();
    for kind in magnum_certs::AuthorityKind::ALL {
        assert_eq!(read.generations(kind).signing().number, 3);
        let (read, ours) = (read.authority(kind), pki.authority(kind));
        assert_eq!(read.certificate(), ours.certificate());
    }
    let profile = Profile::Admin { user: "a".into() };
    let issued = pki.issue(&profile, KeyAlgorithm::EcdsaP256, None, now);
    let record = IssuedRecord::new(issued.unwrap().certificate(), &profile, "u", now);
    Inventory::new(&store, cluster())
        .record(&record)
        .await
        .unwrap();
    assert_eq!(world.held(), (5, 1));
    assert_eq!(store.leftovers(cluster()).await.unwrap().len(), 6);

    ClusterPki::delete(&store, cluster()).await.unwrap();
    assert_eq!(world.held(), (0, 0));
    assert!(store.leftovers(cluster()).await.unwrap().is_empty());
    assert!(world.index.purposes(cluster()).await.unwrap().is_empty());
    ClusterPki::delete(&store, cluster()).await.unwrap();
}

/// Each of Barbican's calls fails once, before or after its effect: the secret is the old or the new one, the next try succeeds,
/// and nothing stays behind.
#[tokio::test]
async fn p_05_whatever_call_fails_nothing_is_forgotten() {
    let world = World::start().await;
    for drop in ["before", "after"] {
        for skip in 0..12 {
            let store = world.store();
            let fault = json!({"drop": drop, "skip": skip, "count": 1});
            world.fault(fault.clone());
            let kept = store.put_if_absent(cluster(), "x", secret("one")).await;
            world.heal();
            let kept = match kept {
                Ok(kept) => kept,
                Err(error) => {
                    let passing = matches!(error, SecretStoreError::Unavailable { .. });
                    assert!(passing, "{drop} {skip}: {error}");
                    let again = store.put_if_absent(cluster(), "x", secret("again")).await;
                    again.unwrap()
                }
            };
            assert_eq!(store.get(cluster(), "x").await.unwrap(), Some(kept));

            world.fault(fault.clone());
            if store.put(cluster(), "x", secret("two")).await.is_err() {
                world.heal();
                let now = store.get(cluster(), "x").await.unwrap();
                assert!(now.is_some_and(|now| now != secret("two")), "{drop} {skip}");
                store.put(cluster(), "x", secret("two")).await.unwrap();
            }
            world.heal();
            let now = store.get(cluster(), "x").await.unwrap();
            assert_eq!(now, Some(secret("two")), "{drop} {skip}");

            world.fault(fault);
            // As a driver does it: whatever is listed is deleted, again and again until it works.
            let mut tries = 0;
            loop {
                let mut failed = false;
                for purpose in store.purposes(cluster()).await.unwrap() {
                    failed |= store.delete(cluster(), &purpose).await.is_err();
                }
                if !failed {
                    break;
                }
                tries += 1;
                assert!(tries < 3, "{drop} {skip}");
            }
            world.heal();
            assert_eq!(world.held(), (0, 0), "{drop} {skip}");
            assert!(world.index.purposes(cluster()).await.unwrap().is_empty());
        }
    }
}

/// An index that ends its process after a number of calls.
#[derive(Debug)]
struct Dying {
    inner: Arc<MemorySecretStore>,
    calls: AtomicI64,
}

impl Dying {
    fn live(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        if self.calls.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        Err(SecretStoreError::Unavailable {
            cluster,
            purpose: purpose.to_owned(),
            action: "written",
            reason: "dead".to_owned(),
        })
    }
}

#[async_trait]
impl SecretStore for Dying {
    async fn get(&self, id: ClusterId, purpose: &str) -> Result<Option<Secret>, SecretStoreError> {
        self.live(id, purpose)?;
        self.inner.get(id, purpose).await
    }

    async fn put_if_absent(
        &self,
        id: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<Secret, SecretStoreError> {
        self.live(id, purpose)?;
        self.inner.put_if_absent(id, purpose, secret).await
    }

    async fn put(
        &self,
        id: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<(), SecretStoreError> {
        self.live(id, purpose)?;
        self.inner.put(id, purpose, secret).await
    }

    async fn delete(&self, id: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        self.live(id, purpose)?;
        self.inner.delete(id, purpose).await
    }

    async fn purposes(&self, id: ClusterId) -> Result<Vec<String>, SecretStoreError> {
        self.live(id, "*")?;
        self.inner.purposes(id).await
    }
}

#[tokio::test]
async fn a_crash_between_any_two_writes_leaves_only_what_the_next_cleans() {
    let world = World::start().await;
    for calls in 0..10 {
        let dying = || {
            let inner = Arc::clone(&world.index);
            let calls = AtomicI64::new(calls);
            world.store_with(Arc::new(Dying { inner, calls }))
        };
        let store = world.store();
        let _ = dying().put_if_absent(cluster(), "x", secret("one")).await;
        let kept = store.put_if_absent(cluster(), "x", secret("one")).await;
        assert_eq!(kept.unwrap(), secret("one"), "{calls}");
        let _ = dying().put(cluster(), "x", secret("two")).await;
        // What dead writers have left is removed by the next one, once nobody can be waiting for it any more.
        world
            .clock
            .advance(std::time::Duration::from_secs(2 * 3600));
        store.put(cluster(), "x", secret("three")).await.unwrap();
        assert_eq!(world.held(), (1, 1), "{calls}");
        let _ = dying().delete(cluster(), "x").await;
        for purpose in store.purposes(cluster()).await.unwrap() {
            store.delete(cluster(), &purpose).await.unwrap();
        }
        assert_eq!(store.get(cluster(), "x").await.unwrap(), None);
        assert_eq!(world.held(), (0, 0), "{calls}");
    }
}

#[tokio::test]
async fn writers_that_race_agree_on_one_secret() {
    let world = World::start().await;
    let tasks: Vec<_> = (0..6)
        .map(|number| {
            // A store of its own, as in another process.
            let store = world.store();
            tokio::spawn(async move {
                let own = secret(&format!("secret {number}"));
                store.put_if_absent(cluster(), "x", own).await.unwrap()
            })
        })
        .collect();
    let mut kept = Vec::new();
    for task in tasks {
        kept.push(task.await.unwrap());
    }
    assert!(kept.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(world.held().0, 1, "the others have taken theirs back");
    world.store().delete(cluster(), "x").await.unwrap();
    assert_eq!(world.held(), (0, 0));
}

#[tokio::test]
async fn nobody_else_in_the_project_reads_unless_it_is_said() {
    let world = World::start().await;
    let (user, session) = world.neighbour().await;
    let neighbour = BarbicanSecrets::new(session, Arc::clone(&world.index) as _);
    let own = world.store();
    own.put(cluster(), "x", secret("one")).await.unwrap();
    let refused = neighbour.get(cluster(), "x").await.unwrap_err();
    assert!(
        matches!(refused, SecretStoreError::Refused { .. }),
        "{refused}"
    );
    let friendly = world.store().with_readers([user]);
    friendly.put(cluster(), "x", secret("two")).await.unwrap();
    let read = neighbour.get(cluster(), "x").await.unwrap();
    assert_eq!(read, Some(secret("two")));
    let open = world.store().open_to_project();
    open.put(cluster(), "x", secret("three")).await.unwrap();
    let read = neighbour.get(cluster(), "x").await.unwrap();
    assert_eq!(read, Some(secret("three")));
}

#[tokio::test]
async fn what_others_do_to_a_secret_is_a_typed_error() {
    let world = World::start().await;
    let store = world.store();
    for purpose in ["x", "y"] {
        store
            .put(cluster(), purpose, secret(purpose))
            .await
            .unwrap();
    }
    let id_of = async |purpose: &str| {
        let key = format!("barbican/at/{purpose}");
        let row = world.index.get(cluster(), &key).await.unwrap().unwrap();
        let row: Value = serde_json::from_slice(row.expose()).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    // The content of another purpose in its place.
    let (x, y) = (id_of("x").await, id_of("y").await);
    let key = "barbican/at/x";
    let row = world.index.get(cluster(), key).await.unwrap().unwrap();
    let text = std::str::from_utf8(row.expose()).unwrap().replace(&x, &y);
    world
        .index
        .put(cluster(), key, Secret::from(text))
        .await
        .unwrap();
    let error = store.get(cluster(), "x").await.unwrap_err();
    assert!(matches!(error, SecretStoreError::Damaged { .. }), "{error}");
    // Deleted by hand.
    let delete = barbican::DeleteSecret { id: y };
    world.session.send(delete).await.unwrap();
    let error = store.get(cluster(), "y").await.unwrap_err();
    assert!(matches!(error, SecretStoreError::Lost { .. }), "{error}");
    store.put(cluster(), "y", secret("new")).await.unwrap();
    let read = store.get(cluster(), "y").await.unwrap();
    assert_eq!(read, Some(secret("new")));

    let error = store.put(cluster(), "z", secret("")).await.unwrap_err();
    assert!(matches!(error, SecretStoreError::Refused { .. }), "{error}");
    world.fault(json!({"method": "PUT", "status": 413}));
    let error = store
        .put(cluster(), "z", secret("large"))
        .await
        .unwrap_err();
    assert!(matches!(error, SecretStoreError::Refused { .. }), "{error}");
    world.fault(json!({"method": "PUT", "status": 503}));
    let error = store
        .put(cluster(), "z", secret("large"))
        .await
        .unwrap_err();
    let passing = matches!(error, SecretStoreError::Unavailable { .. });
    assert!(passing && !error.to_string().contains("large"), "{error}");
    world.heal();
    assert_eq!(store.purposes(cluster()).await.unwrap(), ["x", "y", "z"]);
    assert_eq!(store.get(cluster(), "z").await.unwrap(), None);
    for purpose in ["x", "y", "z"] {
        store.delete(cluster(), purpose).await.unwrap();
    }
    assert_eq!(world.held(), (0, 0));
}

#[tokio::test]
async fn without_its_index_a_cluster_is_swept_by_its_mark() {
    let world = World::start().await;
    let other = ClusterId::from_uuid(Uuid::from_u128(8));
    for (id, purpose) in [(cluster(), "x"), (cluster(), "y"), (other, "x")] {
        world.store().put(id, purpose, secret("one")).await.unwrap();
    }
    let blind = world.store_with(Arc::new(MemorySecretStore::default()));
    assert_eq!(blind.leftovers(cluster()).await.unwrap().len(), 3);
    assert_eq!(blind.sweep(cluster()).await.unwrap(), 2);
    assert_eq!(world.held(), (1, 1), "the other cluster's stay");
    let read = world.store().get(other, "x").await.unwrap();
    assert_eq!(read, Some(secret("one")));
}

#[tokio::test]
async fn ms_04_debug_and_errors_show_no_content() {
    let world = World::start().await;
    let store = world.store();
    store.put(cluster(), "x", secret("hunter2")).await.unwrap();
    assert!(!format!("{store:?}").contains("hunter2"));
    for purpose in world.index.purposes(cluster()).await.unwrap() {
        let row = world.index.get(cluster(), &purpose).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(row.expose()).into_owned();
        assert!(!text.contains("hunter2"), "the index holds no content");
    }
}
