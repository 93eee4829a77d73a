//! What came out.

use std::fmt;

use crate::driver::{Capabilities, Capability};

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseResult {
    /// The driver kept the contract.
    Passed,
    /// It did not, in a sentence.
    Failed(String),
    /// It does not claim what the case needs.
    Skipped(Capability),
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseReport {
    /// Its name: the operation and how it was done.
    pub name: String,
    /// What it needs.
    pub needs: Capability,
    /// How it ended.
    pub result: CaseResult,
}

/// All cases of a run. `Display` prints them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    driver: String,
    claims: Capabilities,
    cases: Vec<CaseReport>,
}

impl Report {
    pub(super) fn new(driver: &str, claims: Capabilities) -> Self {
        Self {
            driver: driver.to_owned(),
            claims,
            cases: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, name: String, needs: Capability, result: CaseResult) {
        self.cases.push(CaseReport {
            name,
            needs,
            result,
        });
    }

    /// All cases.
    #[must_use]
    pub fn cases(&self) -> &[CaseReport] {
        &self.cases
    }

    /// The cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases
            .iter()
            .filter(|case| matches!(case.result, CaseResult::Failed(_)))
    }

    /// How many cases passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        let passed = |case: &&CaseReport| case.result == CaseResult::Passed;
        self.cases.iter().filter(passed).count()
    }

    /// How many cases were skipped.
    #[must_use]
    pub fn skipped(&self) -> usize {
        let skipped = |case: &&CaseReport| matches!(case.result, CaseResult::Skipped(_));
        self.cases.iter().filter(skipped).count()
    }

    /// Demands that nothing failed, that the driver claims all of these, and that each was proved by at least one case: neither a run in
    /// which everything was skipped nor one in which a claim was never tried can pass.
    ///
    /// # Panics
    /// Where that is not so, with the report.
    pub fn assert_claims(&self, capabilities: impl IntoIterator<Item = Capability>) {
        let named: Vec<_> = capabilities.into_iter().collect();
        let not = |holds: &dyn Fn(Capability) -> bool| -> Vec<&'static str> {
            let lacking = named.iter().filter(|capability| !holds(**capability));
            lacking.map(|capability| capability.as_str()).collect()
        };
        let absent = not(&|capability| self.claims.has(capability));
        let unproved = not(&|capability| {
            let mut own = self.cases.iter().filter(|case| case.needs == capability);
            own.any(|case| case.result == CaseResult::Passed)
        });
        assert!(absent.is_empty(), "not claimed: {absent:?}\n{self}");
        assert!(self.failures().next().is_none(), "{self}");
        assert!(self.passed() > 0, "no case was run\n{self}");
        assert!(
            unproved.is_empty(),
            "proved by no case: {unproved:?}\n{self}"
        );
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "conformance of driver {}", self.driver)?;
        for case in &self.cases {
            match &case.result {
                CaseResult::Passed => writeln!(f, "  passed   {}", case.name)?,
                CaseResult::Failed(why) => writeln!(f, "  FAILED   {}: {why}", case.name)?,
                CaseResult::Skipped(absent) => {
                    writeln!(f, "  skipped  {} ({absent} is not claimed)", case.name)?;
                }
            }
        }
        let failed = self.failures().count();
        let (passed, skipped) = (self.passed(), self.skipped());
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}
