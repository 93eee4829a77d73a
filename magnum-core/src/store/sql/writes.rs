//! Writes. Compiled once for each database.

use chrono::{DateTime, Utc};
use sqlx::{Row, query, query_scalar};

use super::rows::{away, corrupt, number, operation, signed, text};
use super::{CLAIM, Pool, Tx, WRITE, lock_project, reads};
use crate::id::{ClusterId, ProjectId};
use crate::operation::{Lease, Operation};
use crate::state::Status;
use crate::store::{ClaimRequest, Commit, Committed, Guard, NewEvent, StoreError, Write};

pub(super) async fn commit(pool: &Pool, commit: Commit) -> Result<Committed, StoreError> {
    let mut tx = pool.begin_with(WRITE).await.map_err(away)?;
    for guard in &commit.guards {
        check(&mut tx, guard).await?;
    }
    for write in commit.writes {
        apply(&mut tx, write).await?;
    }
    let last_event = tell(&mut tx, commit.events).await?;
    tx.commit().await.map_err(away)?;
    Ok(Committed { last_event })
}

/// Whether the row still has this number: the statement writes to the row that has it, and so holds it for the transaction.
async fn still_at(
    tx: &mut Tx,
    statement: &'static str,
    id: String,
    number: u64,
) -> Result<bool, StoreError> {
    let done = query(statement)
        .bind(id)
        .bind(signed(number))
        .execute(&mut **tx)
        .await
        .map_err(away)?;
    Ok(done.rows_affected() == 1)
}

async fn check(tx: &mut Tx, guard: &Guard) -> Result<(), StoreError> {
    match guard {
        Guard::Revision { cluster, revision } => {
            let moved =
                "UPDATE clusters SET revision = revision + 1 WHERE id = $1 AND revision = $2";
            if still_at(tx, moved, cluster.to_string(), *revision).await? {
                return Ok(());
            }
            Err(StoreError::Stale { cluster: *cluster })
        }
        Guard::Fence { operation, fence } => {
            let held = "UPDATE operations SET fence = fence WHERE id = $1 AND fence = $2";
            if still_at(tx, held, operation.to_string(), *fence).await? {
                return Ok(());
            }
            Err(StoreError::LeaseLost {
                operation: *operation,
            })
        }
        Guard::NameFree { project, name } => {
            lock_project(tx, project.as_str()).await?;
            let taken: i64 = query_scalar(
                "SELECT COUNT(*) FROM clusters WHERE project_id = $1 AND name = $2 AND deleted = 0",
            )
            .bind(project.as_str())
            .bind(name)
            .fetch_one(&mut **tx)
            .await
            .map_err(away)?;
            if taken == 0 {
                return Ok(());
            }
            Err(StoreError::NameTaken { name: name.clone() })
        }
        Guard::WithinQuota {
            project,
            more,
            quota,
        } => {
            lock_project(tx, project.as_str()).await?;
            reads::usage(&mut **tx, project).await?.with(more, quota)
        }
        Guard::TemplateRevision { template, revision } => {
            let moved =
                "UPDATE templates SET revision = revision + 1 WHERE id = $1 AND revision = $2";
            if still_at(tx, moved, template.to_string(), *revision).await? {
                return Ok(());
            }
            Err(StoreError::TemplateStale {
                template: *template,
            })
        }
        Guard::KeyUnused { project, key } => key_unused(tx, project, key).await,
        Guard::TemplateUnused(template) => {
            let users: i64 = query_scalar(
                "SELECT COUNT(*) FROM clusters WHERE template_id = $1 AND deleted = 0",
            )
            .bind(template.to_string())
            .fetch_one(&mut **tx)
            .await
            .map_err(away)?;
            if users == 0 {
                return Ok(());
            }
            Err(StoreError::TemplateInUse {
                clusters: number(users),
            })
        }
    }
}

async fn key_unused(tx: &mut Tx, project: &ProjectId, key: &str) -> Result<(), StoreError> {
    lock_project(tx, project.as_str()).await?;
    let used: Option<String> =
        query_scalar("SELECT cluster_id FROM request_keys WHERE project_id = $1 AND key = $2")
            .bind(project.as_str())
            .bind(key)
            .fetch_optional(&mut **tx)
            .await
            .map_err(away)?;
    match used {
        None => Ok(()),
        Some(cluster) => Err(StoreError::KeyUsed {
            cluster: cluster
                .parse()
                .map_err(|error| corrupt("cluster id", &error))?,
        }),
    }
}

async fn apply(tx: &mut Tx, write: Write) -> Result<(), StoreError> {
    let done = match write {
        Write::Cluster(cluster) => {
            let doc = text(&cluster)?;
            query(
                "INSERT INTO clusters (id, project_id, name, template_id, deleted, in_progress, next_look, revision, doc) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8) ON CONFLICT (id) DO UPDATE SET name = excluded.name, template_id = excluded.template_id, deleted = excluded.deleted, in_progress = excluded.in_progress, doc = excluded.doc",
            )
            .bind(cluster.id.to_string())
            .bind(cluster.project_id.as_str())
            .bind(cluster.name.as_str())
            .bind(cluster.template_id.to_string())
            .bind(i64::from(cluster.status == Status::DELETE_COMPLETE))
            .bind(i64::from(cluster.status.in_progress()))
            .bind(cluster.created_at.timestamp_micros())
            .bind(doc)
            .execute(&mut **tx)
            .await
        }
        Write::NodeGroup(group) => {
            let doc = text(&group)?;
            let size = group.spec.size.unwrap_or_default();
            query("INSERT INTO node_groups (id, cluster_id, node_count, doc, vcpus, ram_mib) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET node_count = excluded.node_count, doc = excluded.doc, vcpus = excluded.vcpus, ram_mib = excluded.ram_mib")
                .bind(group.id.to_string())
                .bind(group.cluster_id.to_string())
                .bind(i64::from(group.node_count))
                .bind(doc)
                .bind(i64::from(size.vcpus))
                .bind(signed(size.ram_mib))
                .execute(&mut **tx)
                .await
        }
        Write::RemoveNodeGroup(id) => {
            query("DELETE FROM node_groups WHERE id = $1")
                .bind(id.to_string())
                .execute(&mut **tx)
                .await
        }
        Write::Operation(operation) => return put_operation(tx, &operation).await,
        Write::Release(id) => {
            query("UPDATE operations SET lease_owner = NULL, lease_until = NULL, fence = fence + 1 WHERE id = $1")
                .bind(id.to_string())
                .execute(&mut **tx)
                .await
        }
        Write::Memo {
            cluster,
            key,
            sealed,
        } => {
            query("INSERT INTO memos (cluster_id, key, sealed) VALUES ($1, $2, $3) ON CONFLICT (cluster_id, key) DO UPDATE SET sealed = excluded.sealed")
                .bind(cluster.to_string())
                .bind(key)
                .bind(sealed)
                .execute(&mut **tx)
                .await
        }
        Write::RemoveMemo { cluster, key } => {
            query("DELETE FROM memos WHERE cluster_id = $1 AND key = $2")
                .bind(cluster.to_string())
                .bind(key)
                .execute(&mut **tx)
                .await
        }
        Write::Purge(cluster) => return purge(tx, cluster).await,
        Write::Template(template) => {
            let doc = text(&template)?;
            query("INSERT INTO templates (id, project_id, name, public, doc, lineage, revision) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET name = excluded.name, public = excluded.public, doc = excluded.doc, revision = excluded.revision")
                .bind(template.id.to_string())
                .bind(template.project_id.as_str())
                .bind(template.name.as_str())
                .bind(i64::from(template.public))
                .bind(doc)
                .bind(template.lineage().to_string())
                .bind(signed(template.revision))
                .execute(&mut **tx)
                .await
        }
        Write::RemoveTemplate(id) => {
            query("DELETE FROM templates WHERE id = $1")
                .bind(id.to_string())
                .execute(&mut **tx)
                .await
        }
        Write::Key {
            project,
            key,
            cluster,
        } => {
            query("INSERT INTO request_keys (project_id, key, cluster_id) VALUES ($1, $2, $3)")
                .bind(project.as_str())
                .bind(key)
                .bind(cluster.to_string())
                .execute(&mut **tx)
                .await
        }
        Write::Quota {
            project,
            quota: Some(quota),
        } => {
            let doc = text(&quota)?;
            query("INSERT INTO quotas (project_id, doc) VALUES ($1, $2) ON CONFLICT (project_id) DO UPDATE SET doc = excluded.doc")
                .bind(project.as_str())
                .bind(doc)
                .execute(&mut **tx)
                .await
        }
        Write::Quota {
            project,
            quota: None,
        } => {
            query("DELETE FROM quotas WHERE project_id = $1")
                .bind(project.as_str())
                .execute(&mut **tx)
                .await
        }
    };
    done.map(drop).map_err(away)
}

async fn put_operation(tx: &mut Tx, operation: &Operation) -> Result<(), StoreError> {
    query(
        "INSERT INTO operations (id, cluster_id, project_id, ended, next_due, fence, doc) VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, next_due = excluded.next_due, doc = excluded.doc",
    )
    .bind(operation.id.to_string())
    .bind(operation.cluster.to_string())
    .bind(operation.project_id.as_str())
    .bind(i64::from(operation.is_ended()))
    .bind(operation.next_due.map(|due| due.timestamp_micros()))
    .bind(text(operation)?)
    .execute(&mut **tx)
    .await
    .map(drop)
    .map_err(away)
}

async fn purge(tx: &mut Tx, cluster: ClusterId) -> Result<(), StoreError> {
    for statement in [
        "DELETE FROM memos WHERE cluster_id = $1",
        "DELETE FROM secrets WHERE cluster_id = $1",
    ] {
        query(statement)
            .bind(cluster.to_string())
            .execute(&mut **tx)
            .await
            .map_err(away)?;
    }
    Ok(())
}

/// Numbers and stores events. The counter's row is held until the commit, so that numbers become visible in their order.
async fn tell(tx: &mut Tx, events: Vec<NewEvent>) -> Result<u64, StoreError> {
    if events.is_empty() {
        return Ok(0);
    }
    let last: i64 = query_scalar(
        "UPDATE counters SET value = value + $1 WHERE name = 'events' RETURNING value",
    )
    .bind(signed(events.len() as u64))
    .fetch_one(&mut **tx)
    .await
    .map_err(away)?;
    let last = number(last);
    let mut seq = last - events.len() as u64;
    for event in events {
        seq += 1;
        let event = crate::event::Event {
            seq,
            at: event.at,
            project_id: event.project_id,
            cluster: event.cluster,
            operation: event.operation,
            kind: event.kind,
        };
        query(
            "INSERT INTO events (seq, project_id, cluster_id, doc, at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(signed(seq))
        .bind(event.project_id.as_str())
        .bind(event.cluster.to_string())
        .bind(text(&event)?)
        .bind(event.at.timestamp_micros())
        .execute(&mut **tx)
        .await
        .map_err(away)?;
    }
    Ok(last)
}

pub(super) async fn claim(
    pool: &Pool,
    request: &ClaimRequest,
) -> Result<Vec<Operation>, StoreError> {
    let mut tx = pool.begin_with(WRITE).await.map_err(away)?;
    let rows = query(CLAIM)
        .bind(request.engine.to_string())
        .bind(request.until.timestamp_micros())
        .bind(request.now.timestamp_micros())
        .bind(i64::from(request.limit))
        .fetch_all(&mut *tx)
        .await
        .map_err(away)?;
    tx.commit().await.map_err(away)?;
    let mut claimed: Vec<Operation> = rows.iter().map(operation).collect::<Result<_, _>>()?;
    claimed.sort_by_key(|operation| (operation.next_due, operation.id));
    Ok(claimed)
}

pub(super) async fn renew(
    pool: &Pool,
    lease: &Lease,
    until: DateTime<Utc>,
) -> Result<(), StoreError> {
    let done = query("UPDATE operations SET lease_until = $1 WHERE id = $2 AND fence = $3 AND lease_owner IS NOT NULL")
        .bind(until.timestamp_micros())
        .bind(lease.operation.to_string())
        .bind(signed(lease.fence))
        .execute(pool)
        .await
        .map_err(away)?;
    if done.rows_affected() == 1 {
        return Ok(());
    }
    Err(StoreError::LeaseLost {
        operation: lease.operation,
    })
}

pub(super) async fn claim_looks(
    pool: &Pool,
    now: DateTime<Utc>,
    again: DateTime<Utc>,
    limit: u32,
) -> Result<Vec<ClusterId>, StoreError> {
    let rows = query(
        "UPDATE clusters SET next_look = $1 WHERE id IN (SELECT id FROM clusters WHERE deleted = 0 AND in_progress = 0 AND next_look <= $2 ORDER BY next_look LIMIT $3) AND next_look <= $2 RETURNING id",
    )
    .bind(again.timestamp_micros())
    .bind(now.timestamp_micros())
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await
    .map_err(away)?;
    rows.iter()
        .map(|row| {
            let id: String = row.try_get("id").map_err(away)?;
            id.parse().map_err(|error| corrupt("cluster id", &error))
        })
        .collect()
}

pub(super) async fn put_secret(
    pool: &Pool,
    cluster: ClusterId,
    purpose: &str,
    sealed: Vec<u8>,
    replace: bool,
) -> Result<Vec<u8>, StoreError> {
    let statement = if replace {
        "INSERT INTO secrets (cluster_id, purpose, sealed) VALUES ($1, $2, $3) ON CONFLICT (cluster_id, purpose) DO UPDATE SET sealed = excluded.sealed RETURNING sealed"
    } else {
        "INSERT INTO secrets (cluster_id, purpose, sealed) VALUES ($1, $2, $3) ON CONFLICT (cluster_id, purpose) DO UPDATE SET sealed = secrets.sealed RETURNING sealed"
    };
    query_scalar(statement)
        .bind(cluster.to_string())
        .bind(purpose)
        .bind(sealed)
        .fetch_one(pool)
        .await
        .map_err(away)
}

pub(super) async fn delete_secret(
    pool: &Pool,
    cluster: ClusterId,
    purpose: &str,
) -> Result<(), StoreError> {
    query("DELETE FROM secrets WHERE cluster_id = $1 AND purpose = $2")
        .bind(cluster.to_string())
        .bind(purpose)
        .execute(pool)
        .await
        .map(drop)
        .map_err(away)
}

pub(super) async fn prune_events(
    pool: &Pool,
    before: DateTime<Utc>,
    up_to: u64,
    limit: u32,
) -> Result<u64, StoreError> {
    let done = query("DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT $3) AND (at < $1 OR seq <= $2)")
        .bind(before.timestamp_micros())
        .bind(signed(up_to))
        .bind(i64::from(limit))
        .execute(pool)
        .await
        .map_err(away)?;
    Ok(done.rows_affected())
}

/// Ends all leases: for a store whose former holders are known to be dead.
#[allow(dead_code, reason = "only one of the databases can know that")]
pub(super) async fn end_leases(pool: &Pool) -> Result<(), StoreError> {
    let done = query("UPDATE operations SET lease_owner = NULL, lease_until = NULL, fence = fence + 1 WHERE lease_owner IS NOT NULL")
        .execute(pool)
        .await
        .map_err(away)?;
    tracing::debug!(
        count = done.rows_affected(),
        "leases of a dead process were ended"
    );
    Ok(())
}
