#![no_main]
//! See `inputs.rs`.

#[path = "../inputs.rs"]
#[allow(dead_code)]
mod inputs;

libfuzzer_sys::fuzz_target!(|data: &[u8]| inputs::kubeconfig(data));
