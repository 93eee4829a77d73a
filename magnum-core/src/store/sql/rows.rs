//! How rows become values, and errors of the database errors of the store. Compiled once for each database.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;

use super::DbRow;
use crate::operation::{Lease, Operation};
use crate::store::StoreError;

/// The columns from which [`operation`] reads.
pub(super) fn operation(row: &DbRow) -> Result<Operation, StoreError> {
    let mut operation: Operation = document(row, "operation")?;
    operation.fence = number(row.try_get::<i64, _>("fence").map_err(away)?);
    let owner: Option<String> = row.try_get("lease_owner").map_err(away)?;
    let until: Option<i64> = row.try_get("lease_until").map_err(away)?;
    operation.lease = match (owner, until) {
        (Some(owner), Some(until)) => Some(Lease {
            operation: operation.id,
            owner: owner.parse().map_err(|error| corrupt("lease", &error))?,
            fence: operation.fence,
            until: time(until)?,
        }),
        _ => None,
    };
    Ok(operation)
}

/// The column `doc`, read as what it was written from.
pub(super) fn document<T: DeserializeOwned>(
    row: &DbRow,
    what: &'static str,
) -> Result<T, StoreError> {
    let text: String = row.try_get("doc").map_err(away)?;
    serde_json::from_str(&text).map_err(|error| corrupt(what, &error))
}

pub(super) fn documents<T: DeserializeOwned>(
    rows: &[DbRow],
    what: &'static str,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| document(row, what)).collect()
}

pub(super) fn text<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| corrupt("document", &error))
}

pub(super) fn time(micros: i64) -> Result<DateTime<Utc>, StoreError> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| corrupt("time", &micros))
}

pub(super) fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn corrupt(what: &str, reason: &impl ToString) -> StoreError {
    StoreError::Corrupt {
        what: what.to_owned(),
        reason: reason.to_string(),
    }
}

pub(super) fn away(error: sqlx::Error) -> StoreError {
    StoreError::Unavailable {
        reason: match &error {
            sqlx::Error::Database(database) => database.message().to_owned(),
            other => other.to_string(),
        },
        source: Some(Box::new(error)),
    }
}
