//! Readings. Compiled once for each database.

use chrono::{DateTime, Utc};
use sqlx::{Row, query, query_scalar};

use super::rows::{away, corrupt, document, documents, number, operation, signed, time};
use super::{Pool, READ};
use crate::driver::ClusterView;
use crate::event::Event;
use crate::id::{ClusterId, ClusterTemplateId, OperationId, ProjectId};
use crate::model::{Cluster, ClusterTemplate};
use crate::operation::Operation;
use crate::store::memory::sort_groups;
use crate::store::{ClusterRecord, OperationFilter, Page, Quota, StoreError, Usage, Visibility};

/// The project as a parameter: empty for everything.
fn project(visible: &Visibility) -> Option<&str> {
    visible.project().map(ProjectId::as_str)
}

fn after(page: &Page) -> String {
    page.after.map(|id| id.to_string()).unwrap_or_default()
}

pub(super) async fn load(pool: &Pool, id: ClusterId) -> Result<Option<ClusterRecord>, StoreError> {
    let key = id.to_string();
    let mut tx = pool.begin_with(READ).await.map_err(away)?;
    let row = query("SELECT doc, revision, deleted FROM clusters WHERE id = $1")
        .bind(&key)
        .fetch_optional(&mut *tx)
        .await
        .map_err(away)?;
    let Some(row) = row else { return Ok(None) };
    let groups = query("SELECT doc FROM node_groups WHERE cluster_id = $1")
        .bind(&key)
        .fetch_all(&mut *tx)
        .await
        .map_err(away)?;
    let operations = query(
        "SELECT doc, fence, lease_owner, lease_until FROM operations WHERE cluster_id = $1 AND ended = 0 ORDER BY id",
    )
    .bind(&key)
    .fetch_all(&mut *tx)
    .await
    .map_err(away)?;
    tx.commit().await.map_err(away)?;
    let mut node_groups = documents(&groups, "node group")?;
    sort_groups(&mut node_groups);
    Ok(Some(ClusterRecord {
        view: ClusterView {
            cluster: document(&row, "cluster")?,
            node_groups,
        },
        operations: operations.iter().map(operation).collect::<Result<_, _>>()?,
        revision: number(row.try_get("revision").map_err(away)?),
        deleted: row.try_get::<i64, _>("deleted").map_err(away)? != 0,
    }))
}

pub(super) async fn find_clusters(
    pool: &Pool,
    visible: &Visibility,
    key: &str,
) -> Result<Vec<Cluster>, StoreError> {
    let id = key.parse::<ClusterId>().map(|id| id.to_string()).ok();
    if let Some(id) = id {
        let rows = query("SELECT doc FROM clusters WHERE id = $1 AND deleted = 0 AND ($2 IS NULL OR project_id = $2)")
            .bind(id)
            .bind(project(visible))
            .fetch_all(pool)
            .await
            .map_err(away)?;
        if !rows.is_empty() {
            return documents(&rows, "cluster");
        }
    }
    let rows = query("SELECT doc FROM clusters WHERE name = $1 AND deleted = 0 AND ($2 IS NULL OR project_id = $2) ORDER BY id")
        .bind(key)
        .bind(project(visible))
        .fetch_all(pool)
        .await
        .map_err(away)?;
    documents(&rows, "cluster")
}

pub(super) async fn clusters(
    pool: &Pool,
    visible: &Visibility,
    page: &Page,
) -> Result<Vec<Cluster>, StoreError> {
    let rows = query("SELECT doc FROM clusters WHERE deleted = 0 AND ($1 IS NULL OR project_id = $1) AND id > $2 ORDER BY id LIMIT $3")
        .bind(project(visible))
        .bind(after(page))
        .bind(i64::from(page.limit))
        .fetch_all(pool)
        .await
        .map_err(away)?;
    documents(&rows, "cluster")
}

pub(super) async fn find_templates(
    pool: &Pool,
    visible: &Visibility,
    key: &str,
) -> Result<Vec<ClusterTemplate>, StoreError> {
    let id = key.parse::<ClusterTemplateId>();
    if let Ok(id) = id {
        let rows = query("SELECT doc FROM templates WHERE id = $1 AND ($2 IS NULL OR project_id = $2 OR public = 1)")
            .bind(id.to_string())
            .bind(project(visible))
            .fetch_all(pool)
            .await
            .map_err(away)?;
        if !rows.is_empty() {
            return documents(&rows, "template");
        }
    }
    let rows = query("SELECT doc FROM templates WHERE name = $1 AND ($2 IS NULL OR project_id = $2 OR public = 1) ORDER BY id")
        .bind(key)
        .bind(project(visible))
        .fetch_all(pool)
        .await
        .map_err(away)?;
    documents(&rows, "template")
}

pub(super) async fn templates(
    pool: &Pool,
    visible: &Visibility,
    page: &Page,
) -> Result<Vec<ClusterTemplate>, StoreError> {
    let rows = query("SELECT doc FROM templates WHERE ($1 IS NULL OR project_id = $1 OR public = 1) AND id > $2 ORDER BY id LIMIT $3")
        .bind(project(visible))
        .bind(after(page))
        .bind(i64::from(page.limit))
        .fetch_all(pool)
        .await
        .map_err(away)?;
    documents(&rows, "template")
}

pub(super) async fn template_versions(
    pool: &Pool,
    visible: &Visibility,
    lineage: ClusterTemplateId,
) -> Result<Vec<ClusterTemplate>, StoreError> {
    let rows = query("SELECT doc FROM templates WHERE lineage = $1 AND ($2 IS NULL OR project_id = $2 OR public = 1)")
        .bind(lineage.to_string())
        .bind(project(visible))
        .fetch_all(pool)
        .await
        .map_err(away)?;
    let mut versions: Vec<ClusterTemplate> = documents(&rows, "template")?;
    versions.sort_by_key(|template| template.version);
    Ok(versions)
}

pub(super) async fn one_operation(
    pool: &Pool,
    visible: &Visibility,
    id: OperationId,
) -> Result<Option<Operation>, StoreError> {
    let row = query("SELECT doc, fence, lease_owner, lease_until FROM operations WHERE id = $1 AND ($2 IS NULL OR project_id = $2)")
        .bind(id.to_string())
        .bind(project(visible))
        .fetch_optional(pool)
        .await
        .map_err(away)?;
    row.as_ref().map(operation).transpose()
}

pub(super) async fn operations(
    pool: &Pool,
    visible: &Visibility,
    filter: &OperationFilter,
) -> Result<Vec<Operation>, StoreError> {
    let rows = query(
        "SELECT doc, fence, lease_owner, lease_until FROM operations WHERE ($1 IS NULL OR project_id = $1) AND ($2 IS NULL OR cluster_id = $2) AND ended <= $3 ORDER BY id DESC LIMIT $4",
    )
    .bind(project(visible))
    .bind(filter.cluster.map(|id| id.to_string()))
    .bind(i64::from(!filter.running))
    .bind(i64::from(filter.limit.unwrap_or(u32::MAX)))
    .fetch_all(pool)
    .await
    .map_err(away)?;
    rows.iter().map(operation).collect()
}

pub(super) async fn events(
    pool: &Pool,
    visible: &Visibility,
    since: u64,
    limit: u32,
) -> Result<Vec<Event>, StoreError> {
    let rows = query("SELECT doc FROM events WHERE seq > $1 AND ($2 IS NULL OR project_id = $2) ORDER BY seq LIMIT $3")
        .bind(signed(since))
        .bind(project(visible))
        .bind(i64::from(limit))
        .fetch_all(pool)
        .await
        .map_err(away)?;
    documents(&rows, "event")
}

pub(super) async fn last_event(pool: &Pool) -> Result<u64, StoreError> {
    let value: i64 = query_scalar("SELECT value FROM counters WHERE name = 'events'")
        .fetch_one(pool)
        .await
        .map_err(away)?;
    Ok(number(value))
}

pub(super) async fn next_due(pool: &Pool) -> Result<Option<DateTime<Utc>>, StoreError> {
    let first: Option<i64> = query_scalar(
        "SELECT MIN(CASE WHEN lease_until > next_due THEN lease_until ELSE next_due END) FROM (SELECT next_due, lease_until FROM operations WHERE next_due IS NOT NULL ORDER BY next_due LIMIT 256) AS due",
    )
    .fetch_one(pool)
    .await
    .map_err(away)?;
    first.map(time).transpose()
}

pub(super) async fn memo(
    pool: &Pool,
    cluster: ClusterId,
    key: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    query_scalar("SELECT sealed FROM memos WHERE cluster_id = $1 AND key = $2")
        .bind(cluster.to_string())
        .bind(key)
        .fetch_optional(pool)
        .await
        .map_err(away)
}

pub(super) async fn secret(
    pool: &Pool,
    cluster: ClusterId,
    purpose: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    query_scalar("SELECT sealed FROM secrets WHERE cluster_id = $1 AND purpose = $2")
        .bind(cluster.to_string())
        .bind(purpose)
        .fetch_optional(pool)
        .await
        .map_err(away)
}

pub(super) async fn secret_purposes(
    pool: &Pool,
    cluster: ClusterId,
) -> Result<Vec<String>, StoreError> {
    query_scalar("SELECT purpose FROM secrets WHERE cluster_id = $1 ORDER BY purpose")
        .bind(cluster.to_string())
        .fetch_all(pool)
        .await
        .map_err(away)
}

pub(super) async fn idempotent(
    pool: &Pool,
    project: &ProjectId,
    key: &str,
) -> Result<Option<ClusterId>, StoreError> {
    let found: Option<String> =
        query_scalar("SELECT cluster_id FROM request_keys WHERE project_id = $1 AND key = $2")
            .bind(project.as_str())
            .bind(key)
            .fetch_optional(pool)
            .await
            .map_err(away)?;
    found
        .map(|id| id.parse().map_err(|error| corrupt("cluster id", &error)))
        .transpose()
}

pub(super) async fn quota(pool: &Pool, project: &ProjectId) -> Result<Option<Quota>, StoreError> {
    let row = query("SELECT doc FROM quotas WHERE project_id = $1")
        .bind(project.as_str())
        .fetch_optional(pool)
        .await
        .map_err(away)?;
    row.as_ref().map(|row| document(row, "quota")).transpose()
}

pub(super) async fn usage(
    connection: impl sqlx::Executor<'_, Database = super::Db>,
    project: &ProjectId,
) -> Result<Usage, StoreError> {
    let row = query(
        "SELECT COUNT(DISTINCT c.id) AS clusters, COUNT(g.id) AS node_groups, CAST(COALESCE(SUM(g.node_count), 0) AS BIGINT) AS nodes, CAST(COALESCE(SUM(g.node_count * g.vcpus), 0) AS BIGINT) AS vcpus, CAST(COALESCE(SUM(g.node_count * g.ram_mib), 0) AS BIGINT) AS ram_mib FROM clusters c LEFT JOIN node_groups g ON g.cluster_id = c.id WHERE c.project_id = $1 AND c.deleted = 0",
    )
    .bind(project.as_str())
    .fetch_one(connection)
    .await
    .map_err(away)?;
    let sum = |column: &str| row.try_get(column).map(number).map_err(away);
    Ok(Usage {
        clusters: sum("clusters")?,
        nodes: sum("nodes")?,
        node_groups: sum("node_groups")?,
        vcpus: sum("vcpus")?,
        ram_mib: sum("ram_mib")?,
    })
}
