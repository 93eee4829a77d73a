//! Signatures per second by key type, beside `openssl x509 -req` and Python's `cryptography`, and a whole cluster's keys.

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use magnum_benches::Error;
use magnum_benches::budget::{Amount, Table, cpu_time, is_measuring};
use magnum_benches::signing::{Signing, cluster_pki};
use magnum_certs::KeyAlgorithm;

/// How long each figure of the comparison is measured.
const TIME: Duration = Duration::from_secs(2);

const P256: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const P384: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"];

fn main() {
    let kinds: [(KeyAlgorithm, &[&str]); 5] = [
        (KeyAlgorithm::EcdsaP256, &P256),
        (KeyAlgorithm::EcdsaP384, &P384),
        (KeyAlgorithm::Ed25519, &["-newkey", "ed25519"]),
        (KeyAlgorithm::Rsa2048, &["-newkey", "rsa:2048"]),
        (KeyAlgorithm::Rsa4096, &["-newkey", "rsa:4096"]),
    ];
    let all: Vec<_> = kinds
        .into_iter()
        .map(|(algorithm, options)| {
            Signing::prepare(algorithm, options).expect("openssl makes a request")
        })
        .collect();

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("sign");
    for signing in &all {
        let name = signing.algorithm.to_string();
        group.bench_function(name, |b| {
            b.iter(|| black_box(signing.sign().expect("the request is good")));
        });
    }
    group.finish();
    criterion.bench_function("pki/cluster", |b| {
        b.iter(|| black_box(cluster_pki().expect("the system has randomness")));
    });
    criterion.final_summary();

    if !is_measuring() {
        return;
    }
    println!("\nsignatures per second   ours   openssl x509 -req   Python cryptography");
    for signing in &all {
        println!(
            "{:<20} {:>7} {:>19} {:>21}",
            signing.algorithm.to_string(),
            text(&signing.ours(TIME)),
            text(&signing.openssl(TIME)),
            text(&signing.python(TIME)),
        );
    }
    let mut table = Table::new();
    table.add(
        "all keys of a cluster and the control plane's bundle, P-256, CPU",
        Amount::millis(5),
        cpu(),
    );
    println!("\n{table}");
}

fn cpu() -> Option<Amount> {
    Some(cpu_time(200, || {
        cluster_pki().expect("the system has randomness")
    }))
}

fn text(rate: &Result<f64, Error>) -> String {
    match rate {
        Ok(rate) => format!("{rate:.0}"),
        Err(error) => format!("none ({error})"),
    }
}
