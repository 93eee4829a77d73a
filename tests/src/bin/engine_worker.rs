//! An engine process for tests that kill it.

use magnum_tests::{Failure, scenario};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    scenario::work_until_killed().await
}
