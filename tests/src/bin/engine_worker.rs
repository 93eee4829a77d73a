//! An engine process for tests that kill it.

use magnum_tests::{Failure, scenario};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    if scenario::is_asked_to_share() {
        return scenario::share_until_killed().await;
    }
    scenario::work_until_killed().await
}
