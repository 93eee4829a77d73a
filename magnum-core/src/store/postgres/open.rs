//! Connecting, checking and migrating.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{query, query_scalar, raw_sql};
use tokio::sync::{Notify, watch};

use super::{Pool, PostgresStore};
use crate::store::StoreError;

/// The schema, version by version.
const MIGRATIONS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];
/// The newest version that this library knows.
const KNOWN: i64 = MIGRATIONS.len() as i64;
/// What engines tell each other on.
const CHANNEL: &str = "magnum_changes";

impl PostgresStore {
    /// Connects to a database by its URL (`postgres://user:password@host/database?options=-csearch_path%3Dschema`) with at most
    /// `connections` connections, and brings its schema up to date. Tables are made in the first schema of the search path.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`]; [`StoreError::Unusable`] for a bad URL, an unreachable or a foreign database.
    pub async fn connect(url: &str, connections: u32) -> Result<Self, StoreError> {
        let options: PgConnectOptions = url.parse().map_err(|_| StoreError::Unusable {
            place: "the given URL".to_owned(),
            reason: "it is no PostgreSQL URL".to_owned(),
        })?;
        let place = format!(
            "{}:{}/{}",
            options.get_host(),
            options.get_port(),
            options.get_database().unwrap_or_default()
        );
        let pool = PgPoolOptions::new()
            .max_connections(connections.max(2))
            .acquire_timeout(Duration::from_secs(30))
            .connect_with(options)
            .await
            .map_err(|error| unusable(&place, &error))?;
        migrate(&pool, &place).await?;
        let changed = watch::Sender::new(0);
        let outgoing = Arc::new(Notify::new());
        let tasks = [
            tokio::spawn(listen(pool.clone(), changed.clone())),
            tokio::spawn(notify(pool.clone(), Arc::clone(&outgoing))),
        ];
        Ok(Self {
            pool,
            changed,
            outgoing,
            tasks,
        })
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.stop();
        self.pool.close().await;
    }
}

/// Turns notifications into hints; while there is no connection for them, polling does alone.
async fn listen(pool: Pool, changed: watch::Sender<u64>) {
    loop {
        if let Ok(mut listener) = PgListener::connect_with(&pool).await
            && listener.listen(CHANNEL).await.is_ok()
        {
            while listener.recv().await.is_ok() {
                changed.send_modify(|count| *count += 1);
            }
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

/// Tells other processes, after commits and not within them: a notification inside a transaction would make all commits wait in line.
async fn notify(pool: Pool, outgoing: Arc<Notify>) {
    loop {
        outgoing.notified().await;
        let sent = query("SELECT pg_notify($1, '')")
            .bind(CHANNEL)
            .execute(&pool)
            .await;
        if let Err(error) = sent {
            tracing::debug!(%error, "a notification was not sent");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn migrate(pool: &Pool, place: &str) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| unusable(place, &error);
    let mut tx = pool.begin().await.map_err(failed)?;
    raw_sql("SELECT pg_advisory_xact_lock(7074063091)")
        .execute(&mut *tx)
        .await
        .map_err(failed)?;
    let tables: Vec<String> = query_scalar(
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema() AND table_name IN ('magnum_schema', 'clusters', 'operations')",
    )
    .fetch_all(&mut *tx)
    .await
    .map_err(failed)?;
    let found: i64 = if tables.iter().any(|name| name == "magnum_schema") {
        query_scalar("SELECT MAX(version) FROM magnum_schema")
            .fetch_one(&mut *tx)
            .await
            .map_err(failed)?
    } else if tables.is_empty() {
        0
    } else {
        return Err(StoreError::Unusable {
            place: place.to_owned(),
            reason: "its schema holds the tables of something else".to_owned(),
        });
    };
    if found > KNOWN {
        return Err(StoreError::NewerSchema {
            found,
            known: KNOWN,
        });
    }
    for migration in &MIGRATIONS[usize::try_from(found).unwrap_or_default()..] {
        raw_sql(*migration)
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
    }
    tx.commit().await.map_err(failed)
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

/// Makes a fresh schema in the database behind `url`, and gives the URL that leads to it: for tests.
///
/// # Errors
/// [`StoreError::Unusable`].
#[cfg(any(test, feature = "conformance"))]
pub async fn fresh_schema(url: &str) -> Result<String, StoreError> {
    make_schema(url)
        .await
        .map_err(|error| unusable("the given URL", &error))
}

#[cfg(any(test, feature = "conformance"))]
async fn make_schema(url: &str) -> Result<String, sqlx::Error> {
    let name = format!("test_{}", uuid::Uuid::new_v4().simple());
    let pool = Pool::connect(url).await?;
    let create = format!("CREATE SCHEMA {name}");
    query(sqlx::AssertSqlSafe(create)).execute(&pool).await?;
    pool.close().await;
    let joint = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{joint}options=-csearch_path%3D{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store as _;

    #[tokio::test]
    async fn a_database_of_the_first_schema_opens_and_knows_the_age_of_its_events() {
        let Ok(url) = std::env::var("MAGNUM_TEST_POSTGRES_URL") else {
            return;
        };
        let url = fresh_schema(&url).await.unwrap();
        let old = Pool::connect(&url).await.unwrap();
        raw_sql(MIGRATIONS[0]).execute(&old).await.unwrap();
        let id = "0193a1f2-0000-4000-8000-000000000001";
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
        let store = PostgresStore::connect(&url, 2).await.unwrap();
        let before: chrono::DateTime<chrono::Utc> = "2026-11-01T10:00:00Z".parse().unwrap();
        let gone = store.prune_events(before, 0, 10).await.unwrap();
        assert_eq!(gone, 0, "not older");
        let after = before + Duration::from_secs(2);
        assert_eq!(store.prune_events(after, 0, 10).await.unwrap(), 1);
        assert_eq!(store.last_event().await.unwrap(), 1);
        store.close().await;
        PostgresStore::connect(&url, 2).await.unwrap().close().await;
    }
}
