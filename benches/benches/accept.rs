//! Time that accepting a cluster takes.

use std::hint::black_box;

use criterion::Criterion;
use magnum_benches::accepting::Acceptance;
use magnum_benches::budget::{Amount, Table, is_measuring, percentile};
use tokio::runtime::Runtime;

/// Clusters from which the percentile is taken.
const MANY: usize = 1000;
/// The percentile that has the budget.
const PERCENT: usize = 99;

fn main() {
    let runtime = Runtime::new().expect("threads can be started");
    let mut criterion = Criterion::default().configure_from_args();
    let idle = open(&runtime);
    criterion.bench_function("accept/create", |b| {
        b.iter(|| black_box(runtime.block_on(idle.create()).expect("it is accepted")));
    });
    criterion.final_summary();
    if !is_measuring() {
        return;
    }

    let mut table = Table::new();
    let mut add = |what: &str, acceptance: &Acceptance| {
        let times = runtime
            .block_on(acceptance.create_many(MANY))
            .expect("they are accepted");
        let measured = |percent| percentile(times.clone(), percent).map(Amount::Time);
        table.add(what, Amount::millis(10), measured(PERCENT));
        table.note("  median", measured(50));
    };
    add("accept a create, p99 of 1000", &open(&runtime));

    let busy = open(&runtime);
    let engine = busy.engine();
    let running = runtime.spawn(async move { engine.run(std::future::pending()).await });
    add("accept a create while the engine works, p99 of 1000", &busy);
    running.abort();
    println!("\n{table}");
}

fn open(runtime: &Runtime) -> Acceptance {
    runtime
        .block_on(Acceptance::open())
        .expect("a database can be made")
}
