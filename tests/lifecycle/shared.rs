//! Several engine processes on one PostgreSQL.

use std::path::Path;

use magnum_tests::{Failure, scenario};

/// A longer run by `MAGNUM_KILL_OPERATIONS`.
#[tokio::test(flavor = "multi_thread")]
async fn sp_06_two_of_four_engines_are_killed_and_each_operation_is_done_once()
-> Result<(), Failure> {
    let Ok(postgres) = std::env::var("MAGNUM_TEST_POSTGRES_URL") else {
        println!("not run: MAGNUM_TEST_POSTGRES_URL is not set");
        return Ok(());
    };
    let operations = match std::env::var("MAGNUM_KILL_OPERATIONS") {
        Ok(operations) => operations.parse()?,
        Err(_) => 1000,
    };
    let program = Path::new(env!("CARGO_BIN_EXE_engine-worker"));
    scenario::killed_engines_share(&postgres, program, operations).await
}
