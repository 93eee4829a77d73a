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
mod cases;
mod gate;
mod memory;
mod modes;
mod report;
mod rig;
mod subject;

pub use memory::MemoryRig;
pub use report::{CaseReport, CaseResult, Report};
pub use rig::{Fault, Rig};

use futures::StreamExt;

use cases::Case;

/// How thorough a run is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// At how many points of an operation, evenly spread, calls fail and engines crash; all where absent.
    pub points: Option<usize>,
    /// Only cases whose name contains this.
    pub only: Option<String>,
    /// How many cases are run side by side, each on a rig of its own; 1.
    pub at_once: usize,
}

impl Options {
    /// Every point of every operation.
    #[must_use]
    pub const fn thorough() -> Self {
        Self {
            points: None,
            only: None,
            at_once: 1,
        }
    }

    /// At most this many points of each operation: for clouds that take their time.
    #[must_use]
    pub const fn sampled(points: usize) -> Self {
        Self {
            points: Some(points),
            only: None,
            at_once: 1,
        }
    }

    /// Only cases whose name contains `text`, such as `resize` or `crashed`.
    #[must_use]
    pub fn only(mut self, text: impl Into<String>) -> Self {
        self.only = Some(text.into());
        self
    }

    /// So many cases side by side, at least one: for clouds that are waited for.
    #[must_use]
    pub const fn side_by_side(mut self, cases: usize) -> Self {
        self.at_once = cases;
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
    let driver = factory().await.driver();
    let claims = driver.capabilities();
    let cases = Case::all(&claims);
    let wanted = |case: &Case| {
        let only = options.only.as_ref();
        only.is_none_or(|only| case.name().contains(only))
    };
    let mut results = futures::stream::iter(cases.into_iter().filter(wanted))
        .map(|case| {
            let (factory, claims) = (&factory, &claims);
            async move {
                let result = case.run(factory, claims, options).await;
                (case, result)
            }
        })
        .buffered(options.at_once.max(1));
    let mut report = Report::new(driver.name(), claims.clone());
    while let Some((case, result)) = results.next().await {
        report.add(case.name(), case.needs(), result);
    }
    drop(results);
    report
}
