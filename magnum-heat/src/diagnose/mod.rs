//! Why a stack failed: the deepest, earliest, real cause, typed and in one sentence.
//!
//! [`causes`] is a pure function over resources and events; [`root_cause`] fetches what it needs with a bounded number
//! of requests, whatever the size of the tree.

mod cause;
mod fetch;
mod kind;
mod reason;

pub use cause::{Cause, causes};
pub use fetch::{MAX_REQUESTS, root_cause};
pub use kind::{CauseKind, QuotaNumbers};
pub use reason::Reason;
