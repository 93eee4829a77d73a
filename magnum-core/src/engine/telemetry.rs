//! What the engine counts for the outside, by the `metrics` facade where its feature is on. The embedder installs the recorder.
//!
//! | name | kind | labels |
//! |---|---|---|
//! | `magnum_operations_accepted_total` | counter | `change` |
//! | `magnum_operations_ended_total` | counter | `change`, `outcome` |
//! | `magnum_operation_seconds` | histogram, acceptance to end | `change`, `outcome` |
//! | `magnum_steps_total` | counter | `change`, `result` |
//! | `magnum_step_seconds` | histogram | `change` |
//! | `magnum_engine_busy` | gauge, operations under work | |
//! | `magnum_engine_lag_seconds` | gauge, wait of the most overdue step | |
//! | `magnum_looks_total` | counter, finished clusters looked at | `result` |
//! | `magnum_events_pruned_total` | counter | |

#[cfg(feature = "metrics")]
mod recorded {
    use std::time::Duration;

    use metrics::{counter, gauge, histogram};

    use crate::driver::ChangeKind;
    use crate::operation::Outcome;

    pub(crate) fn accepted(change: ChangeKind) {
        counter!("magnum_operations_accepted_total", "change" => change.as_str()).increment(1);
    }

    pub(crate) fn ended(change: ChangeKind, outcome: Outcome, took: Duration) {
        let (change, outcome) = (change.as_str(), outcome.as_str());
        counter!("magnum_operations_ended_total", "change" => change, "outcome" => outcome)
            .increment(1);
        histogram!("magnum_operation_seconds", "change" => change, "outcome" => outcome)
            .record(took);
    }

    pub(crate) fn step(change: ChangeKind, result: &'static str, took: Duration) {
        let change = change.as_str();
        counter!("magnum_steps_total", "change" => change, "result" => result).increment(1);
        histogram!("magnum_step_seconds", "change" => change).record(took);
    }

    pub(crate) fn round(busy: usize, lag: Duration) {
        let busy = u32::try_from(busy).unwrap_or(u32::MAX);
        gauge!("magnum_engine_busy").set(busy);
        gauge!("magnum_engine_lag_seconds").set(lag.as_secs_f64());
    }

    pub(crate) fn look(result: &'static str) {
        counter!("magnum_looks_total", "result" => result).increment(1);
    }

    pub(crate) fn pruned(events: u64) {
        counter!("magnum_events_pruned_total").increment(events);
    }
}

#[cfg(not(feature = "metrics"))]
mod recorded {
    use std::time::Duration;

    use crate::driver::ChangeKind;
    use crate::operation::Outcome;

    pub(crate) const fn accepted(_: ChangeKind) {}
    pub(crate) const fn ended(_: ChangeKind, _: Outcome, _: Duration) {}
    pub(crate) const fn step(_: ChangeKind, _: &'static str, _: Duration) {}
    pub(crate) const fn round(_: usize, _: Duration) {}
    pub(crate) const fn look(_: &'static str) {}
    pub(crate) const fn pruned(_: u64) {}
}

pub(super) use recorded::{accepted, ended, look, pruned, round, step};
