//! What an advance of a driver ends with.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Where a change stands after one call of [`ClusterDriver::advance`](super::ClusterDriver::advance).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    /// What was asked for is there.
    Done,
    /// Not yet: call again after the pause. The engine may call earlier (after a restart) or later (under load).
    Again {
        /// The pause that the driver proposes.
        after: Duration,
        /// What it is doing.
        progress: Progress,
    },
    /// It cannot be brought about. What exists stays, is known to the memo, and can be retried or deleted.
    Failed(Failure),
}

impl Advance {
    /// Call again after `after`, showing a step and how far it is.
    pub fn again(after: Duration, step: impl Into<String>, done: u32, total: u32) -> Self {
        Self::Again {
            after,
            progress: Progress {
                step: step.into(),
                done,
                total,
            },
        }
    }
}

/// A step in words and numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is going on, such as `waiting for control plane node prod-master-7f2kq`.
    pub step: String,
    /// How many parts of it are done.
    pub done: u32,
    /// Of how many; 0 where it cannot be counted.
    pub total: u32,
}

/// Why a change failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The causes, the most telling first; never empty.
    pub causes: Vec<Cause>,
}

impl Failure {
    /// One cause.
    pub fn new(kind: CauseKind, sentence: impl Into<String>) -> Self {
        Self {
            causes: vec![Cause {
                kind,
                sentence: sentence.into(),
                subject: None,
            }],
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, cause) in self.causes.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            f.write_str(&cause.sentence)?;
        }
        Ok(())
    }
}

/// One cause of failure: a sentence an operator can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Its kind.
    pub kind: CauseKind,
    /// The sentence, with numbers and names, free of secrets.
    pub sentence: String,
    /// What it concerns, such as `node group gpu, member gpu-7f2kq`.
    pub subject: Option<String>,
}

/// Kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CauseKind {
    /// The request names something that does not exist or does not fit.
    InvalidInput,
    /// A quota is used up.
    Quota,
    /// No host or machine has room.
    Capacity,
    /// Something about the image.
    Image,
    /// Something about networks or ports.
    Network,
    /// Something about load balancers.
    LoadBalancer,
    /// Something about volumes.
    Volume,
    /// The cloud does not allow it.
    Policy,
    /// A limit of the orchestration service.
    Limit,
    /// A node said that its bootstrap failed.
    Bootstrap,
    /// The cluster's API cannot be reached from here.
    EndpointUnreachable,
    /// It took longer than allowed.
    Timeout,
    /// Cancelled by a later request.
    Cancelled,
    /// Anything else.
    Unknown,
}
