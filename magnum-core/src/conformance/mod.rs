//! The other half of the driver contract: its proof.
//!
//! [`run`] takes a factory of [`Rig`]s (a driver with a fresh cloud behind it), and does every operation that the driver claims plainly,
//! twice, with every call to the cloud failing once in each way, with the engine crashing before and after every write, cancelled, and
//! raced by a second writer. What the driver does not claim is skipped and reported by name.
//!
//! ```ignore
//! let report = magnum_core::conformance::run(|| async { Box::new(MyRig::new()) as Box<dyn Rig> }).await;
//! println!("{report}");
//! report.assert_claims([Capability::CreateDelete, Capability::Resize]);
//! ```

mod bench;
mod gate;
mod memory;
mod modes;
mod report;
mod rig;
mod subject;

pub use memory::MemoryRig;
pub use report::{CaseReport, CaseResult, Report};
pub use rig::{Fault, Rig};

use crate::driver::Capability;
use modes::Mode;
use subject::Subject;

/// How thorough a run is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// At how many points of an operation, evenly spread, calls fail and engines crash; all where absent.
    pub points: Option<usize>,
    /// Only cases whose name contains this.
    pub only: Option<String>,
}

impl Options {
    /// Every point of every operation.
    #[must_use]
    pub const fn thorough() -> Self {
        Self {
            points: None,
            only: None,
        }
    }

    /// At most this many points of each operation: for clouds that take their time.
    #[must_use]
    pub const fn sampled(points: usize) -> Self {
        Self {
            points: Some(points),
            only: None,
        }
    }

    /// Only cases whose name contains `text`, such as `resize` or `crashed`.
    #[must_use]
    pub fn only(mut self, text: impl Into<String>) -> Self {
        self.only = Some(text.into());
        self
    }
}

/// Runs every case thoroughly.
pub async fn run<F, R>(factory: F) -> Report
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Box<dyn Rig>> + Send,
{
    run_with(factory, &Options::thorough()).await
}

/// Runs every case as thoroughly as `options` say.
pub async fn run_with<F, R>(factory: F, options: &Options) -> Report
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Box<dyn Rig>> + Send,
{
    let rig = factory().await;
    let driver = rig.driver();
    let mut report = Report::new(driver.name(), driver.capabilities());
    drop(rig);
    for subject in Subject::ALL {
        for mode in Mode::ALL {
            let name = format!("{} {}", subject.as_str(), mode.as_str());
            if options
                .only
                .as_ref()
                .is_some_and(|only| !name.contains(only))
            {
                continue;
            }
            let needs: Capability = subject.needs();
            let result = if !driver.capabilities().has(needs) {
                CaseResult::Skipped(needs)
            } else if mode == Mode::Cancelled && !subject.can_be_cancelled() {
                continue;
            } else {
                match modes::run(&factory, subject, mode, options).await {
                    Ok(()) => CaseResult::Passed,
                    Err(why) => CaseResult::Failed(why),
                }
            };
            report.add(name, needs, result);
        }
    }
    report
}
