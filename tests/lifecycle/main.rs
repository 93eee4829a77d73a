//! What holds on the embedded cloud: the scenarios, and the proof of the drivers.

mod conformance;
mod creation;
mod shared;

use magnum_tests::TestCloud;

magnum_tests::scenarios!(TestCloud::embedded);

// On the real cloud these two are not shown yet: Keystone 2026.1 lets Heat make no trust with an application credential unless
// `allow_insecure_application_credential_trust_escalation` is set, and the other has not been run there.
#[tokio::test(flavor = "multi_thread")]
async fn ms_05_sm_06_a_cluster_survives_its_creators_departure() -> Result<(), magnum_tests::Failure>
{
    let cloud = magnum_tests::TestCloud::embedded().await?;
    Box::pin(magnum_tests::scenario::creator_leaves(cloud)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn p_05_a_cluster_keeps_its_secrets_in_barbican() -> Result<(), magnum_tests::Failure> {
    let cloud = magnum_tests::TestCloud::embedded().await?;
    let bench = magnum_tests::Bench::start(cloud, "barbican").await?;
    Box::pin(magnum_tests::scenario::cluster_with_secrets_in_barbican(
        bench,
    ))
    .await
}
