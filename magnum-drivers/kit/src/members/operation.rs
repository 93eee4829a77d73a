//! How often one operation may put a new member in the place of one that failed.

use magnum_core::driver::CauseKind;
use serde::{Deserialize, Serialize};

/// Whether a failed member is tried again under a new id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryVerdict {
    /// Yes: a new member takes its place.
    Replace,
    /// No: trying again cannot help, or was tried often enough.
    GiveUp,
}

/// The budget of one operation on one group: three replacements, or a tenth of the members it adds where that is more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryBudget {
    /// Replacements made so far.
    pub used: u32,
    /// Members that the operation adds in the end.
    pub adds: u32,
}

impl RetryBudget {
    /// How many replacements are allowed in all.
    #[must_use]
    pub const fn allowed(&self) -> u32 {
        let tenth = self.adds / 10;
        if tenth > 3 { tenth } else { 3 }
    }

    /// Judges a failure, and counts the replacement where there is one.
    ///
    /// A used-up quota, a lack of machines, a refusal by policy or wrong input do not go away by trying again.
    pub fn judge(&mut self, kind: CauseKind) -> RetryVerdict {
        let hopeless = matches!(
            kind,
            CauseKind::Quota | CauseKind::Capacity | CauseKind::Policy | CauseKind::InvalidInput
        );
        if hopeless || self.used >= self.allowed() {
            return RetryVerdict::GiveUp;
        }
        self.used += 1;
        RetryVerdict::Replace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_group_ends_after_its_budget() {
        let mut budget = RetryBudget { used: 0, adds: 5 };
        for _ in 0..3 {
            assert_eq!(budget.judge(CauseKind::Bootstrap), RetryVerdict::Replace);
        }
        assert_eq!(budget.judge(CauseKind::Bootstrap), RetryVerdict::GiveUp);
        let mut large = RetryBudget { used: 3, adds: 200 };
        assert_eq!(large.allowed(), 20);
        assert_eq!(large.judge(CauseKind::Unknown), RetryVerdict::Replace);
        assert_eq!(large.judge(CauseKind::Quota), RetryVerdict::GiveUp);
    }
}
