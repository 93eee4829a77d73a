//! Budgets beside what was measured.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

/// An amount of time, memory or work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Amount {
    /// Time.
    Time(Duration),
    /// Bytes.
    Bytes(u64),
    /// The share of one processor core, in parts of a million.
    Share(u32),
    /// So many in a second: a budget of it is what is done at least.
    PerSecond(u64),
}

impl Amount {
    /// So many milliseconds.
    #[must_use]
    pub const fn millis(millis: u64) -> Self {
        Self::Time(Duration::from_millis(millis))
    }

    /// A share of one processor core; 1 is all of it.
    #[must_use]
    pub fn share(share: f64) -> Self {
        Self::Share((share.clamp(0.0, 4000.0) * 1e6).round() as u32)
    }

    /// Whether an amount is more than, or of work less than, this budget allows.
    #[must_use]
    pub fn is_broken_by(self, measured: Self) -> bool {
        match self {
            Self::PerSecond(_) => measured < self,
            _ => measured > self,
        }
    }

    /// So many MiB.
    #[must_use]
    pub const fn mebibytes(mebibytes: u64) -> Self {
        Self::Bytes(mebibytes * 1024 * 1024)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Time(time) => format!("{:.2} ms", time.as_secs_f64() * 1e3),
            Self::Share(millionths) => format!("{:.2} %", f64::from(*millionths) / 1e4),
            Self::PerSecond(count) => format!("{count} /s"),
            Self::Bytes(bytes) => {
                let tenths = bytes * 10 / 1_048_576;
                format!("{}.{} MiB", tenths / 10, tenths % 10)
            }
        };
        f.pad(&text)
    }
}

/// What was measured, beside what it may be.
#[derive(Debug, Default)]
pub struct Table(Vec<Row>);

#[derive(Debug)]
struct Row {
    what: String,
    budget: Option<Amount>,
    measured: Option<Amount>,
}

impl Table {
    /// No rows yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what has a budget. Nothing measured means that this system does not tell.
    pub fn add(&mut self, what: impl Into<String>, budget: Amount, measured: Option<Amount>) {
        self.0.push(Row {
            what: what.into(),
            budget: Some(budget),
            measured,
        });
    }

    /// Adds a figure that explains another and has no budget of its own.
    pub fn note(&mut self, what: impl Into<String>, measured: Option<Amount>) {
        self.0.push(Row {
            what: what.into(),
            budget: None,
            measured,
        });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|row| row.what.len()).max();
        let width = width.unwrap_or_default().max(4);
        writeln!(f, "{:width$}  {:>10}  {:>10}", "what", "budget", "measured")?;
        for row in &self.0 {
            let text = |amount: Option<Amount>| {
                amount.map_or_else(|| "-".to_owned(), |amount| amount.to_string())
            };
            let verdict = match (row.budget, row.measured) {
                (Some(budget), Some(measured)) if budget.is_broken_by(measured) => "  over",
                (Some(_), Some(_)) => "  kept",
                _ => "",
            };
            let (budget, measured) = (text(row.budget), text(row.measured));
            let what = &row.what;
            writeln!(f, "{what:width$}  {budget:>10}  {measured:>10}{verdict}")?;
        }
        Ok(())
    }
}

/// Whether this process was started to measure: by `cargo bench`, and not by a test run that only tries whether the benchmarks work.
#[must_use]
pub fn is_measuring() -> bool {
    let mut arguments = std::env::args();
    let asked = arguments.any(|argument| argument == "--bench");
    asked && !std::env::args().any(|argument| argument == "--list" || argument == "--test")
}

/// The mean CPU time of the calling thread over some runs of `work`; elapsed time where the system does not tell CPU time.
///
/// Unlike elapsed time it does not grow while other processes use the processor. The system counts it by ticks of up to 10 ms: let
/// the runs last a second in all.
pub fn cpu_time<T>(runs: u32, mut work: impl FnMut() -> T) -> Amount {
    let (elapsed, begin) = (Instant::now(), thread_time());
    for _ in 0..runs {
        drop(std::hint::black_box(work()));
    }
    let all = match (begin, thread_time()) {
        (Some(begin), Some(end)) => end.saturating_sub(begin),
        _ => elapsed.elapsed(),
    };
    Amount::Time(all / runs.max(1))
}

/// The time below which `percent` of all times lie.
#[must_use]
pub fn percentile(mut times: Vec<Duration>, percent: usize) -> Option<Duration> {
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied()
}

/// The most memory that this process has had resident so far, its code included.
#[must_use]
pub fn peak_memory() -> Option<Amount> {
    memory("VmHWM:")
}

/// A line of this process' memory figures, such as `VmRSS:`, which is what is resident now.
#[must_use]
pub fn memory(line: &str) -> Option<Amount> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(line))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Amount::Bytes(kibibytes * 1024))
}

/// The processor time of this process so far, all threads together, in steps of 10 ms; zero where the system does not tell.
#[must_use]
pub fn process_time() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in brackets, which may hold anything; user and system time are the 14th and 15th.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// How long the calling thread has had the processor.
fn thread_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times() {
        let times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(
            percentile(times.clone(), 99),
            Some(Duration::from_millis(198))
        );
        assert_eq!(percentile(times, 100), Some(Duration::from_millis(200)));
        assert_eq!(percentile(Vec::new(), 99), None);
    }

    #[test]
    fn a_budget_of_work_is_broken_by_less() {
        let mut table = Table::new();
        table.add("a", Amount::PerSecond(500), Some(Amount::PerSecond(499)));
        table.add("b", Amount::share(0.02), Some(Amount::share(0.0199)));
        let text = table.to_string();
        assert!(
            text.contains("499 /s  over") && text.contains("1.99 %  kept"),
            "{text}"
        );
        assert!(process_time() < Duration::from_secs(3600));
    }

    #[test]
    fn a_table_says_what_is_over_its_budget() {
        let mut table = Table::new();
        table.add("a", Amount::millis(10), Some(Amount::millis(11)));
        table.add("b", Amount::mebibytes(64), Some(Amount::mebibytes(64)));
        table.note("c", None);
        let text = table.to_string();
        assert!(
            text.contains("11.00 ms  over") && text.contains("64.0 MiB  kept"),
            "{text}"
        );
    }
}
