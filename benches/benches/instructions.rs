//! Instructions that the same work takes: figures that do not depend on what else the machine does.

#![allow(missing_docs, reason = "the harness' macros make undocumented items")]

use std::hint::black_box;

use gungraun::prelude::*;
use magnum_benches::accepting::Acceptance;
use magnum_benches::rendering::{Rendered, Sample};
use magnum_certs::ClusterPki;
use magnum_core::Accepted;
use tokio::runtime::Runtime;

fn sample() -> Sample {
    Sample::new().expect("the sample's values are valid")
}

fn with_authorities() -> (Sample, ClusterPki) {
    let sample = sample();
    let pki = sample.authorities().expect("the system has randomness");
    (sample, pki)
}

fn acceptance() -> (Runtime, Acceptance) {
    let runtime = Runtime::new().expect("threads can be started");
    let acceptance = runtime
        .block_on(Acceptance::open())
        .expect("a database can be made");
    (runtime, acceptance)
}

#[library_benchmark]
#[bench::three_and_five(sample())]
fn cluster(sample: Sample) -> Rendered {
    black_box(sample.cluster(3, 5).expect("a small cluster renders"))
}

#[library_benchmark]
#[bench::thousand(with_authorities())]
fn group((sample, pki): (Sample, ClusterPki)) -> Rendered {
    black_box(sample.workers(&pki, 1000).expect("a large group renders"))
}

#[library_benchmark]
#[bench::create(acceptance())]
fn accept((runtime, acceptance): (Runtime, Acceptance)) -> (Runtime, Acceptance, Accepted) {
    let accepted = runtime
        .block_on(acceptance.create())
        .expect("it is accepted");
    black_box((runtime, acceptance, accepted))
}

library_benchmark_group!(name = render, benchmarks = [cluster, group]);
library_benchmark_group!(name = engine, benchmarks = [accept]);

main!(library_benchmark_groups = [render, engine]);
