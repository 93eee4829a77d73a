//! What one part of a change says about itself.

use std::time::Duration;

use magnum_core::driver::{Advance, Cause, Failure, Progress};

/// Where a part of a change stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is as wanted.
    Done,
    /// Not yet.
    Wait {
        /// When to look again.
        after: Duration,
        /// What is going on.
        text: String,
        /// How many parts of it are done, and of how many.
        done: (u32, u32),
    },
    /// It cannot be brought about.
    Failed(Vec<Cause>),
}

impl Step {
    /// Waiting for something that cannot be counted.
    pub(crate) fn wait(after: Duration, text: impl Into<String>) -> Self {
        Self::Wait {
            after,
            text: text.into(),
            done: (0, 0),
        }
    }

    /// One cause.
    pub(crate) fn failed(cause: Cause) -> Self {
        Self::Failed(vec![cause])
    }

    /// The engine's form; nothing left to do is `Done`.
    pub(crate) fn into_advance(self) -> Advance {
        match self {
            Self::Done => Advance::Done,
            Self::Wait { after, text, done } => Advance::Again {
                after,
                progress: Progress {
                    step: text,
                    done: done.0,
                    total: done.1,
                },
            },
            Self::Failed(causes) => Advance::Failed(Failure { causes }),
        }
    }
}

/// Puts steps that go on side by side together: a failure counts only when nothing runs any more, so that what is in flight settles.
pub(crate) fn together(steps: Vec<Step>) -> Step {
    let mut waiting: Option<(Duration, Vec<String>, (u32, u32))> = None;
    let mut failed = Vec::new();
    for step in steps {
        match step {
            Step::Done => {}
            Step::Wait { after, text, done } => {
                let (shortest, texts, sum) =
                    waiting.get_or_insert_with(|| (after, Vec::new(), (0, 0)));
                *shortest = (*shortest).min(after);
                texts.push(text);
                *sum = (sum.0 + done.0, sum.1 + done.1);
            }
            Step::Failed(causes) => failed.extend(causes),
        }
    }
    match (waiting, failed) {
        (Some((after, texts, done)), _) => Step::Wait {
            after,
            text: texts.join("; "),
            done,
        },
        (None, failed) if !failed.is_empty() => Step::Failed(failed),
        (None, _) => Step::Done,
    }
}

#[cfg(test)]
mod tests {
    use magnum_core::driver::CauseKind;

    use super::*;

    #[test]
    fn a_failure_waits_for_what_is_in_flight() {
        let failed = Step::failed(Cause {
            kind: CauseKind::Quota,
            sentence: "q".into(),
            subject: None,
        });
        let wait = Step::Wait {
            after: Duration::from_secs(5),
            text: "a".into(),
            done: (1, 2),
        };
        assert_eq!(together(vec![failed.clone(), wait.clone()]), wait);
        assert_eq!(together(vec![Step::Done, failed.clone()]), failed);
        assert_eq!(together(vec![Step::Done]), Step::Done);
    }
}
