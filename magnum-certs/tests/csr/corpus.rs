//! The inputs of the fuzz targets.

use std::path::Path;

#[path = "../../fuzz/inputs.rs"]
mod inputs;

#[test]
fn the_fuzz_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let targets: [(&str, fn(&[u8])); 3] = [
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
