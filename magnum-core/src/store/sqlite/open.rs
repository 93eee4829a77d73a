//! Opening, checking and migrating the file.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{query, query_scalar, raw_sql};
use tokio::sync::watch;

use super::rows::away;
use super::{Pool, SqliteStore, writes};
use crate::store::StoreError;

/// The schema, version by version.
const MIGRATIONS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];
/// The newest version that this library knows.
const KNOWN: i64 = MIGRATIONS.len() as i64;

impl SqliteStore {
    /// Opens the file, making it where there is none, and brings its schema up to date.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`]; [`StoreError::Unusable`] where another process has it open, where it is no database, damaged, or
    /// somebody else's; [`StoreError::Unavailable`].
    pub async fn open(path: impl AsRef<Path> + Send) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let lock = lock(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(10));
        let place = path.display().to_string();
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(60))
            .connect_with(options.clone())
            .await
            .map_err(|error| unusable(&place, &error))?;
        migrate(&writer, &place).await?;
        let reader = SqlitePoolOptions::new()
            .max_connections(4)
            .acquire_timeout(Duration::from_secs(60))
            .connect_with(options)
            .await
            .map_err(|error| unusable(&place, &error))?;
        writes::end_leases(&writer).await?;
        Ok(Self {
            writer,
            reader,
            changed: watch::Sender::new(0),
            _lock: Some(lock),
        })
    }

    /// Writes a consistent copy to another file, which must not exist, while the store is in use.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn back_up(&self, path: impl AsRef<Path> + Send) -> Result<(), StoreError> {
        let path = path.as_ref().display().to_string();
        query("VACUUM INTO $1")
            .bind(path)
            .execute(&self.writer)
            .await
            .map(drop)
            .map_err(away)
    }

    /// Ends all connections, with everything written to the file itself. A process that is killed instead loses nothing.
    pub async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let problem = |reason: String| StoreError::Unusable {
        place: path.display().to_string(),
        reason,
    };
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&name)
        .map_err(|error| problem(format!("its lock file cannot be opened: {error}")))?;
    file.try_lock()
        .map_err(|_| problem("another process, or another store, has it open".to_owned()))?;
    Ok(file)
}

async fn migrate(pool: &Pool, place: &str) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| unusable(place, &error);
    let tables: Vec<String> = query_scalar(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .fetch_all(pool)
    .await
    .map_err(failed)?;
    let found: i64 = if tables.iter().any(|name| name == "magnum_schema") {
        query_scalar("SELECT MAX(version) FROM magnum_schema")
            .fetch_one(pool)
            .await
            .map_err(failed)?
    } else if tables.is_empty() {
        0
    } else {
        return Err(StoreError::Unusable {
            place: place.to_owned(),
            reason: "it holds the tables of something else".to_owned(),
        });
    };
    if found > KNOWN {
        return Err(StoreError::NewerSchema {
            found,
            known: KNOWN,
        });
    }
    let done = usize::try_from(found).unwrap_or_default();
    for migration in &MIGRATIONS[done..] {
        let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        raw_sql(*migration)
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
        tx.commit().await.map_err(failed)?;
    }
    for check in [
        "SELECT id, revision, doc FROM clusters LIMIT 1",
        "SELECT id, cluster_id, doc FROM node_groups LIMIT 1",
        "SELECT id, fence, doc FROM operations LIMIT 1",
        "SELECT seq, doc FROM events ORDER BY seq DESC LIMIT 1",
        "SELECT cluster_id, sealed FROM memos LIMIT 1",
        "SELECT cluster_id, sealed FROM secrets LIMIT 1",
        "SELECT value FROM counters WHERE name = 'events'",
    ] {
        query(check).fetch_optional(pool).await.map_err(failed)?;
    }
    Ok(())
}

fn unusable(place: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Unusable {
        place: place.to_owned(),
        reason: match error {
            sqlx::Error::Database(database) => database.message().to_owned(),
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_newer_a_foreign_and_a_damaged_file_are_clear_errors() {
        let dir = tempfile::tempdir().unwrap();
        let newer = dir.path().join("newer.db");
        let store = SqliteStore::open(&newer).await.unwrap();
        query("INSERT INTO magnum_schema (version) VALUES (7)")
            .execute(store.writer())
            .await
            .unwrap();
        let held = SqliteStore::open(&newer).await.unwrap_err();
        assert!(held.to_string().contains("has it open"), "{held}");
        store.close().await;
        drop(store);
        let error = SqliteStore::open(&newer).await.unwrap_err();
        assert!(
            matches!(error, StoreError::NewerSchema { found: 7, known: 2 }),
            "{error}"
        );

        let damaged = dir.path().join("damaged.db");
        std::fs::write(
            &damaged,
            b"this is no database at all, but long enough to be read as one",
        )
        .unwrap();
        let error = SqliteStore::open(&damaged).await.unwrap_err();
        assert!(error.to_string().contains("not a database"), "{error}");

        let broken = dir.path().join("broken.db");
        let store = SqliteStore::open(&broken).await.unwrap();
        raw_sql("DROP TABLE operations")
            .execute(store.writer())
            .await
            .unwrap();
        store.close().await;
        drop(store);
        let error = SqliteStore::open(&broken).await.unwrap_err();
        assert!(error.to_string().contains("operations"), "{error}");
    }

    #[tokio::test]
    async fn a_database_of_the_first_schema_opens_and_keeps_what_it_has() {
        use crate::store::{Store as _, Visibility};

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old.db");
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true);
        let old = Pool::connect_with(options).await.unwrap();
        raw_sql(MIGRATIONS[0]).execute(&old).await.unwrap();
        let id = "0193a1f2-0000-4000-8000-000000000001";
        let spec = r#"{"coe":"kubernetes","driver":null,"distro":"ubuntu","server_type":"vm","image":"i","flavor":"f","master_flavor":null,"keypair":null,"external_network":null,"fixed_network":null,"fixed_subnet":null,"dns_nameservers":[],"network_driver":"flannel","master_lb":{"enabled":true,"floating_ip":true},"floating_ip_enabled":false,"docker_volume_size":null,"labels":{}}"#;
        let template = format!(
            r#"{{"id":"{id}","name":"small","project_id":"p","user_id":"u","public":false,"hidden":false,"spec":{spec},"created_at":"2026-11-01T10:00:00Z","updated_at":"2026-11-01T10:00:00Z"}}"#
        );
        query("INSERT INTO templates (id, project_id, name, public, doc) VALUES ($1, 'p', 'small', 0, $2)")
            .bind(id)
            .bind(template)
            .execute(&old)
            .await
            .unwrap();
        let event = format!(
            r#"{{"seq":1,"at":"2026-11-01T10:00:00.123456Z","project_id":"p","cluster":"{id}","operation":null,"kind":{{"type":"warning","text":"old"}}}}"#
        );
        query("INSERT INTO events (seq, project_id, cluster_id, doc) VALUES (1, 'p', $1, $2)")
            .bind(id)
            .bind(event)
            .execute(&old)
            .await
            .unwrap();
        raw_sql("UPDATE counters SET value = 1")
            .execute(&old)
            .await
            .unwrap();
        old.close().await;

        let store = SqliteStore::open(&path).await.unwrap();
        let all = Visibility::Everything;
        let found = store.find_templates(&all, "small").await.unwrap();
        assert_eq!((found[0].version, found[0].revision), (1, 0));
        let versions = store.template_versions(&all, found[0].id).await.unwrap();
        assert_eq!(versions, found);
        let before: chrono::DateTime<chrono::Utc> = "2026-11-01T10:00:00Z".parse().unwrap();
        assert_eq!(
            store.prune_events(before, 0, 10).await.unwrap(),
            0,
            "not older"
        );
        let after = before + Duration::from_secs(2);
        assert_eq!(
            store.prune_events(after, 0, 10).await.unwrap(),
            1,
            "its age is known"
        );
        assert_eq!(store.last_event().await.unwrap(), 1);
        store.close().await;
        drop(store);
        SqliteStore::open(&path).await.unwrap();
    }
}
