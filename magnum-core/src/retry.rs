//! Whether trying again may help: decided where an error is born.

use std::time::Duration;

/// What a caller may do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same call fails again: the input or the world must change first.
    Never,
    /// The same call may succeed after a pause of the caller's choice.
    Later,
    /// The same call may succeed, but not before this pause is over.
    After(Duration),
}
