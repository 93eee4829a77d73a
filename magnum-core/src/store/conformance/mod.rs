//! The proof that a store keeps the contract of [`Store`]: the same cases for every implementation.

mod cases;
mod claims;
mod samples;

use std::sync::Arc;

#[cfg(feature = "postgres")]
pub use super::postgres::fresh_schema;

use super::Store;

/// What went wrong in a case.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs all cases, each on a fresh store, and gives the names of those that were run.
///
/// # Errors
/// The name of the first case that failed, and why.
pub async fn run<F, S>(fresh: F) -> Result<Vec<&'static str>, String>
where
    F: Fn() -> S + Send + Sync,
    S: Future<Output = Arc<dyn Store>> + Send,
{
    let mut names = Vec::new();
    macro_rules! cases {
        ($($group:ident::$case:ident),* $(,)?) => {$(
            let name = stringify!($case);
            let done: Result<(), Failure> = $group::$case(fresh().await).await;
            done.map_err(|failure| format!("{name}: {failure}"))?;
            names.push(name);
        )*};
    }
    cases!(
        cases::guards_refuse_and_leave_nothing_behind,
        cases::ms_06_projects_do_not_see_each_other,
        cases::ms_07_parallel_creations_are_counted_exactly,
        claims::sp_06_each_due_operation_is_claimed_by_one,
        claims::leases_end_and_fences_hold,
        cases::events_are_numbered_in_order_under_parallel_writes,
        cases::secrets_and_memos_come_and_go,
        cases::a_deleted_cluster_is_history,
        cases::lists_come_in_pages,
        claims::looks_are_handed_out_once,
        cases::the_first_key_wins,
        cases::usage_counts_what_living_clusters_want,
        cases::versions_of_a_template_and_lost_updates,
        cases::old_events_go_and_numbers_stay,
    );
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn the_memory_store_conforms() {
        let fresh = || async { Arc::new(MemoryStore::new()) as Arc<dyn Store> };
        run(fresh).await.unwrap();
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_sqlite_store_conforms() {
        use std::sync::atomic::{AtomicU32, Ordering};

        let dir = tempfile::tempdir().unwrap();
        let count = AtomicU32::new(0);
        let fresh = || async {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let path = dir.path().join(format!("{number}.db"));
            Arc::new(crate::store::SqliteStore::open(path).await.unwrap()) as Arc<dyn Store>
        };
        run(fresh).await.unwrap();
    }

    #[cfg(feature = "postgres")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_postgres_store_conforms() {
        let Ok(url) = std::env::var("MAGNUM_TEST_POSTGRES_URL") else {
            return;
        };
        let fresh = || async {
            let url = fresh_schema(&url).await.unwrap();
            let store = crate::store::PostgresStore::connect(&url, 8).await.unwrap();
            Arc::new(store) as Arc<dyn Store>
        };
        run(fresh).await.unwrap();
    }
}
