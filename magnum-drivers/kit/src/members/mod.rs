//! Members of node groups: how they are named, recorded, chosen and spread over stacks. All of it is pure.

mod naming;
mod operation;
mod record;
mod resize;
mod shard;

pub use naming::{Names, SERVER_NAME_MAX};
pub use operation::{RetryBudget, RetryVerdict};
pub use record::{MemberRecord, MemberStage};
pub use resize::{ResizeDecision, decide_resize};
pub use shard::{MemberCost, ShardLimits, ShardLoad, place};
