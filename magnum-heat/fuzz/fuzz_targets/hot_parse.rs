//! Any text is a HOT document or an error; a document that was read is written and read again as itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use magnum_heat::hot::{Document, Limits};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(document) = Document::parse(text) {
        let written = document.to_text();
        let again = Document::parse(&written).expect("what was written can be read");
        assert_eq!(again.to_text(), written);
        let _ = document.check(&Limits::default());
    }
});
