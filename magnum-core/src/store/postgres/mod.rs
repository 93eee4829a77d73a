//! A store in PostgreSQL, for many processes.

#[allow(
    clippy::duplicate_mod,
    reason = "one text, compiled once for each database"
)]
#[path = "../sql/contract.rs"]
mod contract;
mod open;
#[allow(
    clippy::duplicate_mod,
    reason = "one text, compiled once for each database"
)]
#[path = "../sql/reads.rs"]
mod reads;
#[allow(
    clippy::duplicate_mod,
    reason = "one text, compiled once for each database"
)]
#[path = "../sql/rows.rs"]
mod rows;
#[allow(
    clippy::duplicate_mod,
    reason = "one text, compiled once for each database"
)]
#[path = "../sql/writes.rs"]
mod writes;

#[cfg(any(test, feature = "conformance"))]
pub use open::fresh_schema;

use std::sync::Arc;

use sqlx::query;
use tokio::sync::{Notify, watch};

use crate::store::StoreError;

use PostgresStore as Handle;

type Db = sqlx::Postgres;
type DbRow = sqlx::postgres::PgRow;
type Pool = sqlx::PgPool;
type Tx = sqlx::Transaction<'static, Db>;

/// How a transaction begins that writes.
const WRITE: &str = "BEGIN";
/// How a transaction begins that reads several times from one state.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Takes due operations; those that another engine is just taking are left to it.
const CLAIM: &str = "UPDATE operations SET lease_owner = $1, lease_until = $2, fence = fence + 1 WHERE id IN (SELECT id FROM operations WHERE next_due <= $3 AND (lease_until IS NULL OR lease_until <= $3) ORDER BY next_due LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING doc, fence, lease_owner, lease_until";

/// A store in a schema of a PostgreSQL database, shared by any number of engines. Their clocks must agree within a fraction of a lease.
#[derive(Debug)]
pub struct PostgresStore {
    pool: Pool,
    changed: watch::Sender<u64>,
    outgoing: Arc<Notify>,
    tasks: [tokio::task::JoinHandle<()>; 2],
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.stop();
    }
}

impl PostgresStore {
    const fn writer(&self) -> &Pool {
        &self.pool
    }

    const fn reader(&self) -> &Pool {
        &self.pool
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
        self.outgoing.notify_one();
    }

    fn stop(&self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Lets creations of one project pass one by one, so that names and quotas are counted exactly.
async fn lock_project(tx: &mut Tx, project: &str) -> Result<(), StoreError> {
    query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(project)
        .execute(&mut **tx)
        .await
        .map(drop)
        .map_err(rows::away)
}
