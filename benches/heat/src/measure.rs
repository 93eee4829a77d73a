//! CPU time and peak memory.

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

/// CPU time of this thread so far, so that other load hardly shows.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Mean CPU time of one run, of as many as take about a second.
pub fn cpu_of<T>(mut run: impl FnMut() -> T) -> Duration {
    black_box(run());
    let begun = cpu();
    let mut runs = 0;
    while cpu().saturating_sub(begun) < Duration::from_secs(1) {
        black_box(run());
        runs += 1;
    }
    cpu().saturating_sub(begun) / runs
}

/// The peak of this process so far, in KiB.
pub fn peak_so_far() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

/// What this program prints when it is started with these arguments: a number of KiB.
///
/// # Errors
/// When it cannot be started, or prints something else.
pub fn peak_of_child(arguments: &[&str]) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let child = Command::new(program).args(arguments).output();
    let text = child.map_err(|e| e.to_string())?.stdout;
    let text = String::from_utf8_lossy(&text);
    text.trim().parse().map_err(|e| format!("{text:?}: {e}"))
}
