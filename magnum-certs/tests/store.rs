//! A cluster's keys in a secret store: made once whatever happens between two writes.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, TimeZone, Utc};
use magnum_certs::{
    AuthorityKind, ClusterPki, Envelope, Error, KeyAlgorithm, PKI_PURPOSE_PREFIX, PkiOptions,
    RotationPhase, SealingKey,
};
use magnum_core::{
    ClusterId, MemorySecretStore, Retry, SealContext, Sealer as _, Secret, SecretStore,
    SecretStoreError,
};
use secrecy::ExposeSecret as _;
use uuid::Uuid;

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 12, 1, 5, 0, 0).unwrap()
}

fn cluster(number: u128) -> ClusterId {
    ClusterId::from_uuid(Uuid::from_u128(number))
}

/// Everything that tells two sets of keys apart.
fn print(pki: &ClusterPki) -> Vec<String> {
    let files = pki.control_plane_files().unwrap();
    files
        .iter()
        .map(|file| file.content.expose_secret().to_owned())
        .collect()
}

/// A store that answers a number of calls and then fails, before or after the write took effect.
#[derive(Debug)]
struct Flaky<'a> {
    inner: &'a MemorySecretStore,
    calls: AtomicI64,
    lose_the_answer: bool,
}

impl Flaky<'_> {
    fn refuse(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        if self.calls.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        let (purpose, reason) = (purpose.to_owned(), "crashed".to_owned());
        Err(SecretStoreError::Unavailable {
            cluster,
            purpose,
            action: "written",
            reason,
        })
    }
}

#[async_trait]
impl SecretStore for Flaky<'_> {
    async fn get(
        &self,
        cluster: ClusterId,
        purpose: &str,
    ) -> Result<Option<Secret>, SecretStoreError> {
        self.refuse(cluster, purpose)?;
        self.inner.get(cluster, purpose).await
    }

    async fn put_if_absent(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<Secret, SecretStoreError> {
        if self.lose_the_answer {
            let stored = self.inner.put_if_absent(cluster, purpose, secret).await?;
            return self.refuse(cluster, purpose).map(|()| stored);
        }
        self.refuse(cluster, purpose)?;
        self.inner.put_if_absent(cluster, purpose, secret).await
    }

    async fn put(
        &self,
        cluster: ClusterId,
        purpose: &str,
        secret: Secret,
    ) -> Result<(), SecretStoreError> {
        if self.lose_the_answer {
            self.inner.put(cluster, purpose, secret).await?;
            return self.refuse(cluster, purpose);
        }
        self.refuse(cluster, purpose)?;
        self.inner.put(cluster, purpose, secret).await
    }

    async fn delete(&self, cluster: ClusterId, purpose: &str) -> Result<(), SecretStoreError> {
        self.refuse(cluster, purpose)?;
        self.inner.delete(cluster, purpose).await
    }

    async fn purposes(&self, cluster: ClusterId) -> Result<Vec<String>, SecretStoreError> {
        self.inner.purposes(cluster).await
    }
}

#[tokio::test]
async fn keys_are_made_once_and_found_again() {
    let store = MemorySecretStore::default();
    assert!(
        ClusterPki::load(&store, cluster(1))
            .await
            .unwrap()
            .is_none()
    );
    let made = ClusterPki::load_or_create(&store, cluster(1), PkiOptions::default(), now())
        .await
        .unwrap();
    let options = PkiOptions {
        algorithm: KeyAlgorithm::EcdsaP384,
        ..PkiOptions::default()
    };
    let again = ClusterPki::load_or_create(&store, cluster(1), options, now())
        .await
        .unwrap();
    let loaded = ClusterPki::load(&store, cluster(1)).await.unwrap().unwrap();
    assert_eq!(print(&made), print(&again));
    assert_eq!(print(&made), print(&loaded));
    let other = ClusterPki::load_or_create(&store, cluster(2), PkiOptions::default(), now())
        .await
        .unwrap();
    assert_ne!(print(&made), print(&other));
}

#[tokio::test]
async fn slow_keys_are_made_off_the_async_threads_and_found_again() {
    let store = MemorySecretStore::default();
    let options = PkiOptions {
        algorithm: KeyAlgorithm::Rsa2048,
        ..PkiOptions::default()
    };
    let made = ClusterPki::load_or_create(&store, cluster(1), options, now())
        .await
        .unwrap();
    let loaded = ClusterPki::load(&store, cluster(1)).await.unwrap().unwrap();
    assert_eq!(print(&made), print(&loaded));
}

#[tokio::test]
async fn a_crash_between_any_two_calls_is_harmless() {
    for lose_the_answer in [false, true] {
        for calls in 0..9 {
            let inner = MemorySecretStore::default();
            let flaky = Flaky {
                inner: &inner,
                calls: AtomicI64::new(calls),
                lose_the_answer,
            };
            let first =
                ClusterPki::load_or_create(&flaky, cluster(1), PkiOptions::default(), now()).await;
            let mut before = Vec::new();
            for purpose in inner.purposes(cluster(1)).await.unwrap() {
                before.push((
                    purpose.clone(),
                    inner.get(cluster(1), &purpose).await.unwrap().unwrap(),
                ));
            }
            let second =
                ClusterPki::load_or_create(&inner, cluster(1), PkiOptions::default(), now())
                    .await
                    .unwrap();
            match first {
                Ok(first) => assert_eq!(print(&first), print(&second)),
                Err(error) => assert_eq!(error.retry(), Retry::Later, "{error}"),
            }
            for (purpose, secret) in before {
                assert_eq!(
                    inner.get(cluster(1), &purpose).await.unwrap(),
                    Some(secret),
                    "{purpose} was kept"
                );
            }
            assert_eq!(inner.purposes(cluster(1)).await.unwrap().len(), 4);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_writers_agree_on_one_set() {
    let store = Arc::new(MemorySecretStore::default());
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let pki =
                    ClusterPki::load_or_create(&*store, cluster(1), PkiOptions::default(), now())
                        .await;
                print(&pki.unwrap())
            })
        })
        .collect();
    let mut prints = Vec::new();
    for task in tasks {
        prints.push(task.await.unwrap());
    }
    assert!(prints.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test]
async fn ck_09_a_rotation_survives_a_crash_in_every_step() {
    type Step = fn(ClusterPki) -> ClusterPki;
    let steps: [(Step, Option<RotationPhase>); 3] = [
        (
            |pki| pki.begin_rotation(PkiOptions::default(), now()).unwrap(),
            Some(RotationPhase::TrustBoth),
        ),
        (ClusterPki::switch_rotation, Some(RotationPhase::Reissue)),
        (ClusterPki::finish_rotation, None),
    ];
    let inner = MemorySecretStore::default();
    let old = ClusterPki::load_or_create(&inner, cluster(1), PkiOptions::default(), now())
        .await
        .unwrap();
    for (step, phase) in steps {
        for calls in 0..4 {
            let pki = ClusterPki::load(&inner, cluster(1)).await.unwrap().unwrap();
            let flaky = Flaky {
                inner: &inner,
                calls: AtomicI64::new(calls),
                lose_the_answer: calls % 2 == 1,
            };
            step(pki).save(&flaky, cluster(1)).await.unwrap_err();
        }
        let pki = step(ClusterPki::load(&inner, cluster(1)).await.unwrap().unwrap());
        pki.save(&inner, cluster(1)).await.unwrap();
        assert_eq!(pki.phase(), phase);
        for kind in AuthorityKind::ALL {
            assert_eq!(pki.generations(kind).phase(), phase, "{kind}");
        }
    }
    let new = ClusterPki::load(&inner, cluster(1)).await.unwrap().unwrap();
    for kind in AuthorityKind::ALL {
        assert_eq!(
            new.generations(kind).signing().number,
            2,
            "{kind} was rotated once"
        );
        assert_ne!(
            new.authority(kind).certificate(),
            old.authority(kind).certificate()
        );
    }
}

#[tokio::test]
async fn deletion_takes_every_part_and_can_be_repeated() {
    let store = MemorySecretStore::default();
    store
        .put(cluster(1), "cloud.credential", Secret::new(b"x".to_vec()))
        .await
        .unwrap();
    let pki = ClusterPki::load_or_create(&store, cluster(1), PkiOptions::default(), now())
        .await
        .unwrap();
    pki.begin_rotation(PkiOptions::default(), now())
        .unwrap()
        .save(&store, cluster(1))
        .await
        .unwrap();
    let flaky = Flaky {
        inner: &store,
        calls: AtomicI64::new(2),
        lose_the_answer: false,
    };
    ClusterPki::delete(&flaky, cluster(1)).await.unwrap_err();
    ClusterPki::delete(&store, cluster(1)).await.unwrap();
    ClusterPki::delete(&store, cluster(1)).await.unwrap();
    let left = store.purposes(cluster(1)).await.unwrap();
    assert_eq!(left, ["cloud.credential"]);
    assert!(
        !left
            .iter()
            .any(|purpose| purpose.starts_with(PKI_PURPOSE_PREFIX))
    );
}

#[tokio::test]
async fn ms_04_a_damaged_record_is_an_error_that_quotes_nothing() {
    let store = MemorySecretStore::default();
    ClusterPki::load_or_create(&store, cluster(1), PkiOptions::default(), now())
        .await
        .unwrap();
    for text in [
        "hunter2",
        r#"{"version":1,"signing":"hunter2"}"#,
        r#"{"version":1,"signing":{"number":1,"key":"hunter2"}}"#,
    ] {
        store
            .put(cluster(1), "pki.sa", Secret::new(text))
            .await
            .unwrap();
        let error = ClusterPki::load(&store, cluster(1)).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::BadRecord {
                    purpose: "pki.sa",
                    ..
                }
            ),
            "{error}"
        );
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{error:?}"
        );
        assert_eq!(error.retry(), Retry::Never);
    }
}

#[tokio::test]
async fn nothing_of_a_sealed_record_can_be_read() {
    let store = MemorySecretStore::default();
    ClusterPki::load_or_create(&store, cluster(1), PkiOptions::default(), now())
        .await
        .unwrap();
    let sealer = Envelope::new(SealingKey::generate().unwrap());
    for purpose in store.purposes(cluster(1)).await.unwrap() {
        let secret = store.get(cluster(1), &purpose).await.unwrap().unwrap();
        let sealed = sealer
            .seal(&SealContext::new(cluster(1), purpose), &secret)
            .await
            .unwrap();
        for piece in secret.expose().chunks_exact(12) {
            assert!(!sealed.windows(12).any(|window| window == piece));
        }
    }
}
