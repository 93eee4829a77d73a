//! Secrets in Barbican: stored, fetched, rotated, gone.

use std::path::Path;
use std::sync::Arc;

use chrono::Utc;
use magnum_certs::{
    AuthorityKind, Certificates, ClusterPki, Envelope, PkiOptions, Profile, RotationPhase,
    RotationPlan, load_or_create_sealing_key,
};
use magnum_core::store::{SqliteStore, Store};
use magnum_core::{
    ClusterId, ClusterName, Engine, NewCluster, SealedSecrets, SecretStore, SecretStoreError,
};
use magnum_driver_kit::BarbicanSecrets;
use magnum_heat::services::barbican;
use uuid::Uuid;

use crate::engine::builder;
use crate::{Bench, Failure};

/// A cluster's keys are stored, fetched by another process, not readable by another user of the cloud, rotated twice with no more than
/// one generation of each left after every step, and deleted: no secret and no container is left in the project.
///
/// # Errors
/// Whatever does not hold.
pub async fn barbican_rotates_and_leaves_nothing(bench: Bench) -> Result<(), Failure> {
    let session = &bench.project.session;
    let index = bench.engine.secret_store();
    let store = BarbicanSecrets::new(session.clone(), Arc::clone(&index));
    let cluster = ClusterId::from_uuid(Uuid::new_v4());
    let options = PkiOptions::default();
    let made = ClusterPki::load_or_create(&store, cluster, options, Utc::now()).await?;

    let elsewhere = BarbicanSecrets::new(session.clone(), Arc::clone(&index));
    let fetched = ClusterPki::load(&elsewhere, cluster)
        .await?
        .ok_or("the keys are stored")?;
    let kind = AuthorityKind::Kubernetes;
    assert_eq!(fetched.trust_bundle(kind), made.trust_bundle(kind));

    let stranger = BarbicanSecrets::new(bench.cloud.admin.clone(), Arc::clone(&index));
    match ClusterPki::load(&stranger, cluster).await {
        Err(magnum_certs::Error::Store(
            SecretStoreError::Refused { .. } | SecretStoreError::Lost { .. },
        )) => {}
        other => return Err(format!("another project's user read the keys: {other:?}").into()),
    }

    for number in [2, 3] {
        let current = ClusterPki::load(&store, cluster).await?;
        let plan = RotationPlan::all(&current.ok_or("the keys are stored")?);
        for phase in RotationPhase::ALL {
            let now = Utc::now();
            // Twice, as after a crash.
            ClusterPki::enter_phase(&store, cluster, &plan, phase, options, now).await?;
            let pki = ClusterPki::enter_phase(&store, cluster, &plan, phase, options, now).await?;
            let list = barbican::ListSecrets { name: None };
            let held = session.send(list).await?.len();
            assert_eq!(held, 4, "superseded generations are gone in {phase:?}");
            if phase == RotationPhase::TrustNew {
                assert_eq!(pki.generations(kind).signing().number, number);
            }
        }
    }
    ClusterPki::delete(&store, cluster).await?;
    assert!(store.leftovers(cluster).await?.is_empty());
    assert!(index.purposes(cluster).await?.is_empty());
    bench.end().await
}

/// A whole cluster whose secrets are in Barbican: it comes up, its kubeconfig is signed by what is there, and with its deletion they go.
///
/// # Errors
/// Whatever does not hold.
pub async fn cluster_with_secrets_in_barbican(mut bench: Bench) -> Result<(), Failure> {
    let (engine, index) = engine_on_barbican(&bench).await?;
    bench.take(engine);
    let caller = bench.project.caller.clone();
    let template = bench.template(bench.cloud.spec()).await?;
    let mut new = NewCluster::new(ClusterName::new("sealed")?, template.id.to_string());
    new.node_count = 1;
    let created = bench.engine.create_cluster(&caller, new).await?;
    bench.succeeds(&created).await?;

    let profile = Profile::Admin {
        user: "alice".to_owned(),
    };
    let door = Certificates::new(&bench.engine);
    let config = door.kubeconfig(&caller, "sealed", &profile, None).await?;
    assert!(config.current().is_some());
    let list = barbican::ListSecrets { name: None };
    let held = bench.project.session.send(list).await?.len();
    assert!(
        held >= 6,
        "keys, credential and inventory are in Barbican: {held}"
    );

    let id = created.cluster.id;
    let deleted = bench.engine.delete_cluster(&caller, "sealed").await?;
    bench.succeeds(&deleted).await?;
    assert!(index.purposes(id).await?.is_empty());
    bench.end().await
}

async fn engine_on_barbican(bench: &Bench) -> Result<(Engine, Arc<dyn SecretStore>), Failure> {
    let folder: &Path = bench.folder.path();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.join("barbican.db")).await?);
    let sealer = Arc::new(Envelope::new(load_or_create_sealing_key(
        &folder.join("key"),
    )?));
    let index: Arc<dyn SecretStore> =
        Arc::new(SealedSecrets::new(Arc::clone(&store), sealer.clone()));
    let session = bench.project.session.clone();
    let secrets = BarbicanSecrets::new(session.clone(), Arc::clone(&index));
    let (proxy, polls) = (bench.cloud.proxy.clone(), bench.cloud.polls.clone());
    let engine = builder(Arc::new(session), proxy, polls)
        .store(store)
        .sealer(sealer)
        .secret_store(Arc::new(secrets))
        .build()?;
    Ok((engine, index))
}
