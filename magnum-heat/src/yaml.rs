//! The one place that knows the YAML library.

use serde_json::Value;

/// Largest YAML text, in bytes.
const MAX_TEXT: usize = 2 * 1024 * 1024;

/// Parses YAML (or JSON, which is tried first) into JSON values. The error shows the place, not the content.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("longer than {MAX_TEXT} bytes"));
    }
    if text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        legacy_octal_numbers: true,
        strict_booleans: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| e.to_string())
}
