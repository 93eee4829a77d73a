//! The scenarios on the embedded cloud.

use std::path::Path;

use magnum_tests::{Bench, Failure, TestCloud, scenario};

async fn bench(name: &str) -> Result<Bench, Failure> {
    Bench::start(TestCloud::embedded().await?, name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn create_resize_replace_delete_leaves_nothing() -> Result<(), Failure> {
    scenario::three_and_five(bench("whole").await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn bm_06_bare_metal_group_in_a_vm_cluster() -> Result<(), Failure> {
    scenario::bare_metal_group_in_a_vm_cluster(bench("mixed").await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_is_too_small_is_said_before_anything_is_made() -> Result<(), Failure> {
    scenario::quota_is_said_before(bench("quota").await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn op_01_a_quota_failure_is_one_clear_sentence() -> Result<(), Failure> {
    scenario::quota_is_said_in_one_sentence(bench("quota").await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_input_is_refused_with_all_problems() -> Result<(), Failure> {
    scenario::everything_wrong_is_said_at_once(bench("wrong").await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_engine_goes_on() -> Result<(), Failure> {
    let program = Path::new(env!("CARGO_BIN_EXE_engine-worker"));
    scenario::killed_engine_resumes(TestCloud::embedded().await?, program).await
}
