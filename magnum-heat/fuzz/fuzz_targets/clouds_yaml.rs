//! Any text is a `clouds.yaml` or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use magnum_heat::CloudConfig;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = CloudConfig::from_yaml(text, "a");
    }
});
