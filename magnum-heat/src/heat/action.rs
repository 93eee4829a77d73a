//! Actions on stacks and their snapshots.

use chrono::{DateTime, Utc};
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::stack::StackRef;
use crate::{
    Result,
    request::{Answer, Body, Path, Request, ServiceType, request},
    wire,
};

/// An action on a stack. All are asynchronous: look at the stack's status to see how they end.
#[derive(Debug, Clone)]
pub struct StackActionRequest {
    stack: StackRef,
    action: &'static str,
}

impl StackActionRequest {
    /// Suspends every resource that can be.
    pub fn suspend(stack: StackRef) -> Self {
        Self {
            stack,
            action: "suspend",
        }
    }

    /// Resumes what was suspended.
    pub fn resume(stack: StackRef) -> Self {
        Self {
            stack,
            action: "resume",
        }
    }

    /// Compares every resource with the real thing.
    pub fn check(stack: StackRef) -> Self {
        Self {
            stack,
            action: "check",
        }
    }

    /// Stops a running update and rolls it back.
    pub fn cancel_update(stack: StackRef) -> Self {
        Self {
            stack,
            action: "cancel_update",
        }
    }

    /// Stops a running create or update where it is.
    pub fn cancel_without_rollback(stack: StackRef) -> Self {
        Self {
            stack,
            action: "cancel_without_rollback",
        }
    }
}

impl Request for StackActionRequest {
    type Output = ();
    const SERVICE: ServiceType = ServiceType::Orchestration;
    const METHOD: Method = Method::POST;
    const IDEMPOTENT: bool = false;
    const OPERATION: &'static str = "stack action";

    fn path(&self) -> Path {
        self.stack.path().join("actions")
    }

    fn body(&self) -> Result<Body> {
        let mut body = Map::new();
        body.insert(self.action.to_owned(), Value::Null);
        Body::json(Self::OPERATION, &body)
    }

    fn decode(&self, answer: Answer) -> Result<()> {
        answer.ignore()
    }
}

request! {
    /// Takes a stack out of Heat and leaves its resources; the answer is what adopting them needs.
    AbandonStack {
        /// Which.
        stack: StackRef,
    } => Value;
    Orchestration DELETE "abandon stack";
    path: |r| r.stack.path().join("abandon");
    idempotent: false;
    decode: |answer| answer.value()
}

request! {
    /// Reads what adopting a stack needs, without abandoning it.
    ExportStack {
        /// Which.
        stack: StackRef,
    } => Value;
    Orchestration GET "export stack";
    path: |r| r.stack.path().join("export");
    decode: |answer| answer.json()
}

/// A snapshot of a stack.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// Id.
    pub id: String,
    /// Name.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub name: String,
    /// `IN_PROGRESS`, `COMPLETE`, `FAILED`.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub status: String,
    /// Reason of the status.
    #[serde(default, deserialize_with = "wire::null_default")]
    pub status_reason: String,
    /// When it was made.
    #[serde(default, rename = "creation_time", deserialize_with = "wire::option")]
    pub created: Option<DateTime<Utc>>,
}

request! {
    /// Makes a snapshot.
    CreateSnapshot {
        /// Which stack.
        stack: StackRef,
        /// Name of the snapshot.
        name: String,
    } => Snapshot;
    Orchestration POST "create snapshot";
    path: |r| r.stack.path().join("snapshots");
    body: |r| json!({"name": r.name});
    decode: |answer| answer.json()
}

request! {
    /// Lists the snapshots of a stack.
    ListSnapshots {
        /// Which stack.
        stack: StackRef,
    } => Vec<Snapshot>;
    Orchestration GET "list snapshots";
    path: |r| r.stack.path().join("snapshots");
    decode: |answer| answer.json_at("snapshots")
}

request! {
    /// Reads a snapshot.
    ShowSnapshot {
        /// Which stack.
        stack: StackRef,
        /// Id of the snapshot.
        id: String,
    } => Snapshot;
    Orchestration GET "show snapshot";
    path: |r| r.stack.path().join("snapshots").join(r.id.clone());
    decode: |answer| answer.json_at("snapshot")
}

request! {
    /// Deletes a snapshot.
    DeleteSnapshot {
        /// Which stack.
        stack: StackRef,
        /// Id of the snapshot.
        id: String,
    } => ();
    Orchestration DELETE "delete snapshot";
    path: |r| r.stack.path().join("snapshots").join(r.id.clone());
    decode: |answer| answer.ignore()
}

request! {
    /// Puts a stack back into the state of a snapshot.
    RestoreSnapshot {
        /// Which stack.
        stack: StackRef,
        /// Id of the snapshot.
        id: String,
    } => ();
    Orchestration POST "restore snapshot";
    path: |r| r.stack.path().join("snapshots").join(r.id.clone()).join("restore");
    decode: |answer| answer.ignore()
}
