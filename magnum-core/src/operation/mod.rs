//! Durable operations: what was asked for, how far it is, and how it ended.

mod accept;
mod backoff;
mod draft;
mod effects;
mod record;
mod scope;
mod step;

pub(crate) use accept::Blocked;
pub(crate) use backoff::pause;
pub(crate) use draft::{Draft, operation_id, random_uuid};
pub(crate) use effects::token_memo;
pub use record::{Lease, OnBusy, Operation, OperationState, Outcome};
pub(crate) use record::{OnDone, Wanted};
pub use scope::LockScope;
pub(crate) use step::{Pace, StepResult};
