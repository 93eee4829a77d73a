//! The list of cases, made from what a driver claims.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::modes::{self, Mode, Plain};
use super::subject::Subject;
use super::{CaseResult, Options, Rig};
use crate::driver::{Capabilities, Capability};

/// One case: an operation, and how it is done.
#[derive(Debug)]
pub(super) struct Case {
    subject: Subject,
    mode: Mode,
    /// What the operation looks like when nothing disturbs it; found out once for all cases of an operation.
    plain: Arc<OnceCell<Result<Plain, String>>>,
}

impl Case {
    /// Every case, in the order of the report. Of an operation that is not claimed there is one, which is skipped.
    pub(super) fn all(claims: &Capabilities) -> Vec<Self> {
        let mut cases = Vec::new();
        for subject in Subject::ALL {
            let plain = Arc::new(OnceCell::new());
            let claimed = claims.has(subject.needs());
            for mode in Mode::ALL {
                let tried = subject.is_tried(mode) && (claimed || mode == Mode::Plainly);
                if tried {
                    let plain = Arc::clone(&plain);
                    cases.push(Self {
                        subject,
                        mode,
                        plain,
                    });
                }
            }
        }
        cases
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.subject.as_str(), self.mode.as_str())
    }

    pub(super) const fn needs(&self) -> Capability {
        self.subject.needs()
    }

    pub(super) async fn run<F, R>(
        &self,
        factory: &F,
        claims: &Capabilities,
        options: &Options,
    ) -> CaseResult
    where
        F: Fn() -> R + Send + Sync,
        R: Future<Output = Box<dyn Rig>> + Send,
    {
        if !claims.has(self.needs()) {
            return CaseResult::Skipped(self.needs());
        }
        let plain = self
            .plain
            .get_or_init(|| Box::pin(modes::plainly(factory, self.subject)));
        let ended = match (plain.await, self.mode) {
            (Ok(_), Mode::Plainly) => Ok(()),
            (Ok(plain), mode) => modes::run(factory, self.subject, mode, plain, options).await,
            (Err(why), Mode::Plainly) => Err(why.clone()),
            (Err(_), _) => Err("it does not even work plainly".to_owned()),
        };
        ended.map_or_else(CaseResult::Failed, |()| CaseResult::Passed)
    }
}
