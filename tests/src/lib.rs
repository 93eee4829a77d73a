//! Cross-crate tests
