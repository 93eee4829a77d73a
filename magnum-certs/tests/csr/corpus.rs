//! The inputs of the fuzz targets.

use std::path::Path;

#[path = "../../fuzz/inputs.rs"]
mod inputs;

/// A fuzz target: its name, and what it does with an input.
type Target = (&'static str, fn(&[u8]));

#[test]
fn the_fuzz_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let targets: [Target; 3] = [
        ("csr", inputs::csr),
        ("pem", inputs::pem),
        ("kubeconfig", inputs::kubeconfig),
    ];
    for (name, target) in targets {
        let mut count = 0;
        for entry in std::fs::read_dir(corpus.join(name)).unwrap() {
            target(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 5, "{name} has only {count} inputs");
    }
}
