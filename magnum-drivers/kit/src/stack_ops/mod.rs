//! Carrying out what a stack's record intends: submitting, looking, deleting. Every step can be repeated after any interruption.
//!
//! The order is always the same: the caller notes the intent with [`StackRecord::intend`](crate::memo::StackRecord::intend), writes the
//! memo, and only then calls [`submit`]. What happens between can be cut at any point: the next call finds out what Heat knows.

mod cause;
mod judge;
mod proof;
mod resources;
mod submit;

pub use cause::{describe, refusal};
pub use judge::{StackLook, judge};
pub use proof::{EditProblem, prove_edit, prove_physical};
pub(crate) use resources::is_follow_up;
pub use resources::{MemberResources, ResourceView, read_resources};
pub(crate) use submit::vanished;
pub use submit::{StackProblem, Submission, look, look_with_outputs, submit};
