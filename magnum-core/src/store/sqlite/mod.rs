//! A store in one SQLite file, for one process.

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

use std::fs::File;

use tokio::sync::watch;

use crate::store::StoreError;

use SqliteStore as Handle;

type Db = sqlx::Sqlite;
type DbRow = sqlx::sqlite::SqliteRow;
type Pool = sqlx::SqlitePool;
type Tx = sqlx::Transaction<'static, Db>;

/// How a transaction begins that writes.
const WRITE: &str = "BEGIN IMMEDIATE";
/// How a transaction begins that reads several times from one state.
const READ: &str = "BEGIN";
/// Takes due operations.
const CLAIM: &str = "UPDATE operations SET lease_owner = $1, lease_until = $2, fence = fence + 1 WHERE id IN (SELECT id FROM operations WHERE next_due <= $3 AND (lease_until IS NULL OR lease_until <= $3) ORDER BY next_due LIMIT $4) RETURNING doc, fence, lease_owner, lease_until";

/// A store in one SQLite file (write-ahead log, durable at every commit). One process at a time may have it open, which a lock file
/// beside it ensures; so what was under way in a process that died goes on as soon as the file is opened again.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Pool,
    reader: Pool,
    changed: watch::Sender<u64>,
    /// Held, never used: its lock ends with the process.
    _lock: Option<File>,
}

impl SqliteStore {
    const fn writer(&self) -> &Pool {
        &self.writer
    }

    const fn reader(&self) -> &Pool {
        &self.reader
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

/// One writer at a time is what SQLite gives anyway.
async fn lock_project(_: &mut Tx, _: &str) -> Result<(), StoreError> {
    Ok(())
}
