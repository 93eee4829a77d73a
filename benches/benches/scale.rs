//! Many clusters and many operations, against the budgets.
//!
//! Each figure is measured once in a process of its own, which this program starts with the figure's name: memory is then that of the
//! figure alone.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use magnum_benches::Error;
use magnum_benches::budget::{Amount, Table, is_measuring, peak_memory};
use magnum_benches::scale;
use tokio::runtime::Runtime;

/// Says which figure a process measures.
const FIGURE: &str = "MAGNUM_BENCH_FIGURE";
/// Where the database of idle clusters is.
const DATABASE: &str = "MAGNUM_BENCH_DATABASE";
/// The PostgreSQL of the shared figure.
const POSTGRES: &str = "MAGNUM_TEST_POSTGRES_URL";

const IDLE_CLUSTERS: usize = 100_000;
const IDLE_FOR: Duration = Duration::from_secs(30);
const OPERATIONS: usize = 10_000;
const ENGINES: usize = 4;
const IN_FLIGHT: usize = 1000;

fn main() -> Result<(), Error> {
    if let Ok(figure) = std::env::var(FIGURE) {
        return Runtime::new()?.block_on(measure(&figure));
    }
    if !is_measuring() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("magnum.db");
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|a| name.contains(a.as_str()));
    if wanted("idle") {
        start("fill", &database)?;
        start("idle", &database)?;
    }
    if wanted("shared") {
        if std::env::var(POSTGRES).is_ok() {
            start("shared", &database)?;
        } else {
            println!("not measured: operations on one PostgreSQL, since {POSTGRES} is not set");
        }
    }
    if wanted("restart") {
        start("restart", &folder.path().join("restart.db"))?;
    }
    Ok(())
}

/// Starts this program again for one figure.
fn start(figure: &str, database: &Path) -> Result<(), Error> {
    let status = Command::new(std::env::current_exe()?)
        .env(FIGURE, figure)
        .env(DATABASE, database)
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("figure {figure}: {status}").into())
}

async fn measure(figure: &str) -> Result<(), Error> {
    let database = std::env::var(DATABASE)?;
    let database = Path::new(&database);
    let mut table = Table::new();
    match figure {
        "fill" => {
            let began = std::time::Instant::now();
            scale::fill(database, IDLE_CLUSTERS).await?;
            println!(
                "{IDLE_CLUSTERS} clusters written in {:.1} s",
                began.elapsed().as_secs_f64()
            );
            return Ok(());
        }
        "idle" => {
            let idle = scale::idle(database, IDLE_FOR).await?;
            let what = |what: &str| format!("{IDLE_CLUSTERS} idle clusters, {what}");
            table.add(
                what("share of one core"),
                Amount::share(0.02),
                Some(idle.cpu),
            );
            table.add(
                what("resident memory"),
                Amount::mebibytes(300),
                idle.resident,
            );
            table.note("  peak", idle.peak);
        }
        "shared" => {
            let url = std::env::var(POSTGRES)?;
            let done = scale::throughput(&url, ENGINES, OPERATIONS).await?;
            table.add(
                format!(
                    "{OPERATIONS} operations by {ENGINES} engines on one PostgreSQL, each done once"
                ),
                Amount::PerSecond(500),
                Some(Amount::PerSecond(done.per_second as u64)),
            );
            table.note("  accepting them took", Some(Amount::Time(done.accepting)));
            table.note("  peak memory", peak_memory());
        }
        "restart" => {
            let restart = scale::restart(database, IN_FLIGHT).await?;
            table.add(
                format!("restart with {IN_FLIGHT} operations in flight, all worked on again"),
                Amount::millis(5000),
                Some(Amount::Time(restart.all_resumed)),
            );
            table.note(
                "  of it until the store was open",
                Some(Amount::Time(restart.opened)),
            );
            table.note("  peak memory", peak_memory());
        }
        other => return Err(format!("there is no figure {other}").into()),
    }
    println!("\n{table}");
    Ok(())
}
