//! Time and memory that rendering takes.

use std::hint::black_box;

use criterion::Criterion;
use magnum_benches::budget::{Amount, Table, cpu_time, is_measuring, peak_memory};
use magnum_benches::rendering::Sample;

/// Members of the large group.
const MANY: usize = 1000;

fn main() {
    let sample = Sample::new().expect("the sample's values are valid");
    let pki = sample.authorities().expect("the system has randomness");
    let small = || sample.cluster(3, 5).expect("a small cluster renders");
    let large = || sample.workers(&pki, MANY).expect("a large group renders");
    let credentials = || {
        sample
            .credentials(&pki, MANY)
            .expect("credentials are made")
    };

    // The peak is that of the whole process, so it is read before anything else could raise it.
    let rendered = is_measuring().then(large);
    let peak = peak_memory();
    let size = rendered.map(|rendered| (rendered.stacks.len(), rendered.bytes()));

    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("render/cluster-3-5", |b| b.iter(|| black_box(small())));
    let mut slow = criterion.benchmark_group("render");
    slow.sample_size(10);
    slow.bench_function("group-1000", |b| b.iter(|| black_box(large())));
    slow.bench_function("credentials-1000", |b| b.iter(|| black_box(credentials())));
    slow.finish();
    criterion.final_summary();

    let Some((stacks, bytes)) = size else {
        return;
    };
    let mut table = Table::new();
    table.add(
        "render 3 control-plane nodes and 5 workers, CPU",
        Amount::millis(10),
        Some(cpu_time(200, small)),
    );
    table.add(
        "render a group of 1000 members, CPU",
        Amount::millis(200),
        Some(cpu_time(10, large)),
    );
    table.note(
        "  of it the credentials, CPU",
        Some(cpu_time(10, credentials)),
    );
    table.add(
        "render a group of 1000 members, peak memory",
        Amount::mebibytes(64),
        peak,
    );
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    table.note(
        format!("  its {stacks} stacks, size of all texts"),
        Some(Amount::Bytes(bytes)),
    );
    println!("\n{table}");
}
